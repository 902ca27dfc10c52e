"""Custom fonts, made of uploads."""

from __future__ import annotations

from urllib.parse import quote

from octavo.api import fonts
from octavo.server.handlers.permissions import allows, in_organization, organization_role
from octavo.server.handlers.storage import FONT_FORMATS, uploaded
from octavo.server.rest import completes, guards, shows
from octavo.server.store import Json
from octavo.server.world import Refused, World

guards(fonts.Create, fonts.Update, fonts.Delete)(in_organization("create"))


@shows(fonts.Font)
def present_font(world: World, document: Json) -> Json:
    """A font as the caller sees it, its faces from thin to bold."""
    faces = sorted(document["faces"].items(), key=lambda face: int(face[0]))
    return {
        "id": document["id"],
        "custom": True,
        "fontFamily": document["fontFamily"],
        "fontFaces": [
            {"weight": int(weight), "sources": [_present_source(world, each) for each in sources]}
            for weight, sources in faces
        ],
        "permissions": {"edit": allows(organization_role(world, document["organization"]), "create")},
    }


def _present_source(world: World, source: Json) -> Json:
    url = world.url(f"/~/files/{source['blob']}/{quote(source['name'], safe='')}")
    return {"url": url, "format": source["format"]}


@completes(fonts.Font)
def _complete(op: fonts.Create | fonts.Update, world: World, document: Json) -> Json:
    """A font whose named weights have the files that were uploaded for them, in place of those they had."""
    named: list[Json] = document.pop("fontFaces", [])
    weights = {str(face["weight"]) for face in named}
    faces = {weight: sources for weight, sources in document.get("faces", {}).items() if weight not in weights}
    for face in named:
        if face["storageKey"] is not None:
            _add(faces.setdefault(str(face["weight"]), []), _source(op, world, face["storageKey"]), face["weight"])
    if str(fonts.REGULAR) not in faces:
        sentence = f"“{document['fontFamily']}” needs a file with weight {fonts.REGULAR}."
        raise Refused(412, f"{sentence} Replace this file instead of removing it.")
    return {**document, "organization": op.at.organization_id, "faces": faces}


def _source(op: fonts.Create | fonts.Update, world: World, key: str) -> Json:
    upload = uploaded(world, op.at.organization_id, key, "customization_font")
    return {
        "blob": upload["blob"],
        "name": upload["name"],
        "format": FONT_FORMATS[world.store.blob(upload["blob"])[:4]],
    }


def _add(sources: list[Json], source: Json, weight: int) -> None:
    if any(each["format"] == source["format"] for each in sources):
        raise Refused(400, f"fontFaces has two {source['format']} files for weight {weight}. Keep one of them.")
    sources.append(source)
