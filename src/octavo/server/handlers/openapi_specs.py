"""OpenAPI specifications, which are downloaded and parsed in the background. Each success creates a version."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import Any

from octavo.api import openapi
from octavo.server.fetcher import Fetcher, FetchFailure
from octavo.server.handlers.permissions import allows, organization_guard, organization_role, refuse_guests
from octavo.server.rest import (
    BackgroundWork,
    Refusal,
    RequestContext,
    before_save,
    guards,
    handle,
    omit,
    path_of,
    presents,
)
from octavo.server.store import Json, MissingResource


@dataclass(frozen=True)
class ProcessedSpecification:
    """Result of processing a specification: its content as JSON, or an error code with sentences for the user."""

    content: bytes = b""
    code: str | None = None
    sentences: tuple[str, ...] = ()


@presents(openapi.OpenApiSpec)
def present_spec(context: RequestContext, spec: Json) -> Json:
    """Return a stored specification as the response of the API, with the permissions of the caller."""
    organization, slug = spec["organization"], spec["slug"]
    path = f"/orgs/{organization}/openapi/{slug}"
    current_role = organization_role(context, organization)
    return {
        "object": "openapi-spec",
        **omit(spec, "organization", "attempt"),
        "permissions": {"view": current_role is not None, "edit": allows(current_role, "create")},
        "urls": {"location": context.url(f"/v1{path}"), "app": context.url(f"/o/{organization}/openapi/{slug}")},
    }


@presents(openapi.Version)
def _present_spec_version(context: RequestContext, document: Json) -> Json:
    path = f"/orgs/{document['organization']}/openapi/{document['slug']}/versions/{document['id']}"
    return {
        "object": "openapi-spec-version",
        "id": document["id"],
        "createdAt": document["createdAt"],
        "url": _download_url(context, document),
        "urls": {"location": context.url(f"/v1{path}")},
    }


def _download_url(context: RequestContext, version: Json) -> str:
    return context.url(f"/~/files/{version['blob']}/{version['slug']}.json")


@guards(openapi.List, openapi.Get, openapi.ListVersions)
def _require_viewer(op: Any, context: RequestContext) -> None:
    refuse_guests(context, op.at.organization_id, "see OpenAPI specifications")
    if isinstance(op, openapi.ListVersions):
        context.store.get(path_of(op).removesuffix("/versions"))


_require_editor = guards(openapi.Update, openapi.Delete)(organization_guard("create"))


@before_save(openapi.OpenApiSpec)
def _touch(op: openapi.Update, context: RequestContext, document: Json) -> Json:
    return {**document, "updatedAt": context.timestamp()}


@handle.register
def _create(op: openapi.Create, context: RequestContext) -> BackgroundWork[ProcessedSpecification]:
    _require_editor(op, context)
    path = f"{path_of(op)}/{op.slug}"
    if context.store.find(path):
        sentence = f"The slug “{op.slug}” is already used by another OpenAPI specification. Choose another slug, or add a version"
        raise Refusal(400, f"{sentence} with PUT.")
    return _start_processing(op, context, path, op.slug)


@handle.register
def _put(op: openapi.Put, context: RequestContext) -> BackgroundWork[ProcessedSpecification]:
    _require_editor(op, context)
    return _start_processing(op, context, path_of(op), op.spec_slug)


def _start_processing(
    op: openapi.Create | openapi.Put, context: RequestContext, path: str, slug: str
) -> BackgroundWork[ProcessedSpecification]:
    """Save a specification as being processed. Return the work that downloads and parses it, and saves the result."""
    now = context.timestamp()
    identity = {"id": context.new_id(), "slug": slug, "organization": op.at.organization_id, "createdAt": now}
    document = {**identity, "visibility": "private", **(context.store.find(path) or {}), "updatedAt": now}
    document |= {"attempt": context.new_id(), "processingState": "progress"}
    document.pop("sourceURL", None)
    if op.source.url is not None:
        document["sourceURL"] = op.source.url
    context.store.put(path, document)
    return BackgroundWork(
        partial(_read_specification, op.source, allows_private=context.allows_private_imports),
        partial(_finish_processing, context, path, document["attempt"]),
        early_response=present_spec(context, {**document, "processingState": "pending"}),
    )


def _read_specification(source: openapi.Source, *, allows_private: bool) -> ProcessedSpecification:
    # lazy: loads the reader of specifications, which the demo does not need
    from octavo.documents.openapi import MAX_LENGTH, SpecificationError, read_specification

    fetcher = Fetcher(allows_private=allows_private, size_limit=MAX_LENGTH)
    try:
        text = fetcher.fetch(source.url).text if source.url is not None else (source.text or "").removeprefix("\ufeff")
        return ProcessedSpecification(json.dumps(read_specification(text), separators=(",", ":")).encode("ascii"))
    except FetchFailure as failure:
        return ProcessedSpecification(code=failure.code, sentences=(f"The source could not be fetched: {failure}.",))
    except SpecificationError as failure:
        return ProcessedSpecification(code="PARSE_ERROR", sentences=failure.sentences)


def _finish_processing(context: RequestContext, path: str, attempt: str, outcome: ProcessedSpecification) -> None:
    """Save the result of processing. Do nothing if the specification was deleted, or if a later attempt has begun."""
    document = context.store.find(path)
    if document is None or document["attempt"] != attempt:
        return
    now = context.timestamp()
    document |= {"processingState": "complete", "lastProcessedAt": now}
    for name in ("lastProcessErrorCode", "lastProcessedErrors"):
        document.pop(name, None)
    if outcome.code:
        errors = [{"message": sentence, "code": outcome.code} for sentence in outcome.sentences]
        document |= {"lastProcessErrorCode": outcome.code, "lastProcessedErrors": errors}
    else:
        version = {"id": context.new_id(), "createdAt": now, "blob": context.store.put_blob(outcome.content)}
        version |= {"slug": document["slug"], "organization": document["organization"]}
        context.store.put(f"{path}/versions/{version['id']}", version)
        document["lastVersion"] = version["id"]
    context.store.put(path, document)


@handle.register
def _get_latest_version(op: openapi.GetLatestVersion, context: RequestContext) -> Json:
    return _present_spec_version(context, _latest_version(op, context))


@handle.register
def _get_latest_content(op: openapi.GetLatestContent, context: RequestContext) -> Json:
    version = _latest_version(op, context)
    content = json.loads(context.store.blob(version["blob"]))
    return {"filesystem": {f"{version['slug']}.json": content}, "url": _download_url(context, version)}


def _latest_version(op: openapi.GetLatestVersion | openapi.GetLatestContent, context: RequestContext) -> Json:
    _require_viewer(op, context)
    path = f"/orgs/{op.at.organization_id}/openapi/{op.spec_slug}"
    latest = context.store.get(path).get("lastVersion")
    if latest is None:
        raise MissingResource(f"{path}/versions/latest")
    return context.store.get(f"{path}/versions/{latest}")
