"""Translation settings. They are kept; nothing here translates."""

from __future__ import annotations

from octavo.api import translations
from octavo.server.handlers.permissions import allows, in_organization, organization_role, sees
from octavo.server.rest import completes, guards, shows, without
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
        **({} if "title" in document else {"title": _title(world, document)}),
        **without(document, "organization"),
        "permissions": {"view": True, "edit": allows(organization_role(world, organization), "create")},
        "urls": {"location": location},
    }


@completes(translations.TranslationSettings)
def _complete(op: translations.Create | translations.Update, world: World, document: Json) -> Json:
    """Settings with dates, a title, and the language they were given as their only one."""
    now, language = world.timestamp(), document.get("language")
    begun = {"organization": op.at.organization_id, "languages": [language] if language else [], "createdAt": now}
    if isinstance(op, translations.Create) and op.source:
        _refuse_unseen(op, world, op.source.space)
    return {**begun, **document, "updatedAt": now}


def _refuse_unseen(op: translations.Create, world: World, space_id: str) -> None:
    """Refuse to translate a space of another organization, or one the caller does not see."""
    space = world.store.find(f"/spaces/{space_id}")
    if space is None or space["organization"] != op.at.organization_id or not sees(world, space):
        raise Refused(400, "source.space must be a space of this organization that you have access to.")


def _title(world: World, document: Json) -> str:
    """What settings without a title go by: the space that is translated, if the caller sees it, and its language."""
    space = world.store.find(f"/spaces/{document['source']['space']}")
    language: str = document["language"]
    return f"{space['title']} ({language})"[:TITLE_LIMIT] if space and sees(world, space) else language
