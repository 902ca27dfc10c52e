"""The roles you can take in the demo, and the person with each role."""

from __future__ import annotations

PEOPLE_BY_ROLE = {
    "administrator": "noor-haddad",
    "creator": "mara-lindqvist",
    "reviewer": "tomas-okafor",
    "editor": "yuki-tanabe",
    "commenter": "sipho-dlamini",
    "reader": "elin-brandt",
    "guest": "hiroshi-dahlgren",
}
"""Id of the person with each role, from the highest role to the lowest. `server/demo/history.py` has the people. A guest
has no access except where it is granted."""

DEFAULT_ROLE = "creator"
"""Role in the demo without `--as`. A creator can review and merge, but not administer."""
