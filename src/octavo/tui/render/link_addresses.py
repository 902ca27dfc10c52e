"""What the address of a link leads to, decided before anything is opened."""

from __future__ import annotations

import re
from enum import Enum

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class Leads(Enum):
    """Where an address leads."""

    PAGE = "page"
    ANCHOR = "anchor"
    OUTSIDE = "outside"
    MAIL = "mail"
    BROKEN = "broken"
    REFUSED = "refused"
    """A scheme that is never opened: only http, https and mailto are."""


def leads(address: str) -> Leads:
    """Where `address`, as it is written in the source, leads."""
    if not address or "broken-reference" in address or address.startswith(("/broken/", "broken/")):
        return Leads.BROKEN
    if address.startswith("#"):
        return Leads.ANCHOR
    if address.startswith("//"):
        return Leads.REFUSED
    scheme = _SCHEME.match(address)
    if scheme is None:
        return Leads.PAGE
    name = scheme.group().lower()
    if name in ("http:", "https:"):
        return Leads.BROKEN if "/broken/" in address and "app.gitbook.com" in address else Leads.OUTSIDE
    return Leads.MAIL if name == "mailto:" else Leads.REFUSED
