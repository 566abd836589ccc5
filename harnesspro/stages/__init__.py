"""One verb a file; no stage knows another, only the loop knows their order."""
