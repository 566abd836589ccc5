"""Formats on disk <-> records; one format a file."""
