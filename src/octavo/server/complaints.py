"""Sentences about requests that cannot be answered."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from octavo.server.store import Json
from octavo.server.world import Refused

_NOUNS = {
    "orgs": "organization",
    "members": "member",
    "teams": "team",
    "link-invites": "invite link",
    "users": "person",
    "collections": "collection",
    "spaces": "space",
    "comments": "comment",
    "replies": "reply",
    "change-requests": "change request",
    "reviews": "review",
    "requested-reviewers": "requested reviewer",
    "revisions": "revision",
    "sites": "site",
    "pages": "page",
    "site-spaces": "site space",
    "sections": "section",
    "section-groups": "section group",
    "share-links": "share link",
    "subdomains": "subdomain",
    "fonts": "font",
    "translations": "translation",
    "saml": "SAML provider",
    "mcp-servers": "MCP server",
    "openapi": "OpenAPI specification",
    "versions": "version of this specification",
    "redirects": "redirect",
}


_SINGLE = {"adaptive-schema": "adaptive schema"}
"""What there is at most one of at a place, so that it is named by what it is."""


def about_missing(path: str) -> str:
    """What to say when nothing is filed at `path`, or nothing that the caller may see."""
    if noun := _SINGLE.get(path.rpartition("/")[2]):
        return f"There is no {noun} here yet. Write one first."
    kind, _, name = path.rpartition("/")
    noun = _NOUNS.get(kind.rpartition("/")[2], "file")
    return f"There is no {noun} “{name[:128]}” here, or you may not see it."


def about_body(invalid: ValidationError, body: Json | None) -> Refused:
    """Refuse values that are not as documented: names the first field that is wrong, and what is allowed.

    Never repeats a value. An id in the address that no resource can have is answered with 404.
    """
    if invalid.title.endswith("Ref"):
        return Refused(404, "There is nothing at this address: an identifier in it cannot exist.")
    details = invalid.errors(include_url=False, include_input=False)
    first = details[0]
    if first["type"] == "value_error" and not first["loc"]:
        return Refused(400, f"{first['ctx']['error']}.")  # it is about several fields, and names them
    field = _field(first, body or {})
    same = [each for each in details if each["type"] == first["type"] and _field(each, body or {}) == field]
    return Refused(400, f"{field or 'The body'} {_rule(first, same)}.")


def _rule(error: ErrorDetails, alike: list[ErrorDetails]) -> str:
    limits: dict[str, Any] = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "is required"
        case "string_too_long":
            return f"may have at most {limits['max_length']} characters"
        case "string_too_short":
            return f"must have at least {_counted(limits['min_length'], 'character')}"
        case "too_long":
            return f"may have at most {limits['max_length']} items"
        case "too_short":
            return f"must have at least {_counted(limits['min_length'], 'item')}"
        case "less_than_equal":
            return f"may be at most {limits['le']}"
        case "greater_than_equal":
            return f"must be at least {limits['ge']}"
        case "literal_error":
            return "must be one of " + ", ".join(str(each["ctx"]["expected"]) for each in alike)
        case "string_pattern_mismatch":
            return f"must have the form {limits['pattern']}"
        case "union_tag_not_found":
            return f"must say its {limits['discriminator']}"
        case "union_tag_invalid":
            return f"must have a {limits['discriminator']} of {limits['expected_tags']}"
        case "value_error":
            return f"is wrong: {limits['error']}"
        case _:
            return "is wrong: " + error["msg"][:1].lower() + error["msg"][1:]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _field(error: ErrorDetails, body: Any) -> str:
    """The wire path of a field: `position.before.space`, `changes[0].title`.

    Pydantic's own path also names which of several shapes it tried. Nobody sent those, so what is not in the body
    is left out, but for the first part, which may be of the address or its query, and the name of what is missing.
    """
    parts, path, value = error["loc"], "", body
    for depth, part in enumerate(parts):
        there = isinstance(value, list) if isinstance(part, int) else isinstance(value, dict) and part in value
        if isinstance(part, int):
            path += f"[{part}]"
        elif there or depth == 0 or (depth == len(parts) - 1 and error["type"] == "missing"):
            path += f".{part}" if path else part
        if there:
            value = value[part]
    return path
