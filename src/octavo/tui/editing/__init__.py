"""Edits the text of pages in the external editor, edits the table of contents, and applies suggested changes."""
