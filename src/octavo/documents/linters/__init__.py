"""Reads what linters print, and places their findings on the blocks of a page. Does no I/O. Start in `placement.py`."""
