"""Prepares the texts of pages for readers: inserts reusable content, and evaluates expressions and conditions. Also
indexes pages for full-text search.

Start at `expand_includes` and `evaluate_text`.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import unquote

from octavo.api.folding import fold, to_index_text
from octavo.documents import page_trees
from octavo.documents.blocks import line_starts
from octavo.documents.folders.folder import CODE_SPAN, rewrite_links
from octavo.documents.sections import split_sections
from octavo.documents.site_rules import UNDEFINED, UNKNOWN, evaluate_expression
from octavo.documents.source_reader import FENCED, parse
from octavo.documents.tag_blocks import Tag, TagScanner
from octavo.server.rest import RequestContext
from octavo.server.store import Json, Section, Store

_CODE = re.compile(f"{FENCED.pattern}|{CODE_SPAN.pattern}", re.MULTILINE)
_CODE_OR_EXPRESSION = re.compile(
    rf'{FENCED.pattern}|<code class="expression">(?P<expression>[^<]{{1,1000}})</code>', re.MULTILINE
)
_MARKDOWN_SIGNS = re.compile(r"[\\`*_\[\]{}|#~$:]")
_CONDITION_DEPTH_LIMIT = 40
INCLUDE_DEPTH_LIMIT = 4
"""Maximum depth of nested includes."""
_LENGTH_LIMIT = 1 << 20
"""Maximum number of characters that includes add to a page, all together."""
_COST_OF_INCLUDE = 256
"""Each include counts as this many characters more, so that many short includes also reach `_LENGTH_LIMIT`."""
_DEFAULT_FOLDER = ".gitbook/includes"
"""Folder to which links are relative in reusable content without a file."""
_ABSOLUTE_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/#]")


def expand_includes(store: Store, text: str, page: Json, revision: Json) -> str:
    """Return `text` with the reusable content after each include tag. A tag for empty content is removed. If the
    content is missing or exceeds a limit, nothing is inserted."""
    if "include" not in text or not revision["reusableContents"]:
        return text
    budget = [_LENGTH_LIMIT]
    return _expand(store, text, posixpath.dirname(page_trees.source_path(page)), revision, (), budget)


def _expand(store: Store, text: str, folder: str, revision: Json, outer_ids: tuple[str, ...], budget: list[int]) -> str:
    parts, position = [], 0
    for start, tag in _include_tags(text):
        item = find_reusable(revision, _reference_in(tag), folder)
        body = _included_text(store, item, folder, revision, outer_ids, budget) if item is not None else None
        if body is None and not outer_ids:
            continue  # Inside another include, even a tag without content gets an end tag. It would use the outer one.
        # The content gets the indentation or `>` of its list item or quote.
        line = text[text.rfind("\n", 0, start) + 1 : start]
        line_prefix = re.sub(r"[^\s>]", " ", line)
        expanded = "\n\n".join([text[start : tag.end], *([body] if body else []), "{% endinclude %}"])
        parts += [text[position:start], "" if body == "" else expanded.replace("\n", f"\n{line_prefix}")]
        position = tag.end
    return "".join([*parts, text[position:]])


def include_by_id(text: str, folder: str, content: Json) -> str:
    """Return `text` with IDs in its include tags instead of paths relative to `folder`. Unknown paths stay."""
    if "include" not in text or not content["reusableContents"]:
        return text
    parts, position = [], 0
    for start, tag in _include_tags(text):
        if (item := find_reusable(content, _reference_in(tag), folder)) is not None:
            parts += [text[position:start], f'{{% include "{item["id"]}" %}}']
            position = tag.end
    return "".join([*parts, text[position:]])


def _reference_in(tag: Tag) -> str:
    references = (*tag.words, *(tag.arguments[key] for key in ("src", "file", "url") if key in tag.arguments))
    return next(filter(None, references), "")


def _included_text(
    store: Store, item: Json, folder: str, revision: Json, outer_ids: tuple[str, ...], budget: list[int]
) -> str | None:
    """Return the text to insert for `item`, with links relative to `folder`. None if a limit is exceeded, or if `item`
    includes itself. `outer_ids` are the IDs of the items that include `item`. Subtract the length and a fixed cost from
    `budget[0]`, the number of characters that are still allowed."""
    if item["id"] in outer_ids or len(outer_ids) >= INCLUDE_DEPTH_LIMIT or budget[0] <= 0:
        return None
    if not item.get("text"):
        return ""
    budget[0] -= _COST_OF_INCLUDE  # Many nested includes are slow even without text.
    own_folder = posixpath.dirname(page_trees.source_path(item) or f"{_DEFAULT_FOLDER}/{item['id']}")
    text = store.text(item["text"]).strip("\n")
    body = rewrite_links(
        _expand(store, text, own_folder, revision, (*outer_ids, item["id"]), budget),
        lambda each: _relocate_url(each, own_folder, folder),
    )
    if len(body) > budget[0]:
        return None
    budget[0] -= len(body)
    return body


@lru_cache(maxsize=64)
def _include_tags(text: str) -> tuple[tuple[int, Tag], ...]:
    """Return the include tags outside code, each with its position in the text."""
    scanner, tags, starts = TagScanner(text), dict[int, Tag](), line_starts(text)
    for block in parse(text).walk():
        if block.kind != "include":
            continue
        first, last = starts[block.lines[0]], starts[block.lines[1]] if block.lines[1] < len(starts) else len(text)
        for match in re.finditer(r"\{%", text[first:last]):
            tag = scanner.tag_at(first + match.start())
            if tag is not None and tag.name == "include":
                tags[first + match.start()] = tag
    return tuple(sorted(tags.items()))


def _relocate_url(address: str, own_folder: str, folder: str) -> str | None:
    """Convert a link relative to `own_folder` to a link relative to `folder`. None if the link is absolute."""
    if _ABSOLUTE_URL.match(address):
        return None
    path = posixpath.normpath(posixpath.join(own_folder, address))
    return posixpath.relpath(path, folder or ".")


def find_reusable(revision: Json, reference: str, folder: str = "") -> Json | None:
    """Return the reusable content that an include tag names by ID, title, or path from `folder`. None if missing."""
    stem = reference.rstrip("/").rpartition("/")[2].removesuffix(".md")
    items: list[Json] = revision["reusableContents"]
    path = posixpath.normpath(posixpath.join(folder, unquote(reference))).lstrip("/")
    with_path = (item for item in items if (item.get("git") or {}).get("path") == path)
    with_id = (item for item in items if item["id"] in (reference, stem))
    with_similar_path = (item for item in items if fold((item.get("git") or {}).get("path") or "") == fold(path))
    with_title = (item for item in items if page_trees.page_slug(item["title"]) == page_trees.page_slug(stem))
    return next(with_path, None) or next(with_id, None) or next(with_similar_path, None) or next(with_title, None)


@dataclass
class _Branch:
    opening: str
    expression: str | None
    parts_inside: list[str | _If] = field(default_factory=list)


@dataclass
class _If:
    branches: list[_Branch]
    closing: str = ""


def evaluate_text(text: str, variables: Mapping[str, Mapping[str, Any]], *, keeps_claims: bool) -> str:
    """Return `text` with expressions and conditions replaced by their results. If a value is unknown, the tags stay.
    `variables` has a mapping for `space` and for `page`. With `keeps_claims`, conditions on visitor claims stay too."""
    if "{%" in text and re.search(r"\{%-?\s*if\b", text):
        text = _render_conditions(_parse_conditions(text), variables, keeps_claims)
    if "expression" not in text:
        return text
    return _CODE_OR_EXPRESSION.sub(lambda match: _expression_value(match, variables), text)


def _expression_value(match: re.Match[str], variables: Mapping[str, Mapping[str, Any]]) -> str:
    is_code = match["expression"] is None
    value = UNKNOWN if is_code else evaluate(html.unescape(match["expression"]), variables, keeps_claims=True)
    if not isinstance(value, str | int | float):
        return match[0]
    text = str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())
    return _MARKDOWN_SIGNS.sub(lambda sign: f"&#{ord(sign[0])};", html.escape(text, quote=False))


def _parse_conditions(text: str) -> list[str | _If]:
    """Return a text, split into plain text and conditions. A tag without its counterpart is plain text."""
    scanner, code_ranges = TagScanner(text), [code.span() for code in _CODE.finditer(text)]
    all_parts: list[str | _If] = []
    open_conditions: list[tuple[_If, list[str | _If]]] = []
    target, position = all_parts, 0
    for start, tag in _condition_tags(text, scanner, code_ranges):
        target.append(text[position:start])
        position, tag_text = tag.end, text[start : tag.end]
        if tag.name == "if" and len(open_conditions) < _CONDITION_DEPTH_LIMIT:
            condition = _If([_Branch(tag_text, tag.arguments.get("expression"))])
            open_conditions.append((condition, target))
            target = condition.branches[0].parts_inside
        elif tag.name in ("else", "elseif", "elif") and open_conditions:
            expression = tag.arguments.get("expression") if tag.name != "else" else "true"
            open_conditions[-1][0].branches.append(_Branch(tag_text, expression))
            target = open_conditions[-1][0].branches[-1].parts_inside
        elif tag.name == "endif" and open_conditions:
            finished_condition, target = open_conditions.pop()
            finished_condition.closing = tag_text
            target.append(finished_condition)
        else:
            target.append(tag_text)
    target.append(text[position:])
    while open_conditions:
        unclosed_condition, target = open_conditions.pop()
        for branch in unclosed_condition.branches:
            target += [branch.opening, *branch.parts_inside]
    return all_parts


def _condition_tags(text: str, scanner: TagScanner, code: Sequence[tuple[int, int]]) -> Iterator[tuple[int, Tag]]:
    index = 0
    for match in re.finditer(r"(?<!\\)\{%", text):
        while index < len(code) and code[index][1] <= match.start():
            index += 1
        is_code = index < len(code) and code[index][0] <= match.start()
        tag = None if is_code else scanner.tag_at(match.start())
        if tag is not None and tag.name in ("if", "else", "elseif", "elif", "endif"):
            yield match.start(), tag


def _render_conditions(
    parts: Sequence[str | _If], variables: Mapping[str, Mapping[str, Any]], keeps_claims: bool
) -> str:
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        values = [evaluate(each.expression or "", variables, keeps_claims=keeps_claims) for each in part.branches]
        position = next((index for index, value in enumerate(values) if value is UNKNOWN or value), None)
        if position is None:
            continue
        if values[position] is UNKNOWN:
            for branch in part.branches:
                texts += [branch.opening, _render_conditions(branch.parts_inside, variables, keeps_claims)]
            texts.append(part.closing)
        else:
            texts.append(_render_conditions(part.branches[position].parts_inside, variables, keeps_claims).strip("\n"))
    return "".join(texts)


def evaluate(expression: str, variables: Mapping[str, Mapping[str, Any]], *, keeps_claims: bool) -> Any:
    """Return the value of an expression. UNKNOWN if the expression is invalid, or if it has an unknown name. Visitor
    claims are UNKNOWN if `keeps_claims`, else UNDEFINED."""
    names = {namespace: {"vars": values} for namespace, values in variables.items()}
    return evaluate_expression(expression, {**names, "visitor": UNKNOWN if keeps_claims else UNDEFINED})


PAGES_PER_BATCH = 20
"""Number of pages that are indexed in one transaction. The platform handles requests between two transactions."""


def reindex(context: RequestContext, space_id: str, old_revision: Json | None, new_revision: Json) -> None:
    """Index the differences between two revisions of a space. `old_revision` is None if the space was never indexed."""
    for _ in _index_changed_pages(context, space_id, old_revision, new_revision):
        pass


def mark_for_reindexing(context: RequestContext, space_id: str, old_revision: Json | None) -> None:
    """Mark a space for `finish_reindexing`, if it has no mark. `old_revision` is the indexed revision, or None."""
    path = f"/spaces/{space_id}/unindexed"
    if context.store.find(path) is None:
        context.store.put(path, {"id": "unindexed", "since": old_revision["id"] if old_revision is not None else ""})


def finish_reindexing(context: RequestContext, space_id: str, on_progress: Callable[[int, int], bool]) -> None:
    """Update the search index of a space, if `mark_for_reindexing` marked it. `on_progress` gets the number of indexed
    pages and of all pages. If `on_progress` returns False, indexing stops."""
    path = f"/spaces/{space_id}/unindexed"
    while (record := context.store.find(path)) is not None:
        space = context.store.get(f"/spaces/{space_id}")
        old_revision, new_revision = (
            context.store.find(f"/spaces/{space_id}/revisions/{each}") for each in (record["since"], space["revision"])
        )
        assert new_revision is not None, "a space with content must have a revision"
        page_ids = _index_changed_pages(context, space_id, old_revision, new_revision)
        page_count, indexed_count = len(_searchable_fields(new_revision)), 0
        is_finished = False
        while not is_finished:
            with context.store.transaction():
                if context.store.get(f"/spaces/{space_id}")["revision"] != new_revision["id"]:
                    break  # A new main revision exists, so indexing starts again.
                indexed_count += len(list(islice(page_ids, PAGES_PER_BATCH)))
                if is_finished := next(page_ids, None) is None:
                    context.store.delete(path)
                indexed_count += not is_finished
            if not on_progress(min(indexed_count, page_count), page_count):
                return


def _index_changed_pages(context: RequestContext, space_id: str, old: Json | None, new: Json) -> Iterator[str]:
    """Update the search index from the revision `old` (None for none) to `new`. Yield the ID of each indexed page."""
    old_fields, new_fields = _searchable_fields(old), _searchable_fields(new)
    has_reusable_changes = old is None or old["reusableContents"] != new["reusableContents"]
    pages = {page["id"]: page for page in page_trees.walk(new["pages"])}
    for page_id in old_fields.keys() - new_fields.keys():
        context.store.unindex(space_id, page_id)
    for page_id, fields in new_fields.items():
        if (has_changed := old_fields.get(page_id) != fields) or has_reusable_changes:
            text_hash, title, description = fields
            text = context.store.text(text_hash) if text_hash else ""
            if not has_changed and "include" not in text:
                continue
            expanded_text = expand_includes(context.store, text, pages[page_id], new)
            sections = searchable_sections(expanded_text, title, description)
            context.store.index(
                space_id,
                page_id,
                [(anchor, to_index_text(head), to_index_text(body)) for anchor, head, body in sections],
            )
            yield page_id


def _searchable_fields(revision: Json | None) -> dict[str, tuple[str, str, str]]:
    """Return the fields in the search index by page ID: the hash of the text, the title and the description."""
    pages = page_trees.walk(revision["pages"]) if revision else ()
    return {
        page["id"]: (page.get("text", ""), page["title"], page.get("description") or "")
        for page in pages
        if page["type"] == "document"
    }


def searchable_sections(markdown: str, title: str, description: str) -> Iterator[Section]:
    """Yield the sections of a page. The first has the page title and no anchor, and starts with `description`."""
    sections = split_sections(markdown, title)
    yield "", title, "\n".join(filter(None, (description, next(sections).text)))
    for each in sections:
        yield each.anchor, each.headings[-1] if each.headings else title, each.text
