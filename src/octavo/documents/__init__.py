"""Parse, write, compare and merge pages in the platform's Markdown. No Textual. Start in blocks.py and parse.py."""

import sys

# markdown-it would load the finder of bare URLs, which takes 0.4 MB and is never used.
sys.modules.setdefault("linkify_it", None)  # type: ignore[arg-type]  # None makes the import fail.
