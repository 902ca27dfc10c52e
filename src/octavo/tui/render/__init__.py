"""Blocks of a page, and changes of them, as lines: pure, without a widget."""
