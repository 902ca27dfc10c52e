"""The interface over HTTP: sending, retrying, paging, and where keys are kept."""

import sys

# The command line of httpx imports click and pygments (20 ms). httpx does without its command line if the import fails.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None makes Python's import system raise ImportError
