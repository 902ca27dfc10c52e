"""Parse, write, compare and merge pages in the platform's Markdown. No Textual. Start in blocks.py and parse.py."""

import sys

# The parser library would load and compile what finds bare addresses, which none of our rules asks for: 0.4 MB.
sys.modules.setdefault("linkify_it", None)  # type: ignore[arg-type]  # Python's own way to say that a module is not there
