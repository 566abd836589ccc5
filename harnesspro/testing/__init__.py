"""Doubles and conformance suites, for us and for whoever writes an adapter of their own."""
