"""The HTTP client: sends operations, retries requests, reads lists page by page, and stores access tokens. Start
reading in `client.py`."""

import sys

# Keep httpx from importing its command line, which loads click and pygments (20 ms). httpx works without it.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # with None, the import fails
