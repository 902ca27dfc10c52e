"""Finds links to websites that do not work, for the rule `external-link`."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from octavo.api.safety import safe_line
from octavo.server.fetcher import Fetcher, FetchFailure, PrivateAddressFailure

MAX_URLS = 2_000
"""Maximum number of URLs that one check requests."""
_PARALLEL = 8
"""Number of requests at the same time."""
_MISSING = (404, 410)
"""Statuses of pages that do not exist. Other error statuses are ignored, because websites also send them to programs if
a page exists."""


def broken_urls(urls: Sequence[str], fetcher: Fetcher) -> dict[str, str]:
    """Return the URLs that do not work, each with the reason. URLs of private networks are not requested."""
    with ThreadPoolExecutor(_PARALLEL) as pool:
        reasons = pool.map(lambda url: _reason(url, fetcher), urls)
        return {url: reason for url, reason in zip(urls, reasons, strict=True) if reason}


def _reason(url: str, fetcher: Fetcher) -> str:
    """Return why a URL does not work. Empty if it works, or if that is unknown."""
    try:
        status = fetcher.status(url)
    except PrivateAddressFailure:
        return ""
    except FetchFailure as failure:
        return safe_line(str(failure))
    return f"the website responded with status {status}" if status in _MISSING else ""
