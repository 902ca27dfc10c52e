"""Rendering of page blocks and of diffs into styled lines. No module here creates a widget.

Start with `layout.py` for pages and with `diff_lines.py` for diffs.
"""
