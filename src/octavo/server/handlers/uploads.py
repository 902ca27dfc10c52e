"""Uploads, custom fonts, imports and PDF exports.

An upload URL contains a secret, so that uploads need no API key. The URL works once, within 15 minutes. The ID of an
upload is its storage key. A PDF is created when it is downloaded.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import posixpath
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from secrets import compare_digest
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from octavo.api import fonts, imports, pdf, storage
from octavo.api.folding import fold
from octavo.api.operation import ChangeRequestRef
from octavo.documents import page_trees
from octavo.documents.folders.folder import EXTERNAL_URL, rewrite_links
from octavo.documents.page_trees import Pages
from octavo.lazy_import import has_extra, lazy, missing_extra_phrase
from octavo.server.fetcher import FetchedFile, Fetcher
from octavo.server.handlers import change_requests
from octavo.server.handlers.content import file_url
from octavo.server.handlers.permissions import allows, can_see, organization_guard, organization_role, require
from octavo.server.handlers.spaces import (
    add_edit_revision,
    get_revision,
    get_revision_at,
    page_of,
    page_text,
    set_current,
    with_stored_text,
)
from octavo.server.page_texts import evaluate_text, expand_includes, include_by_id
from octavo.server.rest import BackgroundWork, Refusal, RequestContext, before_save, guards, handle, iso, omit, presents
from octavo.server.store import Json, MissingResource, WriteFailure

if TYPE_CHECKING:
    from octavo.server.import_sources import ImportedFiles
    from octavo.server.pdf_document import PdfBook

_read_content = lazy("octavo.server.loader:read_content")  # lazy: reads folders, which only the import of content needs
# lazy: loads reportlab, which is large
_pdf_book: Callable[..., PdfBook] = lazy("octavo.server.pdf_document:PdfBook")


UPLOAD_LIFETIME = timedelta(minutes=15)
"""Time in which an upload URL works, and in which the uploaded file must be used."""
SIZE_LIMITS = {"customization_font": 5 << 20, "import_file": 32 << 20}
"""Maximum size of an uploaded file in bytes, by kind of the upload."""
FONT_TYPES = ("font/woff2", "font/woff", "application/font-woff2", "application/font-woff", "application/octet-stream")
FONT_FORMATS = {b"wOF2": "woff2", b"wOFF": "woff"}
"""Font formats by the first four bytes of a file."""

_require_creator = organization_guard("create")


@handle.register
def _request_upload(op: storage.Upload, context: RequestContext) -> Json:
    _require_creator(op, context)
    if op.file.size > SIZE_LIMITS[op.kind]:
        raise Refusal(
            400, f"file.size may be at most {SIZE_LIMITS[op.kind]} bytes for the kind {op.kind}. Choose a smaller file."
        )
    if op.kind == "customization_font" and op.file.type not in FONT_TYPES:
        raise Refusal(400, f"file.type must be one of {', '.join(FONT_TYPES)}. Fonts are WOFF2 or WOFF files.")
    organization_id = op.at.organization_id
    for old_upload in context.store.all(f"/orgs/{organization_id}/uploads"):
        if _is_expired(context, old_upload):
            context.store.delete(_upload_path(organization_id, old_upload["id"]))
    key, secret = context.new_id(), context.new_id()
    expires_at = iso(context.now() + UPLOAD_LIFETIME)
    upload = {"id": key, **op.file.model_dump(mode="json"), "kind": op.kind, "secret": secret, "until": expires_at}
    context.store.put(_upload_path(organization_id, key), upload)
    url = context.url(f"/~/uploads/{organization_id}/{key}/{secret}")
    return {"object": "storage-signed-url", "url": url, "key": key}


def find_usable_upload(context: RequestContext, organization_id: str, key: str, secret: str) -> Json:
    """Return the stored upload to which an upload URL belongs. Raises Refusal for a wrong, used or expired URL."""
    upload = context.store.find(_upload_path(organization_id, key))
    is_authorized = upload is not None and compare_digest(upload["secret"].encode(), secret.encode())
    if upload is None or not is_authorized:
        raise Refusal(404, "This upload URL is not valid. Request a new upload URL.")
    if "blob" in upload:
        raise Refusal(410, "This upload URL was already used. Request a new upload URL.")
    if _is_expired(context, upload):
        raise Refusal(410, "This upload URL has expired. Request a new upload URL.")
    return upload


def receive_file(context: RequestContext, organization_id: str, key: str, secret: str, data: bytes) -> None:
    """Save an uploaded file. Raises Refusal for an invalid URL, or if the size or format is not as announced."""
    with context.store.transaction():
        upload = find_usable_upload(context, organization_id, key, secret)
        if len(data) != upload["size"]:
            raise Refusal(
                400,
                f"The file has {len(data)} bytes, but {upload['size']} bytes were announced. Upload the file again.",
            )
        if upload["kind"] == "customization_font" and data[:4] not in FONT_FORMATS:
            raise Refusal(400, "The file is not a WOFF2 or WOFF font. Choose another file.")
        context.store.update(_upload_path(organization_id, key), blob=context.store.put_blob(data))


def _upload_key(context: RequestContext, url: str) -> str | None:
    parts = url.removeprefix(context.url("/~/uploads/")).split("/")
    return parts[1] if url.startswith(context.url("/~/uploads/")) and len(parts) == 3 else None


def find_uploaded_file(context: RequestContext, organization_id: str, key: str, kind: str) -> Json:
    """Return the upload `key`. Raises Refusal if it is missing or expired, has no file, or is not of this `kind`."""
    upload = context.store.find(_upload_path(organization_id, key))
    if upload is None or _is_expired(context, upload):
        raise Refusal(404, f"The upload “{key[:128]}” was not found, or it has expired. Upload the file again.")
    if upload["kind"] != kind:
        raise Refusal(
            412, f"The upload “{key}” has the kind {upload['kind']}. Upload the file again with the kind {kind}."
        )
    if "blob" not in upload:
        raise Refusal(412, f"The upload “{key}” has no file yet. Send the file to its upload URL first.")
    return upload


def _upload_path(organization_id: str, key: str) -> str:
    return f"/orgs/{organization_id}/uploads/{key}"


def _is_expired(context: RequestContext, upload: Json) -> bool:
    return context.now() >= datetime.fromisoformat(upload["until"])


guards(fonts.Create, fonts.Update, fonts.Delete)(organization_guard("create"))


@presents(fonts.Font)
def _present_font(context: RequestContext, font: Json) -> Json:
    faces = sorted(font["faces"].items(), key=lambda face: int(face[0]))
    return {
        "id": font["id"],
        "custom": True,
        "fontFamily": font["fontFamily"],
        "fontFaces": [
            {
                "weight": int(weight),
                "sources": [{"url": file_url(context, source), "format": source["format"]} for source in sources],
            }
            for weight, sources in faces
        ],
        "permissions": {"edit": allows(organization_role(context, font["organization"]), "create")},
    }


@before_save(fonts.Font)
def _fill_in_font(op: fonts.Create | fonts.Update, context: RequestContext, font: Json) -> Json:
    """Return a font with its new files, which replace all old files of the same weight. A new file with the storage key
    None only removes the old files. Raises Refusal if a file cannot be used, or if the regular weight has no file."""
    new_faces: list[Json] = font.pop("fontFaces", [])
    weights = {str(face["weight"]) for face in new_faces}
    faces = {weight: sources for weight, sources in font.get("faces", {}).items() if weight not in weights}
    for face in new_faces:
        if face["storageKey"] is not None:
            sources = faces.setdefault(str(face["weight"]), [])
            _add_source(sources, _font_source(op, context, face["storageKey"]), face["weight"])
    if str(fonts.REGULAR_WEIGHT) not in faces:
        sentence = f"“{font['fontFamily']}” needs a file with weight {fonts.REGULAR_WEIGHT}."
        raise Refusal(412, f"{sentence} Replace this file instead of removing it.")
    return {**font, "organization": op.at.organization_id, "faces": faces}


def _font_source(op: fonts.Create | fonts.Update, context: RequestContext, key: str) -> Json:
    upload = find_uploaded_file(context, op.at.organization_id, key, "customization_font")
    return {
        "blob": upload["blob"],
        "name": upload["name"],
        "format": FONT_FORMATS[context.store.blob(upload["blob"])[:4]],
    }


def _add_source(sources: list[Json], source: Json, weight: int) -> None:
    if any(each["format"] == source["format"] for each in sources):
        raise Refusal(400, f"fontFaces has two {source['format']} files for weight {weight}. Keep one of them.")
    sources.append(source)


_SUPPORTED_SOURCES = ("website", "html", "markdown", "docx", "zip")


@handle.register
def _create(op: imports.Create, context: RequestContext) -> BackgroundWork[Any]:
    _require_editable(op, context)
    if op.source not in _SUPPORTED_SOURCES:
        sentence = f"source {op.source} is not supported. Export it as markdown, html, docx, or zip"
        raise Refusal(400, f"{sentence}, then import that file.")
    needs_much_memory = op.source in ("zip", "docx")
    return BackgroundWork(
        partial(_read_source, op, _fetch_function(op, context)),
        partial(_add_imported, op, context),
        needs_much_memory=needs_much_memory,
    )


def _fetch_function(op: imports.Create, context: RequestContext) -> Callable[[str], FetchedFile]:
    if (key := _upload_key(context, op.url)) is None:
        return Fetcher(allows_private=context.allows_private_imports).fetch
    organization_id = context.store.get(f"/spaces/{op.at.space_id}")["organization"]
    upload = find_uploaded_file(context, organization_id, key, "import_file")
    file = FetchedFile(upload["name"], upload["type"], None, context.store.blob(upload["blob"]))
    return lambda _: file


def _require_editable(op: imports.Create, context: RequestContext) -> None:
    space = context.store.get(f"/spaces/{op.at.space_id}")
    if not can_see(context, space):
        raise MissingResource(f"/spaces/{op.at.space_id}")
    if isinstance(op.at, ChangeRequestRef):
        require(context, space, "edit")
        change_requests.refuse_closed(context.store.get(change_requests.change_request_path(op.at)), "receive imports")
        return
    require(context, space, "create")
    if space.get("editMode") == "locked":
        raise Refusal(
            409, f"“{space['title']}” can only be edited in change requests. Import into a change request instead."
        )


def _read_source(op: imports.Create, fetch: Callable[[str], FetchedFile]) -> ImportedFiles:
    if not has_extra("import"):
        raise Refusal(400, f"Could not import: {missing_extra_phrase('import')}")
    # lazy: loads beautifulsoup4, markdownify and mammoth, which only imports need
    from octavo.server.import_sources import ImportFailure, read_source

    try:
        return read_source(op.source, op.url, fetch)
    except ImportFailure as failure:
        raise Refusal(400, f"{failure}. Nothing was imported.") from None


def _add_imported(op: imports.Create, context: RequestContext, imported: ImportedFiles) -> Json:
    _require_editable(op, context)  # The target may have been merged, locked or deleted meanwhile.
    additions, current = _read_imported_content(context, imported), get_revision_at(context, op.at)
    content = {name: [*current[name], *additions[name]] for name in ("pages", "files", "reusableContents")}
    revision = add_edit_revision(context, current, **content, variables=additions["variables"] | current["variables"])
    if isinstance(op.at, ChangeRequestRef):
        change_requests.record_edit(context, context.store.get(change_requests.change_request_path(op.at)), revision)
    else:
        set_current(context, op.at.space_id, revision)
    return {
        "revision": revision["id"],
        "importedResources": imported.read_page_count,
        "totalResources": max(imported.found_page_count, imported.read_page_count),
    }


def _read_imported_content(context: RequestContext, imported: ImportedFiles) -> Json:
    with TemporaryDirectory(prefix="octavo-import-") as folder:
        for path, data in imported.files.items():
            _write_file(Path(folder, path), data)
        content = _read_content(context, Path(folder))
    content["keys"] = {fold(name): key for name, key in content["keys"].items()} | content["keys"]
    return {
        "pages": [_detach_from_files(context, page, content) for page in content["pages"]],
        "files": [omit(file, "git") for file in content["files"]],
        "reusableContents": [_detach_from_files(context, item, content) for item in content["reusableContents"]],
        "variables": content["variables"],
    }


def _write_file(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except (FileExistsError, IsADirectoryError, NotADirectoryError):
        pass  # If an archive contains a file and a folder with the same name, the second is left out.
    except OSError as error:
        raise WriteFailure(error.errno, f"could not write an imported file ({error.strerror})") from None


def _detach_from_files(context: RequestContext, page: Json, content: Json) -> Json:
    """Return an imported page without its file path, and with IDs in its links. `content` is from `_read_content`."""
    detached = omit(page, "git")
    if page.get("text"):
        file_path = page["git"]["path"]
        text = include_by_id(page_text(context, page), posixpath.dirname(file_path), content)
        detached = with_stored_text(
            context, detached, rewrite_links(text, partial(_link_by_id, content["keys"], file_path))
        )
    if "pages" in page:
        detached["pages"] = [_detach_from_files(context, subpage, content) for subpage in page["pages"]]
    return detached


def _link_by_id(ids_by_key: dict[str, str], file_path: str, address: str) -> str | None:
    """Return `/pages/ID` with the anchor, or `/files/ID`, for the link `address` in the file `file_path`. None if the
    link leads to nothing imported. `ids_by_key` has the IDs of imported items by keys such as `page:guide.md`."""
    path, anchor = re.split("[?#]", address, maxsplit=1)[0], address.partition("#")[2]
    if not path or EXTERNAL_URL.match(path):
        return None
    folder = "" if path.startswith("/") else posixpath.dirname(file_path)
    path_in_import = posixpath.normpath(posixpath.join(folder, unquote(path).lstrip("/")))
    converted = f"{posixpath.splitext(path_in_import)[0]}.md"
    names = (path_in_import, f"{path_in_import}.md", f"{path_in_import}/README.md", converted)
    page_keys = [f"page:{name}" for name in names]
    if page_id := next((ids_by_key[name] for name in [*page_keys, *map(fold, page_keys)] if name in ids_by_key), None):
        return f"/pages/{page_id}#{anchor}" if anchor else f"/pages/{page_id}"
    file_id = ids_by_key.get(f"file:{path_in_import}") or ids_by_key.get(fold(f"file:{path_in_import}"))
    return f"/files/{file_id}" if file_id else None


PDF_LINK_LIFETIME = timedelta(hours=1)
"""Time in which the link to a PDF works."""
_SECRET_NAME = "pdf secret"


@handle.register
def _export_pdf(op: pdf.Get, context: RequestContext) -> Json:
    if not has_extra("pdf"):
        raise Refusal(400, f"Could not export the PDF: {missing_extra_phrase('pdf')}")
    revision = get_revision_at(context, op.at)
    if op.only and op.page is None:
        raise Refusal(400, "page is required if only is set.")
    page = page_of(revision, op.page) if op.page else None
    space = context.store.get(f"/spaces/{op.at.space_id}")
    export = {"space": space["id"], "revision": revision["id"], "page": op.page, "only": bool(op.only)}
    export["until"] = (context.now() + PDF_LINK_LIFETIME).timestamp()
    payload = urlsafe_b64encode(json.dumps(export).encode()).decode().rstrip("=")
    name = page_trees.page_slug((page or space)["title"])
    return {"url": context.url(f"/~/pdf/{payload}/{_signature(context, payload)}/{name}.pdf")}


def pdf_maker(context: RequestContext, payload: str, signature: str) -> Callable[[], bytes]:
    """Return a function that creates the PDF of a signed link. Raises Refusal if the signature is wrong or the link has
    expired, and MissingResource if the space or revision is deleted."""
    if not hmac.compare_digest(_signature(context, payload).encode(), signature.encode()):
        raise Refusal(404, "There is no PDF at this link. Export the PDF again.")
    export = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    if export["until"] < context.now().timestamp():
        raise Refusal(404, "The link to this PDF has expired. Export the PDF again.")
    space = context.store.get(f"/spaces/{export['space']}")
    if space.get("deletedAt"):
        raise MissingResource(f"/spaces/{space['id']}")
    revision = get_revision(context, space["id"], export["revision"])
    pages: Pages = revision["pages"]
    if export["page"] is not None:
        page = page_trees.find_page(pages, export["page"]) or {}
        pages = [{**page, "pages": []} if export["only"] else page]
    documents = (page for page in page_trees.walk(pages) if page["type"] == "document")
    texts = {page["id"]: _text_to_print(context, page, revision) for page in documents}
    images = {file["id"]: file for file in revision["files"] if "dimensions" in file}
    image_readers = {file_id: partial(_read_blob, context, file["blob"]) for file_id, file in images.items()}
    index = page_trees.space_index_of_json(revision)
    return _pdf_book(space["title"], pages, texts, index, image_readers).to_bytes


def _text_to_print(context: RequestContext, page: Json, revision: Json) -> str:
    text = expand_includes(context.store, page_text(context, page), page, revision)
    variables = {"space": revision["variables"], "page": page.get("variables") or {}}
    return evaluate_text(text, variables, keeps_claims=True)


def _read_blob(context: RequestContext, digest: str) -> bytes:
    with context.store.lock:
        return context.store.blob(digest)


def _signature(context: RequestContext, payload: str) -> str:
    secret = context.store.setting(_SECRET_NAME) or _new_secret(context)
    return hmac.new(secret.encode(), payload.encode(), hashlib.sha256).hexdigest()


def _new_secret(context: RequestContext) -> str:
    with context.store.transaction():  # Another process may have created a secret meanwhile.
        secret = context.store.setting(_SECRET_NAME) or secrets.token_hex(32)
        context.store.set_setting(_SECRET_NAME, secret)
        return secret
