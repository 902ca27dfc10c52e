"""Whom one can be in the demo: a name for each role, and who has it."""

from __future__ import annotations

CAST = {
    "administrator": "noor-haddad",
    "creator": "mara-lindqvist",
    "reviewer": "tomas-okafor",
    "editor": "yuki-tanabe",
    "commenter": "sipho-dlamini",
    "reader": "elin-brandt",
    "guest": "hiroshi-dahlgren",
}
"""The ids of people (server/demo/people.py), from the highest role down. A guest is of no role but where one was given."""

DEFAULT = "creator"
"""Who opens the demo: she may review and merge, but not administer."""
