"""Turns responses into search documents, and finds searched words. Does no I/O."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, cached_property, partial
from typing import Any, Literal

from octavo.api import safety
from octavo.api.bodies import document_text
from octavo.api.change_requests import ChangeRequest, ListOfOrganization
from octavo.api.change_requests import Get as GetChangeRequest
from octavo.api.change_requests import List as ListChangeRequests
from octavo.api.comments import Comment, Delete, DeleteReply, GetReply, ListReplies, Reply
from octavo.api.comments import Get as GetComment
from octavo.api.comments import List as ListComments
from octavo.api.content import GetPage, ListPages, Page, PageTree
from octavo.api.folding import (
    FORMULA,
    PLAIN_LETTERS,
    SIGNED,
    FoldedText,
    Range,
    end_after_mention,
    fold,
    fold_for_search,
    subword_starts,
    to_index_text,
)
from octavo.api.operation import ChangeRequestRef, Discussion, ListPage, Operation, SpaceRef
from octavo.documents.suggestions import one_line_text
from octavo.lazy_import import lazy

_split_sections = lazy("octavo.documents.sections:split_sections")  # lazy: the parser, needed only for pages

MAX_QUERY_LENGTH, MAX_TERMS = 512, 24
MAX_PAGE_LETTERS = 400_000
_LETTERS_BEFORE_MATCH = 32
"""Number of characters before the first match in a snippet."""

_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+(?:{SIGNED})?")


class SearchTerms:
    """The words of a search. A text matches if it contains all of them. There is no query syntax."""

    def __init__(self, typed: str) -> None:
        words = fold_for_search(safety.safe_text(typed[:MAX_QUERY_LENGTH])).split()
        words = [word for word in words if any(map(str.isalnum, word))][:MAX_TERMS]
        self.words = tuple(
            (word, len(word) > 2 or not word.isascii() or (len(word) == 2 and index == len(words) - 1))
            for index, word in enumerate(words)
        )
        """Each word, and True if longer words that begin with this word match too."""

    def __bool__(self) -> bool:
        return bool(self.words)

    @property
    def expression(self) -> str:
        """FTS5 query for texts with all search words. At least one must be outside `DocumentText.context`."""
        terms = [_phrase(*term) for term in self.words]
        any_term = " OR ".join(f"({term})" for term in terms)
        return " AND ".join([*(f"({term})" for term in terms), f"({{title words parts}} : ({any_term}))"])

    @property
    def whole_expression(self) -> str:
        """FTS5 query that finds texts with all search words next to each other, in order."""
        return _phrase(" ".join(word for word, _ in self.words), self.words[-1][1])

    def ranges(self, text: str) -> tuple[Range, ...]:
        """Return where the words are in `text`, in order. Overlapping ranges are joined."""
        if not self.words:
            return ()
        folded = FoldedText(text)
        letters, indexes = _without_accents(folded.text)
        starts = set(subword_starts(text))
        matches: list[Range] = []
        for pattern, is_prefix in self._patterns:
            position = 0
            while match := pattern.search(letters, position):
                start, end = match.span()
                original = folded.original_range(indexes[start], indexes[end - 1] + 1)
                starts_word = original.start in starts or not _is_inside_word(letters, start)
                if starts_word and (is_prefix or original.end in starts or not _is_inside_word(letters, end)):
                    matches.append(original)
                    position = end
                else:
                    position = start + 1
        matches.sort()
        ranges: list[Range] = []
        for start, end in matches:
            if ranges and start < ranges[-1].end:
                ranges[-1] = Range(ranges[-1].start, max(end, ranges[-1].end))
            else:
                ranges.append(Range(start, end))
        return tuple(ranges)

    def excerpt(self, text: str, length: int) -> tuple[str, tuple[Range, ...]]:
        """Return a snippet of about `length` characters or fewer in one line, with many search terms, and the ranges of
        these terms in the snippet. One term is near the beginning, because a narrow list cuts the snippet."""
        text = " ".join(text.split())
        ranges = self.ranges(text)
        if len(text) <= length:
            return text, ranges
        first_match = 0
        if ranges:
            matched_terms = [_without_accents(fold(text[each.start : each.end]))[0] for each in ranges]
            max_term_count = 0
            for index, each in enumerate(ranges):
                terms_inside = {
                    matched_terms[other]
                    for other in range(index, min(index + 40, len(ranges)))
                    if other == index or ranges[other].end - each.start <= length - _LETTERS_BEFORE_MATCH
                }
                if len(terms_inside) > max_term_count:
                    max_term_count, first_match = len(terms_inside), each.start
        start = max(0, min(first_match - _LETTERS_BEFORE_MATCH, len(text) - length // 3))
        if start:  # start at the beginning of a word, if possible
            space = text.find(" ", start, first_match)
            start = space + 1 if space >= 0 else start
        formulas = [Range(*found.span()) for found in FORMULA.finditer(text)]
        start = next((each.start for each in formulas if each.start < start < each.end), start)
        end = end_after_mention(text, min(len(text), start + length))
        end = next((each.end for each in formulas if each.start < end < each.end), end)
        head, tail = "…" if start else "", "…" if end < len(text) else ""
        shift = len(head) - start
        return f"{head}{text[start:end]}{tail}", tuple(
            Range(each.start + shift, min(each.end, end) + shift) for each in ranges if start <= each.start < end
        )

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], bool]]:
        """A pattern for each word, and True if longer words that begin with this word match too."""
        token_lists = ((_TOKEN.findall(_without_accents(word)[0]), is_prefix) for word, is_prefix in self.words)
        return [
            (re.compile(r"[\W_]*".join(map(re.escape, tokens))), is_prefix)
            for tokens, is_prefix in token_lists
            if tokens
        ]


_IN_WORD = re.compile(rf"(?<=[^\W_{_CJK}])(?=[^\W_{_CJK}])")


def _is_inside_word(text: str, position: int) -> bool:
    return _IN_WORD.match(text, position) is not None


def _phrase(word: str, is_prefix: bool) -> str:
    quoted = '"' + to_index_text(word).replace('"', '""') + '"'
    return f"{quoted} OR {quoted}*" if is_prefix else quoted


@cache
def _plain_letters(letter: str) -> str:
    """Return a letter without accents, as the index has it: `é` -> `e`, `æ` -> `ae`."""
    base_letters = "".join(part for part in unicodedata.normalize("NFD", letter) if not "\u0300" <= part <= "\u036f")
    return (unicodedata.normalize("NFC", base_letters) or letter).translate(PLAIN_LETTERS)


def _without_accents(folded: str) -> tuple[str, Sequence[int]]:
    """Return a text without accents, and for each of its characters the index in the original text."""
    if folded.isascii():
        return folded, range(len(folded))
    letters: list[str] = []
    indexes: list[int] = []
    for index, letter in enumerate(folded):
        for part in _plain_letters(letter):
            letters.append(part)
            indexes.append(index)
    return "".join(letters), indexes


Kind = Literal["page", "comment", "reply", "change request"]
TextKind = Literal["page", "section", "comment", "quote", "reply", "change request"]


@dataclass(frozen=True)
class DocumentText:
    """A text of a search document. Matches in `context`, such as the page title or the author, rank lower."""

    text_kind: TextKind
    text: str
    title: str = ""
    context: str = ""
    path: tuple[str, ...] = ()
    """Headings above the text, the outermost first. Empty for text before the first heading."""
    anchor: str = ""
    """Anchor of the last heading in `path`."""


@dataclass(frozen=True)
class SearchDocument:
    """A page, comment, reply or change request that a search can find."""

    kind: Kind
    space_id: str
    id: str
    title: str = ""
    """Title of the page, or subject of the change request."""
    change_request_id: str = ""
    page_id: str = ""
    block_key: str = ""
    thread_id: str = ""
    author: str = ""
    about: str = ""
    """Description of the page, or status of the change request or thread. May be empty."""
    path: str = ""
    """Path of the page in the page tree. Ends with `/` if the page has pages below it. May be empty."""
    git_path: str = ""
    number: int = 0
    """Number of the change request. 0 for other kinds of documents."""
    changed_at: datetime | None = None
    """When the page or change request was changed last, or when the comment or reply was posted. None if unknown."""
    text_hash: bytes = b""
    """Hash of the texts, to see whether they have changed. Empty if only the title of a page is loaded."""
    read_texts: Callable[[], Iterable[DocumentText]] = field(default=tuple, compare=False)
    """Returns the texts. Called only if the document has changed."""

    @property
    def key(self) -> str:
        """Key of the document in the index. Its parts are separated by the character U+001F."""
        thread = self.thread_id if self.kind == "reply" else ""
        return "\x1f".join((self.kind, self.space_id, self.change_request_id, thread, self.id))


@dataclass(frozen=True)
class Scope:
    """A set of search documents. An attribute that is None allows all values."""

    kind: Kind
    space_id: str
    change_request_id: str | None = None
    page_id: str | None = None
    thread_id: str | None = None
    id: str | None = None


@dataclass(frozen=True)
class IndexUpdate:
    """Changes of the index after a response: adds `documents`, and removes all other documents in `complete_scopes`."""

    documents: tuple[SearchDocument, ...] = ()
    complete_scopes: tuple[Scope, ...] = ()


def index_update(op: Operation[Any], value: Any) -> IndexUpdate:
    """Return the update of the index for the response `value` to `op`. Empty if such responses are not indexed."""
    match op, value:
        case GetPage(at=SpaceRef() as at), Page():
            return IndexUpdate((_page_document(at, value),))
        case ListPages(at=SpaceRef() as at), PageTree():
            pages = tuple(_tree_page(at, each) for each in value.walk() if each.type == "document")
            return IndexUpdate(pages, () if value.unreadable else (Scope("page", at.space_id),))
        case ListComments(at=at), ListPage():
            is_complete = _is_complete(op, value) and op.status == "all" and op.authors is None
            scope = Scope("comment", at.space_id, _change_request_id(at), op.target_page)
            return IndexUpdate(
                tuple(_comment_document(at, item) for item in value.items), (scope,) if is_complete else ()
            )
        case GetComment(at=at), Comment():
            return IndexUpdate((_comment_document(at, value),))
        case ListReplies(at=at, comment_id=thread), ListPage():
            scope = Scope("reply", at.space_id, _change_request_id(at), None, thread)
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
    """Return the update that removes the target of `op` from the index."""
    return IndexUpdate(complete_scopes=_removed_scopes(op))


def _removed_scopes(op: Operation[Any]) -> tuple[Scope, ...]:
    match op:
        case GetPage(at=SpaceRef() as at, page_id=page):
            return (Scope("page", at.space_id, id=page),)
        case ListPages(at=SpaceRef() as at):
            return (Scope("page", at.space_id),)
        case ListComments(at=at):
            change_request = _change_request_id(at)
            return Scope("comment", at.space_id, change_request), Scope("reply", at.space_id, change_request)
        case GetComment(at=at, comment_id=thread) | Delete(at=at, comment_id=thread):
            change_request = _change_request_id(at)
            return Scope("comment", at.space_id, change_request, id=thread), Scope(
                "reply", at.space_id, change_request, thread_id=thread
            )
        case ListReplies(at=at, comment_id=thread):
            return (Scope("reply", at.space_id, _change_request_id(at), thread_id=thread),)
        case (
            GetReply(at=at, comment_id=thread, comment_reply_id=reply)
            | DeleteReply(at=at, comment_id=thread, comment_reply_id=reply)
        ):
            return (Scope("reply", at.space_id, _change_request_id(at), thread_id=thread, id=reply),)
        case GetChangeRequest(at=at):
            return (Scope("change request", at.space_id, id=at.change_request_id),)
    return ()


def _is_complete(op: Any, value: ListPage[Any]) -> bool:
    return op.page is None and value.next is None and not value.unreadable


def _change_request_id(at: Discussion) -> str:
    return at.change_request_id if isinstance(at, ChangeRequestRef) else ""


def _hash_texts(*parts: object) -> bytes:
    return hashlib.blake2b(repr(parts).encode("utf-8", "replace"), digest_size=12).digest()


def _page_document(at: SpaceRef, page: Page) -> SearchDocument:
    text = page.markdown if page.markdown is not None else document_text(page.document)
    text_hash, read_texts = _hash_texts(page.title, page.description, text), partial(_page_texts, page, text)
    return replace(_tree_page(at, page), text_hash=text_hash, read_texts=read_texts)


def _tree_page(at: SpaceRef, page: Page) -> SearchDocument:
    description = page.description or ""
    return SearchDocument(
        "page",
        at.space_id,
        page.id,
        page.title,
        page_id=page.id,
        about=description,
        path=f"{page.path or ''}/" if page.pages else page.path or "",
        git_path=(page.git.path or "") if page.git is not None else "",
        changed_at=page.updated_at,
        read_texts=lambda: (DocumentText("page", description, page.title),),
    )


def _page_texts(page: Page, text: str) -> Iterator[DocumentText]:
    yield DocumentText("page", page.description or "", page.title)
    for section in _split_sections(text[:MAX_PAGE_LETTERS], page.title):
        headings = tuple(each[: safety.LINE_LIMIT] for each in section.headings)
        if section.text or headings:
            yield DocumentText(
                "section", section.text, headings[-1] if headings else "", page.title, headings, section.anchor
            )


def _comment_document(at: Discussion, comment: Comment) -> SearchDocument:
    target = comment.target
    page, block_text = target.page, target.node.preview if target.node is not None else None
    title = (page.title or page.path or "") if page is not None else ""
    context = f"{title} {comment.posted_by.name}"

    def read_texts() -> Iterator[DocumentText]:
        yield DocumentText("comment", one_line_text(comment.body.text), context=context)
        if block_text:
            yield DocumentText("quote", block_text, context=context)

    return SearchDocument(
        "comment",
        at.space_id,
        comment.id,
        title,
        _change_request_id(at),
        page.id if page is not None else "",
        target.node.id if target.node is not None else "",
        comment.id,
        comment.posted_by.name,
        comment.status,
        changed_at=comment.posted_at,
        text_hash=_hash_texts(context, comment.body.text, block_text, comment.status),
        read_texts=read_texts,
    )


def _reply_document(at: Discussion, thread_id: str, reply: Reply) -> SearchDocument:
    name, text = reply.posted_by.name, reply.body.text
    return SearchDocument(
        "reply",
        at.space_id,
        reply.id,
        change_request_id=_change_request_id(at),
        thread_id=thread_id,
        author=name,
        changed_at=reply.posted_at,
        text_hash=_hash_texts(name, text),
        read_texts=lambda: (DocumentText("reply", one_line_text(text), context=name),),
    )


def _change_request_document(space_id: str, change: ChangeRequest) -> SearchDocument:
    return SearchDocument(
        "change request",
        space_id,
        change.id,
        change.title,
        change_request_id=change.id,
        author=change.author_name,
        about=change.status,
        number=change.number,
        changed_at=change.updated_at,
        text_hash=_hash_texts(change.number, change.subject, change.description_text, change.status),
        read_texts=lambda: (
            DocumentText("change request", change.description_text, f"#{change.number} {change.title}"),
        ),
    )
