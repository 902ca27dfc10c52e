"""PDF export. The response is a signed URL, and the PDF is made when the URL is downloaded."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from octavo.api import pdf
from octavo.documents import page_trees
from octavo.documents.page_trees import Pages
from octavo.lazy_import import lazy
from octavo.server.handlers import revisions
from octavo.server.rest import handle
from octavo.server.store import Json, MissingResource
from octavo.server.text_expansion import expand_includes
from octavo.server.world import Refusal, World
from octavo.settings.extras import has_extra, how_to_install

_pdf_book = lazy("octavo.server.pdf_document:PdfBook")  # lazy: reportlab, which is large


LINK_LIFETIME = timedelta(hours=1)
"""Lifetime of a download URL."""
_SECRET_NAME = "pdf secret"


@handle.register
def _get(op: pdf.Get, world: World) -> Json:
    if not has_extra("pdf"):
        raise Refusal(400, f"Could not export the PDF: {how_to_install('pdf')}")
    revision = revisions.get_at(world, op.at)
    if op.only and op.page is None:
        raise Refusal(400, "page is required if only is set.")
    page = revisions.page_of(revision, op.page) if op.page else None
    space = world.store.get(f"/spaces/{op.at.space_id}")
    export = {"space": space["id"], "revision": revision["id"], "page": op.page, "only": bool(op.only)}
    export["until"] = (world.now() + LINK_LIFETIME).timestamp()
    payload = urlsafe_b64encode(json.dumps(export).encode()).decode().rstrip("=")
    name = page_trees.page_slug((page or space)["title"])
    return {"url": world.url(f"/~/pdf/{payload}/{_signature(world, payload)}/{name}.pdf")}


def pdf_maker(world: World, payload: str, signature: str) -> Callable[[], bytes]:
    """Return a function that makes the PDF for a signed URL. Raises Refusal if the signature is wrong or the URL has
    expired, and MissingResource if the space or revision does not exist."""
    if not hmac.compare_digest(_signature(world, payload).encode(), signature.encode()):
        raise Refusal(404, "There is no PDF at this link. Export the PDF again.")
    export = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    if export["until"] < world.now().timestamp():
        raise Refusal(404, "The link to this PDF has expired. Export the PDF again.")
    space = world.store.get(f"/spaces/{export['space']}")
    if space.get("deletedAt"):
        raise MissingResource(f"/spaces/{space['id']}")
    revision = revisions.get(world, space["id"], export["revision"])
    pages: Pages = revision["pages"]
    if export["page"] is not None:
        page = page_trees.find(pages, export["page"]) or {}
        pages = [{**page, "pages": []} if export["only"] else page]
    documents = (page for page in page_trees.walk(pages) if page["type"] == "document")
    texts = {
        page["id"]: expand_includes(world.store, revisions.page_text(world, page), page, revision) for page in documents
    }
    pictures = {file["id"]: file for file in revision["files"] if "dimensions" in file}
    data = {name: partial(_read_blob, world, file["blob"]) for name, file in pictures.items()}
    make: Callable[[], bytes] = _pdf_book(
        space["title"], pages, texts, page_trees.link_targets_of(revision), data
    ).to_bytes
    return make


def _read_blob(world: World, name: str) -> bytes:
    with world.store.lock:
        return world.store.blob(name)


def _signature(world: World, payload: str) -> str:
    secret = world.store.setting(_SECRET_NAME) or _new_secret(world)
    return hmac.new(secret.encode(), payload.encode(), hashlib.sha256).hexdigest()


def _new_secret(world: World) -> str:
    with world.store.transaction():  # Another process may create the secret at the same time. The first one is kept.
        secret = world.store.setting(_SECRET_NAME) or secrets.token_hex(32)
        world.store.set_setting(_SECRET_NAME, secret)
        return secret
