"""Where trials run."""
