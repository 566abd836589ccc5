"""Models behind one port, chosen by name."""
