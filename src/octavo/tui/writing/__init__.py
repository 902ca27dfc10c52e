"""Editing pages: in the external editor, in the page tree, and by applying suggested changes."""
