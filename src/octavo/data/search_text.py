"""Turns responses into search documents, splits pages into sections, and finds searched words. Does no I/O."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, cached_property, partial
from html import unescape
from typing import Any, Literal
from urllib.parse import unquote

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
    diagram_labels,
    encode_mention,
    end_after_mention,
    fold,
    fold_for_search,
    subword_starts,
    to_index_text,
)
from octavo.api.operation import ChangeRequestRef, Discussion, ListPage, Operation, SpaceRef
from octavo.documents.links import SPACED_IMAGE
from octavo.documents.suggestions import one_line_text

MAX_QUERY_LENGTH, MAX_TERMS = 512, 24
MAX_SECTION_LENGTH = 4000
"""Maximum number of characters of a section. Longer sections are split, because snippets of long texts are slow."""
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
        """FTS5 query that finds texts with every word. At least one word must be outside `DocumentText.context`."""
        terms = [_phrase(*term) for term in self.words]
        any_term = " OR ".join(f"({term})" for term in terms)
        return " AND ".join([*(f"({term})" for term in terms), f"({{title words parts}} : ({any_term}))"])

    @property
    def whole_expression(self) -> str:
        """FTS5 query that finds texts with the words next to each other."""
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
        """Return a snippet of about `length` characters or fewer in one line, and the ranges of the words in the
        snippet. The first word is near the beginning, because a narrow list cuts the snippet."""
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


# Pages

_FENCE = re.compile(r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t]){0,20}(`{3,}(?=[^`]*$)|~{3,})")
"""Start of a fenced code block, also in a list item or quote."""
_MERMAID = re.compile(r"[ \t]*mermaid(?:\s|$)", re.IGNORECASE)
_DIAGRAM = re.compile(r"[ \t]*\{%-?[ \t]*@mermaid/diagram\b(?:[ \t]+content=\"?)?")
_HEADING = re.compile(r" {0,3}(#{1,6}(?=[ \t]|$)|#{2,6}(?=[^#\s]))[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*$")
_LIST_OR_QUOTE = re.compile(r"[ \t]*(?:[-*+>|#]|\d{1,9}[.)])")
_MARKER = re.compile(r"^[ \t]*(?:(?:>[ \t]?)|(?:[-*+][ \t]+(?:\[[ xX]\][ \t]+)?)|(?:\d{1,9}[.)][ \t]+))+")
_TAG = re.compile(r"`[^`\n]{1,2000}`|\\[<{]|\{%(?:[^{}%\n]|%(?!\})|\{(?!%)|\}){0,2000}%\}|<[A-Za-z/!][^<>\n]{0,2000}>")
"""Matches a tag. Also matches code and an escaped sign, in which no tag begins."""
_TEXT_ATTRIBUTE = re.compile(r'\b(?:title|alt|summary|caption|description|path|(?<!<a )name|status)="([^"\n]{1,300})"')
_ANCHOR = re.compile(r'\bid="([^"\s]{1,200})"')
_LINK = re.compile(
    r"(!?)\[((?:[^\[\]\n]|\[[^\[\]\n]{0,500}\](?:\([^()\n]{0,1000}\))?){0,500})\]"
    r"\((?:<([^<>\n]{0,1000})>|([^()<>\s]{0,1000}(?:\([^()<>\s]{0,99}\)[^()<>\s]{0,99}){0,9}))"
    r"(?:[ \t]+\"([^\"\n]{0,300})\")?\)"
)
"""A link or image. Its text may contain brackets or images."""
_MENTION = re.compile(
    r"<a\s(?=[^<>\n]{0,1000}\bdata-mention)[^<>\n]{0,1000}\bhref=\"([^\"\n]{1,1000})\"[^<>\n]{0,1000}>[^<>\n]{0,500}</a>"
)
_INLINE_MARKUP = re.compile(r"\*{1,3}|`+|~~|\\(?=[!-/:-@\[-`{-~])")
_TABLE_DELIMITER_ROW = re.compile(r"[ \t|:-]+$")


def sections(markdown: str, title: str) -> Iterator[DocumentText]:
    """Yield the sections of a page. Long sections are split. Leading headings that repeat `title` are left out."""
    heading_path: list[tuple[int, str]] = []
    anchor, nth = "", 0
    heading_counts: Counter[str] = Counter()
    lines: list[str] = []
    length = 0

    def close() -> Iterator[DocumentText]:
        text = "\n".join(lines)
        if text or heading_path:
            headings = tuple(each for _, each in heading_path)
            yield DocumentText("section", text, headings[-1] if heading_path else "", title, headings, anchor, nth)
        lines.clear()

    for level, line in _lines(markdown[:MAX_PAGE_LETTERS]):
        text = _visible_text(line) if level >= 0 else safety.safe_text(line.strip())
        if level <= 0:
            if not text:
                continue
            if length + len(text) > MAX_SECTION_LENGTH and lines:
                yield from close()
                length = 0
            lines.append(text)
            length += len(text)
        elif text and (text != title.strip() or heading_path or heading_counts):
            if lines or heading_path:
                yield from close()
            length = 0
            heading_path = [each for each in heading_path if each[0] < level] + [(level, text[: safety.LINE_LIMIT])]
            anchor_match = _ANCHOR.search(line)
            anchor, nth = anchor_match[1] if anchor_match else "", heading_counts[fold(text)]
            heading_counts[fold(text)] += 1
    yield from close()


def _lines(markdown: str) -> Iterator[tuple[int, str]]:
    """Yield pairs of a kind and a line, without front matter. The kind is 1–6 for a heading of this level, 0 for text,
    and -1 for code, formulas and diagrams. The lines of a formula are joined."""
    lines = markdown.split("\n")
    start = 0
    if lines[0].rstrip() == "---":
        end = next((number for number, line in enumerate(lines[1:100], 1) if line.rstrip() == "---"), 0)
        start = end + 1 if end else 0
    fence = ""
    is_diagram = False
    possible_heading: str | None = None
    formula: list[str] = []
    for line in lines[start:]:
        fence_match = _FENCE.match(line)
        if fence:
            if fence == "$$":
                formula.append(line.strip())
                if fence in line:
                    yield -1, " ".join(formula)
                    fence, formula = "", []
            elif fence == "%}" and fence in line:
                fence, line = "", line.partition(fence)[0]
                yield -1, diagram_labels(line)
            elif fence_match and fence_match[1].startswith(fence) and not line[fence_match.end() :].strip():
                fence = ""
            else:
                yield -1, diagram_labels(line) if is_diagram else line
            continue
        if possible_heading is not None:
            if _UNDERLINE.match(line):
                yield 1 if "=" in line else 2, possible_heading
                possible_heading = None
                continue
            yield 0, possible_heading
            possible_heading = None
        if fence_match:
            fence, is_diagram = fence_match[1], _MERMAID.match(line, fence_match.end()) is not None
        elif diagram_match := _DIAGRAM.match(line):
            source, closes, _ = line[diagram_match.end() :].partition("%}")
            fence, is_diagram = "" if closes else "%}", True
            yield -1, " ".join(map(diagram_labels, source.replace("\\n", "\n").split("\n")))
        elif line.strip().startswith("$$") and line.count("$$") == 1:
            fence, formula = "$$", [line.strip()]
        elif heading_match := _HEADING.match(line):
            yield len(heading_match[1]), line[heading_match.end() :].rstrip().rstrip("#")
        elif not line.strip() or _LIST_OR_QUOTE.match(line):
            yield 0, line
        else:
            possible_heading = line  # the next line may make this line a heading
    yield from ((-1, line) for line in formula)
    if possible_heading is not None:
        yield 0, possible_heading


def _visible_text(line: str) -> str:
    if _TABLE_DELIMITER_ROW.match(line):
        return ""
    pieces = FORMULA.split(_MARKER.sub("", line))  # every second piece is a formula
    line = "".join(f"$${piece}$$" if at % 2 else _without_markup(piece) for at, piece in enumerate(pieces))
    # The text is sanitized after decoding, because character references may encode control characters.
    return safety.safe_text(" ".join((unescape(line) if "&" in line else line).split()))


def _without_markup(text: str) -> str:
    text = _LINK.sub(_link_text, re.sub(SPACED_IMAGE, r"\1", text, flags=re.IGNORECASE))
    text = _MENTION.sub(lambda match: f" {encode_mention(unescape(match[1]))} ", text)
    text = _TAG.sub(
        lambda tag: tag[0] if tag[0][0] in "`\\" else f" {' '.join(_TEXT_ATTRIBUTE.findall(tag[0]))} ", text
    )
    return _INLINE_MARKUP.sub("", text).replace("|", " ")


def _link_text(match: re.Match[str]) -> str:
    """Return the text of a link. For a mention or the bare URL of a page, return a placeholder for the page title."""
    is_picture, text, bracketed, plain, title = match.groups()
    url = bracketed or plain or ""
    path = unquote(url.partition("#")[0])
    is_own_url = ("/" in text or "." in text) and text in (url, path, path.rpartition("/")[2])
    if not is_picture and url and "://" not in url and (title == "mention" or is_own_url):
        return encode_mention(url)
    return _LINK.sub(_link_text, text)


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
    """Anchor that the author has given the last heading. Empty if there is none."""
    nth: int = 0
    """Number of headings on the page that come before the last heading in `path` and have the same text."""


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
    """Path of the page in the page tree, such as `guide/` if it has pages below it."""
    git_path: str = ""
    number: int = 0
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
    yield from sections(text, page.title)


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
