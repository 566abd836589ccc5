"""The command line: one Typer app, a file per family of verbs, nothing heavy imported at start."""
