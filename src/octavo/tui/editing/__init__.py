"""Editing pages in the external editor, editing the page tree, and applying suggested changes."""
