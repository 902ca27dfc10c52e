"""The HTTP client: sends operations, retries requests, reads lists page by page, and stores access tokens. Start in
`client.py`."""

import sys

# The command line of httpx imports click and pygments (20 ms). httpx does without its command line if the import fails.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None makes Python's import system raise ImportError
