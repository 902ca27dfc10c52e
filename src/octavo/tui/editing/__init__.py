"""Edits pages in the external editor, edits the page tree, and applies suggested changes."""
