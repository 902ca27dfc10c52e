"""What the address of a link leads to, decided before anything is opened."""

from __future__ import annotations

import re
from enum import Enum

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class LinkDestination(Enum):
    """Where an address leads."""

    PAGE = "page"
    ANCHOR = "anchor"
    OUTSIDE = "outside"
    MAIL = "mail"
    BROKEN = "broken"
    REFUSED = "refused"
    """A scheme that is never opened: only http, https and mailto are."""


def link_destination(address: str) -> LinkDestination:
    """Where `address`, as it is written in the source, leads."""
    if not address or "broken-reference" in address or address.startswith(("/broken/", "broken/")):
        return LinkDestination.BROKEN
    if address.startswith("#"):
        return LinkDestination.ANCHOR
    if address.startswith("//"):
        return LinkDestination.REFUSED
    scheme = _SCHEME.match(address)
    if scheme is None:
        return LinkDestination.PAGE
    name = scheme.group().lower()
    if name in ("http:", "https:"):
        return (
            LinkDestination.BROKEN
            if "/broken/" in address and "app.gitbook.com" in address
            else LinkDestination.OUTSIDE
        )
    return LinkDestination.MAIL if name == "mailto:" else LinkDestination.REFUSED
