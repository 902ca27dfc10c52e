"""Checks the pages of a folder or space: links, anchors, files, tags, front matter. Pure. Start in `findings.py`."""
