"""Converts responses to documents of the search index, and finds which documents no longer exist. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Literal

from octavo.api.bodies import document_text
from octavo.api.change_requests import ChangeRequest, ListOfOrganization
from octavo.api.change_requests import Get as GetChangeRequest
from octavo.api.change_requests import List as ListChangeRequests
from octavo.api.comments import Comment, Delete, DeleteReply, GetReply, ListReplies, Reply
from octavo.api.comments import Get as GetComment
from octavo.api.comments import List as ListComments
from octavo.api.content import GetPage, ListPages, Page, PageTree
from octavo.api.operation import ListPage, Operation
from octavo.api.places import ChangeRequestRef, Discussion, SpaceRef
from octavo.data.search_text import sections
from octavo.documents.suggestions import plain_text

Kind = Literal["page", "comment", "reply", "change request"]
Part = Literal["page", "section", "comment", "quote", "reply", "change request"]


@dataclass(frozen=True)
class DocumentText:
    """One searchable text of a document. A match in `context`, such as the page title or the author, ranks lower."""

    part: Part
    text: str
    title: str = ""
    context: str = ""
    path: tuple[str, ...] = ()
    anchor: str = ""
    nth: int = 0


@dataclass(frozen=True)
class SearchDocument:
    """An item that a search can find, with its location."""

    kind: Kind
    space: str
    id: str
    title: str = ""
    """Title of the page, or subject of the change request."""
    change_request: str = ""
    page: str = ""
    node: str = ""
    thread: str = ""
    author: str = ""
    about: str = ""
    """Description of a page, or status of a change request or thread."""
    path: str = ""
    """Path of a page in the page tree. It ends with a slash if there are pages below it."""
    file: str = ""
    """Path of the file of the page in a Git repository."""
    number: int = 0
    at: datetime | None = None
    """Time when the item was written or changed."""
    stamp: bytes = b""
    """Hash of the texts. Empty if only the title of a page is known."""
    read_texts: Callable[[], Iterable[DocumentText]] = field(default=tuple, compare=False)
    """Function that returns the texts. It is called only if the stamp has changed."""

    @property
    def key(self) -> str:
        """Return the key of the document in the index. Its parts are separated by U+001F, because ids may contain
        spaces."""
        thread = self.thread if self.kind == "reply" else ""
        return "\x1f".join((self.kind, self.space, self.change_request, thread, self.id))


@dataclass(frozen=True)
class Scope:
    """A condition for documents. A field that is None matches any document."""

    kind: Kind
    space: str
    change_request: str | None = None
    page: str | None = None
    thread: str | None = None
    id: str | None = None


@dataclass(frozen=True)
class IndexUpdate:
    """The documents of a response. `complete_scopes` are the scopes that the response lists completely: other documents
    in these scopes no longer exist."""

    documents: tuple[SearchDocument, ...] = ()
    complete_scopes: tuple[Scope, ...] = ()


def index_update(op: Operation[Any], value: Any) -> IndexUpdate:
    """Return the documents of the response `value` to `op`."""
    match op, value:
        case GetPage(at=SpaceRef() as at), Page():
            return IndexUpdate((_page_document(at, value),))
        case ListPages(at=SpaceRef() as at), PageTree():
            pages = tuple(_tree_page(at, each) for each in value.walk() if each.type == "document")
            return IndexUpdate(pages, () if value.unreadable else (Scope("page", at.space_id),))
        case ListComments(at=at), ListPage():
            is_complete = _is_complete(op, value) and op.status == "all" and op.authors is None
            scope = Scope("comment", at.space_id, _change_request(at), op.target_page)
            return IndexUpdate(
                tuple(_comment_document(at, item) for item in value.items), (scope,) if is_complete else ()
            )
        case GetComment(at=at), Comment():
            return IndexUpdate((_comment_document(at, value),))
        case ListReplies(at=at, comment_id=thread), ListPage():
            scope = Scope("reply", at.space_id, _change_request(at), None, thread)
            return IndexUpdate(
                tuple(_reply_document(at, thread, item) for item in value.items),
                (scope,) if _is_complete(op, value) else (),
            )
        case GetReply(at=at, comment_id=thread), Reply():
            return IndexUpdate((_reply_document(at, thread, value),))
        case ListChangeRequests(at=at), ListPage():
            return IndexUpdate(tuple(_change_request_document(at.space_id, item) for item in value.items))
        case ListOfOrganization(), ListPage():
            return IndexUpdate(tuple(_change_request_document(item.space, item) for item in value.items if item.space))
        case GetChangeRequest(at=at), ChangeRequest():
            return IndexUpdate((_change_request_document(at.space_id, value),))
    return IndexUpdate()


def removal_update(op: Operation[Any]) -> IndexUpdate:
    """Return the update that removes the documents of the target of `op`, which was deleted or not found."""
    return IndexUpdate(complete_scopes=_removed_scopes(op))


def _removed_scopes(op: Operation[Any]) -> tuple[Scope, ...]:
    match op:
        case GetPage(at=SpaceRef() as at, page_id=page):
            return (Scope("page", at.space_id, id=page),)
        case ListPages(at=SpaceRef() as at):
            return (Scope("page", at.space_id),)
        case ListComments(at=at):
            place = _change_request(at)
            return Scope("comment", at.space_id, place), Scope("reply", at.space_id, place)
        case GetComment(at=at, comment_id=thread) | Delete(at=at, comment_id=thread):
            place = _change_request(at)
            return Scope("comment", at.space_id, place, id=thread), Scope("reply", at.space_id, place, thread=thread)
        case ListReplies(at=at, comment_id=thread):
            return (Scope("reply", at.space_id, _change_request(at), thread=thread),)
        case (
            GetReply(at=at, comment_id=thread, comment_reply_id=reply)
            | DeleteReply(at=at, comment_id=thread, comment_reply_id=reply)
        ):
            return (Scope("reply", at.space_id, _change_request(at), thread=thread, id=reply),)
        case GetChangeRequest(at=at):
            return (Scope("change request", at.space_id, id=at.change_request_id),)
    return ()


def _is_complete(op: Any, value: ListPage[Any]) -> bool:
    return op.page is None and value.next is None and not value.unreadable


def _change_request(at: Discussion) -> str:
    return at.change_request_id if isinstance(at, ChangeRequestRef) else ""


def _stamp(*parts: object) -> bytes:
    return hashlib.blake2b(repr(parts).encode("utf-8", "replace"), digest_size=12).digest()


def _page_document(at: SpaceRef, page: Page) -> SearchDocument:
    text = page.markdown if page.markdown is not None else document_text(page.document)
    return SearchDocument(
        "page",
        at.space_id,
        page.id,
        page.title,
        page=page.id,
        about=page.description or "",
        path=_path(page),
        file=_file(page),
        at=page.updated_at,
        stamp=_stamp(page.title, page.description, text),
        read_texts=partial(_page_texts, page, text),
    )


def _path(page: Page) -> str:
    path = page.path or ""
    return f"{path}/" if page.pages else path


def _file(page: Page) -> str:
    return (page.git.path or "") if page.git is not None else ""


def _tree_page(at: SpaceRef, page: Page) -> SearchDocument:
    about = page.description or ""
    return SearchDocument(
        "page",
        at.space_id,
        page.id,
        page.title,
        page=page.id,
        about=about,
        path=_path(page),
        file=_file(page),
        at=page.updated_at,
        read_texts=lambda: (DocumentText("page", about, page.title),),
    )


def _page_texts(page: Page, text: str) -> Iterator[DocumentText]:
    yield DocumentText("page", page.description or "", page.title)
    for section in sections(text, page.title):
        title = section.path[-1] if section.path else ""
        yield DocumentText("section", section.text, title, page.title, section.path, section.anchor, section.nth)


def _comment_document(at: Discussion, comment: Comment) -> SearchDocument:
    target = comment.target
    page, block_text = target.page, target.node.preview if target.node is not None else None
    title = (page.title or page.path or "") if page is not None else ""
    context = f"{title} {comment.posted_by.name}"

    def read_texts() -> Iterator[DocumentText]:
        yield DocumentText("comment", plain_text(comment.body.text), context=context)
        if block_text:
            yield DocumentText("quote", block_text, context=context)

    return SearchDocument(
        "comment",
        at.space_id,
        comment.id,
        title,
        _change_request(at),
        page.id if page is not None else "",
        target.node.id if target.node is not None else "",
        comment.id,
        comment.posted_by.name,
        comment.status,
        at=comment.posted_at,
        stamp=_stamp(context, comment.body.text, block_text, comment.status),
        read_texts=read_texts,
    )


def _reply_document(at: Discussion, thread: str, reply: Reply) -> SearchDocument:
    name, text = reply.posted_by.name, reply.body.text
    return SearchDocument(
        "reply",
        at.space_id,
        reply.id,
        change_request=_change_request(at),
        thread=thread,
        author=name,
        at=reply.posted_at,
        stamp=_stamp(name, text),
        read_texts=lambda: (DocumentText("reply", plain_text(text), context=name),),
    )


def _change_request_document(space: str, change: ChangeRequest) -> SearchDocument:
    return SearchDocument(
        "change request",
        space,
        change.id,
        change.title,
        change_request=change.id,
        author=change.created_by.name if change.created_by else "",
        about=change.status,
        number=change.number,
        at=change.updated_at,
        stamp=_stamp(change.number, change.subject, change.description_text, change.status),
        read_texts=lambda: (
            DocumentText("change request", change.description_text, f"#{change.number} {change.title}"),
        ),
    )
