"""The shell: scan the facts, decide, run one round, until Stop; then confirm once and report."""
