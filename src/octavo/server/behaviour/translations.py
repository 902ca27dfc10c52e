"""Translation settings. They are kept; nothing here translates."""

from __future__ import annotations

from octavo.api import translations
from octavo.server.behaviour.permissions import allows, in_organization, organization_role, role
from octavo.server.rest import completes, guards, shows
from octavo.server.store import Json
from octavo.server.world import Refused, World

TITLE_LIMIT = 100

guards(translations.Create, translations.Update, translations.Delete)(in_organization("create"))


@shows(translations.TranslationSettings)
def present_translation(world: World, document: Json) -> Json:
    """Translation settings as the caller sees them."""
    organization = document["organization"]
    location = world.url(f"/v1/orgs/{organization}/translations/{document['id']}")
    return {
        "object": "translation-settings",
        **{name: value for name, value in document.items() if name != "organization"},
        "permissions": {"view": True, "edit": allows(organization_role(world, organization), "create")},
        "urls": {"location": location},
    }


@completes(translations.TranslationSettings)
def _complete(op: translations.Create | translations.Update, world: World, document: Json) -> Json:
    """Settings with dates, a title, and the language they were given as their only one."""
    now, language = world.timestamp(), document.get("language")
    begun = {"organization": op.at.organization_id, "languages": [language] if language else [], "createdAt": now}
    if isinstance(op, translations.Create) and op.source:
        begun["title"] = f"{_translated(op, world, op.source.space)['title']} ({language})"[:TITLE_LIMIT]
    return {**begun, **document, "updatedAt": now}


def _translated(op: translations.Create, world: World, space_id: str) -> Json:
    """The space that is translated, which the caller must see. Raises Refused."""
    space = world.store.find(f"/spaces/{space_id}")
    mine = space is not None and space["organization"] == op.at.organization_id and not space.get("deletedAt")
    if space is None or not mine or role(world, space) is None:
        raise Refused(400, "source.space names no space of this organization that you may see. Take it from the list.")
    return space
