"""Error messages for refused requests."""

from __future__ import annotations

from pydantic import ValidationError

from octavo.api.wrong_values import sentence
from octavo.server.store import Json
from octavo.server.world import Refused

_NOUNS = {
    "orgs": "organization",
    "members": "member",
    "teams": "team",
    "link-invites": "invite link",
    "users": "user",
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
"""Resources that exist at most once in a place: the message names only their kind."""


def about_missing(path: str) -> str:
    """Return the message for a path without a resource, or without one the caller has access to."""
    if noun := _SINGLE.get(path.rpartition("/")[2]):
        return f"There is no {noun} here yet. Create one first."
    kind, _, name = path.rpartition("/")
    noun = _NOUNS.get(kind.rpartition("/")[2], "file")
    return f"There is no {noun} “{name[:128]}” here, or you do not have access."


def about_body(invalid: ValidationError, body: Json | None) -> Refused:
    """Refuse values that are not as documented: names the first field that is wrong, and what is allowed.

    Never repeats a value. An id in the address that no resource can have is answered with 404.
    """
    if invalid.title.endswith("Ref"):
        return Refused(404, "There is nothing at this URL: an ID in the URL is not valid.")
    return Refused(400, sentence(invalid, body or {}))
