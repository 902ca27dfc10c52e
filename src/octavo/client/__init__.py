"""The HTTP client: sends operations, retries requests, reads lists and stores tokens. Start at `client.py`."""

import sys

# Otherwise, httpx would import its command line, with click and pygments (20 ms).
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # with None, the import fails
