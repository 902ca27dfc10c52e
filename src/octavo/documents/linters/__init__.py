"""Reads what linters print, and places their findings on the blocks of a page. Pure. Start in `placement.py`."""
