"""The names of spaces on the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping

from octavo.api.folding import fold

_READABLE_ID = re.compile(r"[a-z]{2,}(-[a-z0-9]+)*")


def space_name(space_id: str, titles: Mapping[str, str]) -> str:
    """Return the name by which Octavo prints a space: its id if that is readable, else its title in lower case with
    hyphens. The id if another space has the same name. `titles` has the titles of all spaces by id."""
    if _READABLE_ID.fullmatch(space_id):
        return space_id
    own = slug(titles[space_id])
    others = sum(own in (slug(title), each) for each, title in titles.items())
    return own if own and not own.isdecimal() and others == 1 else space_id


def slug(title: str) -> str:
    """Return a title in lower case, with hyphens between its words."""
    return re.sub(r"[\W_]+", "-", fold(title)).strip("-")
