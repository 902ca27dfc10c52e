"""The world a folder opens into: one person, who may do everything, and their organization."""

from __future__ import annotations

from octavo.server.world import World

PERSON = "me"
ORGANIZATION = "local"


def move_in(world: World, name: str) -> World:
    """Make the person and the organization when they are not there yet. The world as that person asks it."""
    store = world.store
    if store.find(f"/users/{PERSON}") is None:
        now = world.timestamp()
        with store.transaction():
            store.put(f"/users/{PERSON}", {"id": PERSON, "displayName": name})
            store.put(
                f"/orgs/{ORGANIZATION}",
                {
                    "id": ORGANIZATION,
                    "title": "This machine",
                    "createdAt": now,
                    "emailDomains": [],
                    "type": "business",
                    "plan": "free",
                    "defaultRole": "admin",
                    "inviteLinks": False,
                    "mergeRules": {"type": "none"},
                },
            )
            member = {"id": PERSON, "role": "admin", "disabled": False, "joinedAt": now, "sso": False}
            store.put(f"/orgs/{ORGANIZATION}/members/{PERSON}", member)
    return world.asked_by(PERSON)
