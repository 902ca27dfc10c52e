"""OpenAPI specifications: filed under slugs, fetched and read aside, each reading that succeeds a version."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import Any

from octavo.api import openapi
from octavo.documents.openapi import MAX_LENGTH, SpecificationError, read_specification
from octavo.server.background import Errand
from octavo.server.behaviour.permissions import allows, need_in_organization, organization_role
from octavo.server.fetching import Fetcher, NotFetched
from octavo.server.rest import completes, guards, handle, path_of, shows, without
from octavo.server.store import Json, Missing
from octavo.server.world import Refused, World


@dataclass(frozen=True)
class Reading:
    """What came of reading a specification: its content, or the code of what went wrong with sentences about it."""

    content: bytes = b""
    code: str | None = None
    sentences: tuple[str, ...] = ()


@shows(openapi.OpenApiSpec)
def present_spec(world: World, document: Json) -> Json:
    """A specification as the caller sees it."""
    organization, slug = document["organization"], document["slug"]
    path = f"/orgs/{organization}/openapi/{slug}"
    held = organization_role(world, organization)
    return {
        "object": "openapi-spec",
        **without(document, "organization", "attempt"),
        "permissions": {"view": held is not None, "edit": allows(held, "create")},
        "urls": {"location": world.url(f"/v1{path}"), "app": world.url(f"/o/{organization}/openapi/{slug}")},
    }


@shows(openapi.Version)
def present_version(world: World, document: Json) -> Json:
    """A version as it is shown."""
    path = f"/orgs/{document['organization']}/openapi/{document['slug']}/versions/{document['id']}"
    return {
        "object": "openapi-spec-version",
        "id": document["id"],
        "createdAt": document["createdAt"],
        "url": _download(world, document),
        "urls": {"location": world.url(f"/v1{path}")},
    }


def _download(world: World, version: Json) -> str:
    return world.url(f"/~/files/{version['blob']}/{version['slug']}.json")


@guards(openapi.List, openapi.Get, openapi.ListVersions)
def _may_see(op: Any, world: World) -> None:
    if organization_role(world, op.at.organization_id) is None:
        raise Refused(403, "Guests cannot see OpenAPI specifications. Ask an admin of the organization for a role.")
    if isinstance(op, openapi.ListVersions):
        world.store.get(path_of(op).removesuffix("/versions"))


@guards(openapi.Update, openapi.Delete)
def _may_change(op: Any, world: World) -> None:
    need_in_organization(world, world.store.get(f"/orgs/{op.at.organization_id}"), "create")


@completes(openapi.OpenApiSpec)
def _changed(op: openapi.Update, world: World, document: Json) -> Json:
    return {**document, "updatedAt": world.timestamp()}


@handle.register
def _create(op: openapi.Create, world: World) -> Errand[Reading]:
    _may_change(op, world)
    path = f"{path_of(op)}/{op.slug}"
    if world.store.find(path):
        sentence = f"The slug “{op.slug}” is already used by another OpenAPI specification. Choose another slug, or add a version"
        raise Refused(400, f"{sentence} with PUT.")
    return _filed(op, world, path, op.slug)


@handle.register
def _put(op: openapi.Put, world: World) -> Errand[Reading]:
    _may_change(op, world)
    return _filed(op, world, path_of(op), op.spec_slug)


def _filed(op: openapi.Create | openapi.Put, world: World, path: str, slug: str) -> Errand[Reading]:
    """File a specification as one that is about to be read. Its last version stays until then."""
    now = world.timestamp()
    identity = {"id": world.new_id(), "slug": slug, "organization": op.at.organization_id, "createdAt": now}
    document = {**identity, "visibility": "private", **(world.store.find(path) or {}), "updatedAt": now}
    document |= {"attempt": world.new_id(), "processingState": "progress"}
    document.pop("sourceURL", None)
    if op.source.url is not None:
        document["sourceURL"] = op.source.url
    world.store.put(path, document)
    return Errand(
        partial(_read, op.source, Fetcher(private=world.private_imports, largest=MAX_LENGTH)),
        partial(_settle, world, path, document["attempt"]),
        answered=present_spec(world, {**document, "processingState": "pending"}),
    )


def _read(source: openapi.Source, fetcher: Fetcher) -> Reading:
    try:
        text = fetcher.fetch(source.url).text if source.url is not None else source.text or ""
        return Reading(json.dumps(read_specification(text), separators=(",", ":")).encode("ascii"))
    except NotFetched as failure:
        return Reading(code=failure.code, sentences=(f"The source could not be fetched: {failure}.",))
    except SpecificationError as failure:
        return Reading(code="PARSE_ERROR", sentences=failure.sentences)


def _settle(world: World, path: str, attempt: str, reading: Reading) -> None:
    """Keep what was read, unless the specification is gone or is being read anew."""
    document = world.store.find(path)
    if document is None or document["attempt"] != attempt:
        return
    now = world.timestamp()
    document |= {"processingState": "complete", "lastProcessedAt": now}
    for name in ("lastProcessErrorCode", "lastProcessedErrors"):
        document.pop(name, None)
    if reading.code:
        errors = [{"message": sentence, "code": reading.code} for sentence in reading.sentences]
        document |= {"lastProcessErrorCode": reading.code, "lastProcessedErrors": errors}
    else:
        version = {"id": world.new_id(), "createdAt": now, "blob": world.store.put_blob(reading.content)}
        version |= {"slug": document["slug"], "organization": document["organization"]}
        world.store.put(f"{path}/versions/{version['id']}", version)
        document["lastVersion"] = version["id"]
    world.store.put(path, document)


def give_up(world: World) -> None:
    """Let specifications that were being read when the platform ended be ones whose source did not answer."""
    for organization in world.store.all("/orgs"):
        for document in world.store.all(f"/orgs/{organization['id']}/openapi"):
            if document["processingState"] != "complete":
                reading = Reading(
                    code="FETCH_TIMEOUT",
                    sentences=("The server stopped before the source was processed. Upload the specification again.",),
                )
                _settle(world, f"/orgs/{organization['id']}/openapi/{document['slug']}", document["attempt"], reading)


@handle.register
def _get_latest_version(op: openapi.GetLatestVersion, world: World) -> Json:
    return present_version(world, _latest(op, world))


@handle.register
def _get_latest_content(op: openapi.GetLatestContent, world: World) -> Json:
    version = _latest(op, world)
    content = json.loads(world.store.blob(version["blob"]))
    return {"filesystem": {f"{version['slug']}.json": content}, "url": _download(world, version)}


def _latest(op: openapi.GetLatestVersion | openapi.GetLatestContent, world: World) -> Json:
    _may_see(op, world)
    path = f"/orgs/{op.at.organization_id}/openapi/{op.spec_slug}"
    latest = world.store.get(path).get("lastVersion")
    if latest is None:
        raise Missing(f"{path}/versions/latest")
    return world.store.get(f"{path}/versions/{latest}")
