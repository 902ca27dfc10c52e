"""Parses, writes, compares and merges pages in the platform's Markdown. Does not import Textual. Start reading in
blocks.py and source_reader.py."""

import sys

# Keep markdown-it from loading linkify_it, which takes 0.4 MB and is never used.
sys.modules.setdefault("linkify_it", None)  # type: ignore[arg-type]  # With None, the import fails.
