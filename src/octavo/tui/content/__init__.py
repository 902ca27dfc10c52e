"""Spaces and their pages: reading, files, links, history, and search."""
