"""The embedded platform as an ASGI app. `Platform` decodes each HTTP request, and calls its handler."""

from __future__ import annotations

import asyncio
import json
import mimetypes
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, nullcontext
from functools import cache
from random import Random, getrandbits
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import ValidationError
from pydantic_core import from_json
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from octavo.api import spaces, wire
from octavo.api.operation import (
    SPECS,
    ChangeRequestRef,
    CollectionRef,
    Operation,
    OrganizationRef,
    RevisionRef,
    SiteRef,
    SpaceRef,
)
from octavo.lazy_import import lazy
from octavo.server.handlers import load_for, site_tree
from octavo.server.handlers.change_requests import change_request_path, get_by_number
from octavo.server.handlers.permissions import can_see_collection, membership, role
from octavo.server.handlers.spaces import delete_expired_spaces, is_expired
from octavo.server.rest import BackgroundWork, Refusal, RequestContext, handle
from octavo.server.store import Json, MissingResource, WriteFailure

_openapi_document = lazy("octavo.api.openapi_document:document")  # lazy: builds the schemas of all models
_pdf_maker = lazy("octavo.server.handlers.uploads:pdf_maker")
_find_usable_upload = lazy("octavo.server.handlers.uploads:find_usable_upload")
_receive_file = lazy("octavo.server.handlers.uploads:receive_file")


Op = TypeVar("Op", bound=Operation[Any])


def run_operation(op: Operation[Any], context: RequestContext) -> Any:
    """Run an operation. Return the JSON response, or `BackgroundWork` that returns it. None if there is no body, or
    if a DELETE finds nothing to delete. A failed operation changes nothing. Raises Refusal or MissingResource."""
    load_for(type(op))
    spec = SPECS[type(op)]
    try:
        with context.store.cached_reads() if spec.only_reads else context.store.transaction():
            return handle(resolve_reference(op, context), context)
    except MissingResource:
        if spec.method == "DELETE":
            return None
        raise


def resolve_reference(op: Op, context: RequestContext) -> Op:
    """Check that the caller can see the resource `op.at`, and return `op`. If `op.at` contains the number of a change
    request instead of its ID, the returned operation has the ID. Raises MissingResource."""
    match getattr(op, "at", None):
        case OrganizationRef() as at:
            if membership(context, at.organization_id) is None:
                raise MissingResource(f"/orgs/{at.organization_id}")
        case SiteRef() as at:
            # Visitors of a published site may send operations that have a share key.
            is_visit = "share_key" in type(op).model_fields
            site_tree.require_site_access(context, at, is_visit=is_visit, share_key=getattr(op, "share_key", None))
        case CollectionRef() as at:
            if not can_see_collection(context, context.store.get(f"/collections/{at.collection_id}")):
                raise MissingResource(f"/collections/{at.collection_id}")
        case SpaceRef() as at:
            allows_deleted = isinstance(op, spaces.Get | spaces.Restore)
            _require_space(
                context, at.space_id, allows_deleted=allows_deleted, visitor=op if isinstance(op, spaces.Get) else None
            )
        case ChangeRequestRef() as at:
            _require_space(context, at.space_id)
            at_with_id = at.model_copy(update={"change_request_id": _change_request_id(context, at)})
            return op.model_copy(update={"at": at_with_id})
        case RevisionRef() as at:
            _require_space(context, at.space_id)
            context.store.get(f"/spaces/{at.space_id}/revisions/{at.revision_id}")
    return op


def _require_space(
    context: RequestContext, space_id: str, *, allows_deleted: bool = False, visitor: spaces.Get | None = None
) -> None:
    space = context.store.get(f"/spaces/{space_id}")
    is_hidden = is_expired(context, space) if allows_deleted else space.get("deletedAt")
    if is_hidden or (
        role(context, space) is None
        and (visitor is None or not site_tree.is_published_to(context, space, visitor.share_key))
    ):
        raise MissingResource(f"/spaces/{space_id}")


def _change_request_id(context: RequestContext, at: ChangeRequestRef) -> str:
    if context.store.find(change_request_path(at)):
        return at.change_request_id
    return str(get_by_number(context, at.space_id, at.change_request_id)["id"])


BODY_SIZE_LIMIT = 1 << 20
EDIT_SIZE_LIMIT = 8 << 20
"""Maximum size of the body of `content.Edit`, in bytes. It is large, because an edit may contain files."""
MAX_SMALL_BODY_BYTES = 2 << 20
"""Maximum size, in bytes, of a request body that is not large. Only one large body is in memory at a time."""

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
T = TypeVar("T")


class Platform:
    """The embedded platform, as an ASGI app. All handlers run in one thread, one after the other."""

    def __init__(self, context: RequestContext) -> None:
        delete_expired_spaces(context)
        fail_unfinished_specs(context)
        self.context = context
        self.delay = 0.0
        """Seconds to wait before each response, to simulate a slow server."""
        self.failure_rate = 0.0
        """Share of requests, from 0 to 1, that get a simulated server error."""
        self._chance = Random(7)
        self.read_only_reason = ""
        """Message with which writes are refused. Empty if writes are allowed."""
        self._thread = ThreadPoolExecutor(1, "platform")
        self._large_lock = asyncio.Lock()
        """Lock for a large request body, and for background work with `needs_much_memory`."""
        self._app = Starlette(
            routes=[
                Route("/v1/openapi.json", self._openapi_document, methods=["GET"]),
                Route("/v1/{path:path}", self._operation, methods=_METHODS),
                Route("/~/files/{blob}/{name:path}", self._download, methods=["GET"]),
                Route("/~/pdf/{payload}/{signature}/{name}", self._make_pdf, methods=["GET"]),
                Route("/~/uploads/{organization_id}/{key}/{secret}", self._receive_upload, methods=["PUT"]),
            ],
            exception_handlers=dict.fromkeys(
                (Refusal, MissingResource, WriteFailure, HTTPException, ClientDisconnect, Exception), _failure_response
            ),
        )
        self._app.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def close(self) -> None:
        """Wait for the running handler, and stop the thread of the handlers. Does not close the store."""
        self._thread.shutdown()

    async def _operation(self, request: Request) -> Response:
        async with AsyncExitStack() as lock_stack:
            context = await self._authenticate(request)
            if request.method == "OPTIONS":
                return Response(status_code=204, headers={"allow": ", ".join(_allowed_methods(request))})
            body = await self._read_json_body(request, lock_stack)
            await self._simulate_failure()
            op = _decode_operation(request, body)
            if op is None:
                return Response(status_code=204, headers=_request_id_header())
            if self.read_only_reason and not SPECS[type(op)].only_reads:
                raise Refusal(403, self.read_only_reason)
            result = await self.run(op, context)
            background_task = None
            if isinstance(result, BackgroundWork):
                if result.early_response is None:
                    result = await self._run_background_work(result)
                else:
                    background_task, result = BackgroundTask(self._run_background_work, result), result.early_response
            if result is None:
                return Response(status_code=204, headers=_request_id_header())
            content = b"" if request.method == "HEAD" else _json(result)
            return Response(content, SPECS[type(op)].success, _request_id_header(), "application/json", background_task)

    async def run(self, op: Operation[Any], context: RequestContext) -> Any:
        """Run an operation in the thread of the handlers, and return its result."""
        return await self._in_thread(lambda: run_operation(op, context))

    async def _run_background_work(self, work: BackgroundWork[Any]) -> Any:
        async with self._large_lock if work.needs_much_memory else nullcontext():
            outcome = await asyncio.to_thread(work.run)

            def finish() -> Any:
                with self.context.store.transaction():
                    return work.finish(outcome)

            return await self._in_thread(finish)

    async def _openapi_document(self, request: Request) -> Response:
        # No API key is required, because clients read this document before they have a key.
        return Response(await self._in_thread(_openapi_json), media_type="application/json")

    async def _download(self, request: Request) -> Response:
        context = await self._authenticate(request)
        name = request.path_params["name"]
        data = await self._in_thread(lambda: context.store.blob(request.path_params["blob"]))
        media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
        disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
        headers = {"content-disposition": disposition, "x-content-type-options": "nosniff"}
        return Response(data, headers=headers, media_type=media_type)

    async def _make_pdf(self, request: Request) -> Response:
        # No API key is required, because the signature in the URL grants access to the PDF.
        payload, signature, name = (request.path_params[each] for each in ("payload", "signature", "name"))
        make_pdf = await self._in_thread(lambda: _pdf_maker(self.context, payload, signature))
        headers = {"content-disposition": f"inline; filename*=UTF-8''{quote(name, safe='')}", **_request_id_header()}
        return Response(await asyncio.to_thread(make_pdf), headers=headers, media_type="application/pdf")

    async def _receive_upload(self, request: Request) -> Response:
        # No API key is required, because the secret in the URL permits the upload.
        url_parameters = request.path_params
        upload = await self._in_thread(lambda: _find_usable_upload(self.context, **url_parameters))
        async with AsyncExitStack() as lock_stack:
            data = await self._read_body(request, upload["size"], lock_stack)
            await self._in_thread(lambda: _receive_file(self.context, **url_parameters, data=data))
        return Response(headers=_request_id_header())

    async def _read_json_body(self, request: Request, lock_stack: AsyncExitStack) -> Json | None:
        path = request.scope["path"]
        size_limit = EDIT_SIZE_LIMIT if request.method == "POST" and path.endswith("/content") else BODY_SIZE_LIMIT
        body = await self._read_body(request, size_limit, lock_stack)
        return _parse_body(body) if body else None

    async def _read_body(self, request: Request, size_limit: int, lock_stack: AsyncExitStack) -> bytes:
        """Return the body of a request. Raises Refusal if it has more than `size_limit` bytes. For a large body,
        `lock_stack` holds `_large_lock` until the caller closes `lock_stack`."""
        limit_text = f"{size_limit >> 20} MiB" if size_limit % (1 << 20) == 0 else f"{size_limit} bytes"
        too_large = Refusal(413, f"The body is larger than the limit of {limit_text}.")
        length = request.headers.get("content-length", "0")
        if len(length) > 15 or (length.isdecimal() and int(length) > size_limit):
            raise too_large
        parts, size = [], 0
        async for part in request.stream():
            if size <= MAX_SMALL_BODY_BYTES < size + len(part) <= size_limit:
                await lock_stack.enter_async_context(self._large_lock)
            size += len(part)
            if size <= size_limit:
                parts.append(part)
            elif size > 4 * size_limit:
                raise too_large
        if size > size_limit:
            raise too_large
        return b"".join(parts)

    async def _authenticate(self, request: Request) -> RequestContext:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        user = await self._in_thread(lambda: self.context.store.user_of(key)) if scheme.lower() == "bearer" else None
        if user is None:
            sentence = (
                "This server does not know this API key. Sign in with another API key."
                if key
                else "Sign in first: the request has no API key."
            )
            raise Refusal(401, sentence, {"www-authenticate": "Bearer"})
        return self.context.for_user(user)

    async def _simulate_failure(self) -> None:
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.failure_rate and self._chance.random() < self.failure_rate:
            raise Refusal(503, "This is a simulated error, because Octavo was started with --fail.")

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def fail_unfinished_specs(context: RequestContext) -> None:
    """Mark OpenAPI specifications as failed if the platform stopped while it processed them."""
    sentence = "The server stopped before the source was processed. Upload the specification again."
    for organization in context.store.all("/orgs"):
        for document in context.store.all(f"/orgs/{organization['id']}/openapi"):
            if document["processingState"] != "complete":
                document |= {"processingState": "complete", "lastProcessedAt": context.timestamp()}
                document["lastProcessErrorCode"] = "FETCH_TIMEOUT"
                document["lastProcessedErrors"] = [{"message": sentence, "code": "FETCH_TIMEOUT"}]
                context.store.put(f"/orgs/{organization['id']}/openapi/{document['slug']}", document)


@cache
def _openapi_json() -> bytes:
    return _json(_openapi_document())


def _parse_body(body: bytes) -> Json:
    try:
        value = from_json(body, allow_inf_nan=False)
        # Python reads the number 1e999 as infinity, which a JSON response cannot contain.
        json.dumps(value, allow_nan=False)
    except ValueError as error:
        raise Refusal(400, f"The body is not valid JSON: {error}.") from None
    if not isinstance(value, dict):
        raise Refusal(400, "The body must be a JSON object.")
    return value


def _decode_operation(request: Request, body: Json | None) -> Operation[Any] | None:
    """Return the operation for a request. None for a DELETE of an invalid ID, which deletes nothing. Raises Refusal."""
    method = "GET" if request.method == "HEAD" else request.method
    try:
        return wire.decode(wire.Request(method, _url(request), body))
    except wire.NoSuchOperation as unknown:
        if not unknown.methods:
            raise Refusal(404, "The API has no operation at this path.") from None
        sentence = f"This path does not support {request.method}. Supported methods: {', '.join(unknown.methods)}."
        raise Refusal(405, sentence, {"allow": ", ".join(_allowed_methods(request))}) from None
    except wire.NothingChanged:
        raise Refusal(400, "The body contains no changes. Give at least one field.") from None
    except ValidationError as invalid:
        if request.method == "DELETE":  # A DELETE has only IDs, so an ID is invalid.
            return None
        raise invalid_request(invalid, body) from None


def _url(request: Request) -> str:
    # The raw path distinguishes slashes from encoded slashes, which page paths contain.
    path = request.scope.get("raw_path") or quote(request.scope["path"]).encode()
    query = request.scope["query_string"]
    return (path + b"?" + query if query else path).decode("latin-1")


def _allowed_methods(request: Request) -> list[str]:
    try:
        wire.decode(wire.Request("OPTIONS", _url(request)))
    except wire.NoSuchOperation as unknown:
        if unknown.methods:
            return [*unknown.methods, *(["HEAD"] if "GET" in unknown.methods else []), "OPTIONS"]
    raise Refusal(404, "The API has no operation at this path.")


def _json(value: Any) -> bytes:
    # The response is ASCII, because UTF-8 cannot encode lone surrogates.
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _request_id_header() -> dict[str, str]:
    return {"x-request-id": f"{getrandbits(64):016x}"}


def error_response(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the JSON response for a failed request."""
    content = _json({"error": {"code": status, "message": message}})
    return Response(content, status, {**_request_id_header(), **(headers or {})}, "application/json")


async def _failure_response(request: Request, failure: Exception) -> Response:
    match failure:
        case Refusal():
            return error_response(failure.status, str(failure), failure.headers)
        case MissingResource():
            return error_response(404, missing_message(str(failure)))
        case WriteFailure():
            return error_response(503, f"The server cannot save anything at the moment: {failure.strerror}.")
        case HTTPException():
            sentence = failure.detail if failure.status_code != 404 else "The API has no operation at this path."
            return error_response(failure.status_code, sentence, failure.headers)
        case ClientDisconnect():
            return error_response(400, "The request ended before its body was complete.")
    # Starlette sends this response, then raises the exception again for the log.
    return error_response(500, "The server failed, and your request was not completed.")


_NOUNS = {
    "orgs": "organization",
    "link-invites": "invite link",
    "replies": "reply",
    "saml": "SAML provider",
    "mcp-servers": "MCP server",
    "openapi": "OpenAPI specification",
    "versions": "version of this specification",
}
"""Noun for messages about a missing item, by collection. Other collections use the singular of their name."""


def missing_message(path: str) -> str:
    """Return the message for a missing document or file. `path` is its path in the store, or the hash of the file."""
    if path.endswith("/adaptive-schema"):
        return "There is no adaptive schema here yet. Create one first."
    collection_path, _, name = path.rpartition("/")
    collection = collection_path.rpartition("/")[2]
    noun = _NOUNS.get(collection) or collection.removesuffix("s").replace("-", " ") or "file"
    return f"There is no {noun} “{name[:128]}” here, or you do not have access."


def invalid_request(error: ValidationError, body: Json | None) -> Refusal:
    """Return a Refusal: 404 for an invalid ID in the URL, else 400. The message never contains the invalid value."""
    if error.title.endswith("Ref"):
        return Refusal(404, "There is nothing at this URL: an ID in the URL is not valid.")
    return Refusal(400, wire.error_sentence(error, body or {}))
