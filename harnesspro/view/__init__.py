"""Looking at a run: rows (pure), terminal, live progress, page. Reads records, never the loop."""
