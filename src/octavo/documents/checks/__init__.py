"""Checks the pages of a folder or space: links, anchors, files, tags, front matter. Does no I/O. Start in `findings.py`."""
