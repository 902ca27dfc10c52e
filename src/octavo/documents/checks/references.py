"""Checks the links, anchors, files, images and includes of pages against the other pages and files. Also checks the
table of contents and the redirects of a folder. Finally, selects the findings on words that a change request added."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import unescape
from typing import NamedTuple
from urllib.parse import unquote

from octavo.api.folding import fold
from octavo.documents.anchors import PageAnchors, is_missing_anchor
from octavo.documents.blocks import Document
from octavo.documents.checks.findings import (
    CheckedPage,
    FileRange,
    Finding,
    RuleChoice,
    new_finding,
    read_page,
    sorted_findings,
)
from octavo.documents.folders.folder import PAGE_SUFFIXES
from octavo.documents.links import (
    INDEX_NAME,
    AnchorLink,
    BrokenLink,
    PageLink,
    PageReference,
    SpaceIndex,
    UrlLink,
    UrlUse,
    ids_by_path,
    resolve,
)
from octavo.documents.linters.placement import AddedRanges, suggested_block
from octavo.documents.page_trees import escape_markdown
from octavo.documents.sequences import closest_name
from octavo.documents.site_rules import follow_redirects
from octavo.documents.suggestions import suggestion_fence
from octavo.documents.yaml_values import YamlError, parse_yaml

_MIN_ANCHOR_SIMILARITY = 80
"""Minimum similarity, from 0 to 100, of a missing anchor and the anchor that is suggested instead."""
_MIN_PATH_SIMILARITY = 90
"""Minimum similarity, from 0 to 100, of a missing path and the path that is suggested instead."""
_MAX_INCLUDES = 100
"""Maximum number of pieces of reusable content on a page that are searched for anchors."""
_NOUNS: Mapping[str, str] = {"link": "page", "image": "image", "file": "file"}


class _Problem(NamedTuple):
    """A problem of a reference to a page or file. `suggestion` is a URL to use instead, or None."""

    rule: str
    message: str
    suggestion: str | None = None


@dataclass(frozen=True)
class ReferenceCheck:
    """Checks whether the pages, anchors and files to which pages refer exist."""

    index: SpaceIndex
    pages: Mapping[str, CheckedPage]
    """The pages whose anchors are checked, by their ID in `index`."""
    includes: Mapping[str, CheckedPage] | None = None
    """Reusable content by path. None if the paths are unknown: includes are then not checked."""
    paths_outside_root: Collection[str] = frozenset()
    """Paths of files and folders outside the root of the pages."""
    page_paths: Collection[str] | None = None
    """Paths of all pages, to suggest a similar path. None to use the paths of `pages`."""
    _anchors: dict[str, list[PageAnchors]] = field(default_factory=dict, compare=False, repr=False)

    def findings(self, page: CheckedPage) -> Iterator[Finding]:
        """Yield the findings for the references of a page."""
        finder = None
        reported_ranges: set[tuple[int, int]] = set()
        for reference in page.references:
            problem = self._problem(page, reference)
            if problem is None:
                continue
            finder = finder or page.location_finder()
            ranges = finder.find_url(reference.target, reference.lines)
            for start, end in ranges or [finder.line_range(reference.lines[0])]:
                if (start, end) in reported_ranges:
                    continue
                reported_ranges.add((start, end))
                location = finder.location(start, end)
                yield replace(
                    new_finding(problem.rule, problem.message, page.path, location, block_key=reference.block_key),
                    words=page.source[start:end] if ranges else reference.target,
                    suggestion=problem.suggestion if ranges else None,
                )

    def linked_pages(self, page: CheckedPage) -> Iterator[str]:
        """Yield the IDs of the pages to which a page links with an anchor."""
        for reference in page.references:
            target = resolve(reference.target, page.link_base, self.index) if reference.kind == "url" else None
            if isinstance(target, PageLink) and target.anchor:
                yield target.page_id

    def external_urls(self, page: CheckedPage) -> Iterator[str]:
        """Yield the URLs of websites to which a page links, without fragments."""
        for reference in page.references:
            if (url := self._external_url(page, reference)) is not None:
                yield url

    def external_findings(self, page: CheckedPage, reasons_by_url: Mapping[str, str]) -> Iterator[Finding]:
        """Yield a finding per broken link to a website. `reasons_by_url` has the reason by URL without fragment."""
        finder = page.location_finder()
        for reference in page.references:
            url = self._external_url(page, reference)
            if url is not None and (reason := reasons_by_url.get(url)):
                for start, end in finder.find_url(reference.target, reference.lines)[:1]:
                    words, location = page.source[start:end], finder.location(start, end)
                    key = reference.block_key
                    yield new_finding("external-link", reason, page.path, location, block_key=key, words=words)

    def _external_url(self, page: CheckedPage, reference: PageReference) -> str | None:
        target = resolve(reference.target, page.link_base, self.index) if reference.kind == "url" else None
        if isinstance(target, UrlLink) and not target.url.startswith("mailto:"):
            return target.url.partition("#")[0]
        return None

    def _problem(self, page: CheckedPage, reference: PageReference) -> _Problem | None:
        if reference.kind == "spec":
            return None
        if reference.kind == "include":
            return self._include_problem(page, reference.target)
        match resolve(reference.target, page.link_base, self.index):
            case PageLink(page_id=linked, anchor=anchor):
                linked_page = self.pages.get(linked) if anchor else None
                return self._anchor_problem(page, reference.target, linked_page, anchor or "")
            case AnchorLink(anchor=anchor) if page.path not in (self.includes or ()):
                return self._anchor_problem(page, reference.target, page, anchor)
            case BrokenLink(path=path) if path:
                return self._missing_target_problem(page, reference, path)
            case BrokenLink(reason=reason):
                return _Problem("link", f"{reason[:1].lower()}{reason[1:].removesuffix('.')}")
        return None

    def _anchor_problem(self, page: CheckedPage, url: str, target: CheckedPage | None, anchor: str) -> _Problem | None:
        if not anchor or target is None or (self.includes is None and target.has_unread_includes):
            return None
        contents = self._anchors_of(target)
        if not is_missing_anchor(anchor, contents):
            return None
        where = "on this page" if target is page else f"in {_relative_path(target.path, page.path)}"
        message = f"no heading “#{anchor}” {where}"
        names = [name for content in contents for name in content.names if len(name) > 2]
        similar_anchor = closest_name(anchor, names, _MIN_ANCHOR_SIMILARITY, ignores_word_order=True)
        if similar_anchor is None:
            return _Problem("anchor", message)
        return _Problem(
            "anchor", f"{message}. Did you mean #{similar_anchor}?", f"{url.partition('#')[0]}#{similar_anchor}"
        )

    def _anchors_of(self, page: CheckedPage) -> list[PageAnchors]:
        if page.path not in self._anchors:
            all_anchors, waiting_pages, seen_paths = [page.anchors], [page], {page.path}
            while waiting_pages and len(seen_paths) <= _MAX_INCLUDES:
                content = waiting_pages.pop()
                for reference in content.references:
                    included_page = (
                        self._included_content(content, reference.target) if reference.kind == "include" else None
                    )
                    if included_page is not None and included_page.path not in seen_paths:
                        seen_paths.add(included_page.path)
                        waiting_pages.append(included_page)
                        all_anchors.append(included_page.anchors)
            self._anchors[page.path] = all_anchors
        return self._anchors[page.path]

    def _included_content(self, page: CheckedPage, target: str) -> CheckedPage | None:
        includes = self.includes or {}
        path = unquote(target)
        full_path = posixpath.normpath(posixpath.join(posixpath.dirname(page.path), path))
        return includes.get(full_path) or includes.get(path.lstrip("/"))

    def _include_problem(self, page: CheckedPage, target: str) -> _Problem | None:
        if self.includes is None or self._included_content(page, target) is not None:
            return None
        return self._with_suggestion("include", f"no reusable content at “{target}”", page, target, self.includes)

    def _missing_target_problem(self, page: CheckedPage, reference: PageReference, path: str) -> _Problem | None:
        if path in self.paths_outside_root or _leading_parents(path) not in ("", *self.paths_outside_root):
            return None
        use: UrlUse = reference.use
        if use == "link" and posixpath.splitext(path)[1] not in (*PAGE_SUFFIXES, ".html", ""):
            use = "file"
        url, _, anchor = reference.target.partition("#")
        if posixpath.normpath(posixpath.join(posixpath.dirname(page.path), url)) in (self.index.files or ()):
            return None  # Names of exported files can contain percent signs, so the undecoded URL may be a file.
        page_paths = [each.path for each in self.pages.values()] if self.page_paths is None else self.page_paths
        candidates = self.index.files or () if use != "link" else page_paths
        message = f"no {_NOUNS[use]} at “{unquote(url)}”"
        return self._with_suggestion(use, message, page, path, candidates, f"#{anchor}" if anchor else "")

    def _with_suggestion(
        self, rule: str, message: str, page: CheckedPage, path: str, candidates: Iterable[str], anchor: str = ""
    ) -> _Problem:
        similar_path = _most_similar_path(path, candidates, page.path)
        if similar_path is None:
            return _Problem(rule, message)
        relative = _relative_path(similar_path, page.path)
        return _Problem(rule, f"{message}. Did you mean {relative}?", f"{relative.replace(' ', '%20')}{anchor}")


def _leading_parents(path: str) -> str:
    """Return the `..` parts at the beginning of a path, such as `../..` for `../../a`."""
    steps = path.split("/")
    return "/".join(steps[: len(steps) - len([step for step in steps if step != ".."])])


def _relative_path(path: str, page_path: str) -> str:
    return posixpath.relpath(path, posixpath.dirname(page_path) or ".")


def _most_similar_path(path: str, paths: Iterable[str], start: str) -> str | None:
    """Return the path in `paths` that a wrong `path` on the page `start` probably means. None if no path is similar."""
    candidates = list(paths)
    name = posixpath.basename(path).lower()
    same_name_paths = [each for each in candidates if posixpath.basename(each).lower() == name]
    same_folder_paths = [
        each for each in same_name_paths if each != start and posixpath.dirname(each) == posixpath.dirname(start)
    ]
    for similar_paths in (() if INDEX_NAME.search(posixpath.splitext(path)[0]) else same_folder_paths, same_name_paths):
        if len(similar_paths) == 1:
            return similar_paths[0]
    return closest_name(path, candidates, _MIN_PATH_SIMILARITY)


@dataclass(frozen=True)
class AddedFinding:
    """A finding about words that a change request added."""

    key: str
    """ID of the finding, unique on its page. The ID stays the same when other blocks are edited."""
    finding: Finding
    suggestion: str | None = None
    """The Markdown of the block with the problem solved. None if no solution is known."""

    @property
    def comment(self) -> str:
        """The finding as Markdown for a comment."""
        return f"{escape_markdown(_sentence(self.finding.message))} (`{self.finding.rule or self.finding.tool}`)"

    @property
    def comment_with_suggestion(self) -> str:
        """The comment with the corrected block as a suggestion. Equal to `comment` if no solution is known."""
        return self.comment if self.suggestion is None else f"{self.comment}\n\n{suggestion_fence(self.suggestion)}"


def added_findings(
    page: CheckedPage, check: ReferenceCheck, added: AddedRanges, document: Document
) -> tuple[AddedFinding, ...]:
    """Return the findings of the default rules on words in `added`, in page order. `document` is the parsed page."""
    rules = RuleChoice()
    findings = [
        each for each in (*page.findings, *check.findings(page)) if rules.applies(each) and added.touches(each.location)
    ]
    return to_added_findings(sorted_findings(findings), document, page.text)


def to_added_findings(findings: Iterable[Finding], document: Document, text: str) -> tuple[AddedFinding, ...]:
    """Return findings with IDs and, if known, suggestions. `document` is the parsed page, `text` its Markdown."""
    blocks = {block.key: block for block in document.walk()}
    results: list[AddedFinding] = []
    identity_counts = Counter[str]()
    for each in findings:
        block = blocks.get(each.block_key)
        words = block.plain() if block is not None else ""
        identity = "\0".join((each.tool, each.rule, each.message, each.words, words))
        identity_counts[identity] += 1
        identity += f"\0{identity_counts[identity]}" * (identity_counts[identity] > 1)
        key = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:20]
        results.append(AddedFinding(key, each, suggested_block(each, document, text)))
    return tuple(results)


def pages_linked_from_added_lines(page: CheckedPage, check: ReferenceCheck, added: AddedRanges) -> frozenset[str]:
    """Return the IDs of the pages to which the added lines of a page link with an anchor."""
    lines = {number - 1 for number in added.lines}
    references = [each for each in page.references if lines.intersection(range(*each.lines))]
    return frozenset(check.linked_pages(replace(page, references=tuple(references))))


def _sentence(message: str) -> str:
    return f"{message[:1].upper()}{message[1:]}" + ("" if message.endswith(("?", "!", ".")) else ".")


_ASSETS = ".gitbook/assets/"
_MAX_NAME = 300
"""Maximum number of characters in the name of an asset."""
_ASSET_URL = re.compile(r"\.gitbook/assets/(?=([^\"<>\n]{1,2700}))")
"""The start of the URL of an asset. The rest is in a lookahead, because it may contain the next URL."""


class LazyPages(Mapping[str, CheckedPage]):
    """Pages by path. A page is read when it is first needed."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self._pages: dict[str, CheckedPage] = {}

    def __getitem__(self, path: str) -> CheckedPage:
        if path not in self._pages:
            self._pages[path] = read_page(path, self.texts[path])
        return self._pages[path]

    def __contains__(self, path: object) -> bool:
        return path in self.texts

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class CheckedFolder:
    """A folder of pages. Paths begin at the root of the pages."""

    pages: LazyPages
    includes: LazyPages = field(default_factory=lambda: LazyPages({}))
    summary: CheckedPage | None = None
    """The file with the table of contents. None if there is no such file, so that the subfolders are the page tree."""
    unlisted_pages: Collection[str] = ()
    """Paths of the pages that are not in the table of contents."""
    tree_paths: Mapping[str, str] = field(default_factory=dict)
    """Paths of files by page path, such as `guides/setup`. A group has no file, so its value is its page path."""
    files_with_same_page_path: tuple[tuple[str, str], ...] = ()
    """Pairs of files whose pages have the same path."""
    files: Collection[str] = ()
    """Paths of all files that are not pages."""
    paths_outside_root: Collection[str] = ()
    """Paths of the files and folders outside the root of the pages, such as `../LICENSE`."""
    root: str = ""
    """Path of the root of the pages, such as `docs`. Empty if it is the whole folder."""
    configuration_path: str = ".gitbook.yaml"
    configuration: str = ""
    """The text of `.gitbook.yaml`. Empty if there is none."""

    @property
    def all_pages(self) -> tuple[CheckedPage, ...]:
        """Pages, reusable content, and the table of contents."""
        return (*self.pages.values(), *self.includes.values(), *filter(None, (self.summary,)))

    @property
    def texts(self) -> dict[str, str]:
        """The texts of pages, reusable content, and the table of contents, by path."""
        summary = {} if self.summary is None else {self.summary.path: self.summary.text}
        return {**self.pages.texts, **self.includes.texts, **summary}

    @cached_property
    def reference_check(self) -> ReferenceCheck:
        """The check of the references on all pages of the folder."""
        page_triples = ((path, None, path) for path in self.pages)
        ids = ids_by_path((*page_triples, *((file, path, None) for path, file in self.tree_paths.items())))
        index = SpaceIndex(ids, frozenset(), {path: path for path in self.files}, root=self.root)
        return ReferenceCheck(index, self.pages, self.includes, self.paths_outside_root, tuple(self.pages))

    @property
    def paths(self) -> set[str]:
        """The paths of the files that may have findings."""
        return {*self.texts, *self._findings_about_files}

    def findings_in(self, path: str) -> Iterator[Finding]:
        """Yield all findings in a file in any order, except findings of the rule `external-link`."""
        yield from self._findings_about_files.get(path, ())
        page = self.pages.get(path) or self.includes.get(path)
        if page is not None:
            yield from page.findings
        if page is None and self.summary is not None and path == self.summary.path:
            page = self.summary
        if page is not None:
            yield from self.reference_check.findings(page)

    @cached_property
    def _findings_about_files(self) -> dict[str, list[Finding]]:
        index = self.reference_check.index
        findings: dict[str, list[Finding]] = {}
        for each in (*self._unlisted(), *self._repeated_paths(index), *self._unused_files(), *self._redirects(index)):
            findings.setdefault(each.path, []).append(each)
        return findings

    def _unlisted(self) -> Iterator[Finding]:
        if self.summary is not None:
            message = f"the page is not in {posixpath.basename(self.summary.path)}"
            for path in self.unlisted_pages:
                yield new_finding("not-in-summary", message, path)

    def _repeated_paths(self, index: SpaceIndex) -> Iterator[Finding]:
        for path, other_path in self.files_with_same_page_path:
            yield self._duplicate_path(path, f"{path} has the same path as {other_path}", index)
        for path, locations in self._locations_of_links(index).items():
            for location in locations[1:]:
                message = f"{path} is already on line {locations[0].line}"
                yield new_finding("duplicate-path", message, self.summary.path if self.summary else path, location)

    def _locations_of_links(
        self, index: SpaceIndex, page_ids: Collection[str] | None = None
    ) -> dict[str, list[FileRange]]:
        """Return the locations of links in `summary`, by page ID: links to the pages `page_ids`. If `page_ids` is None,
        links to each page that has several links."""
        if self.summary is None:
            return {}
        references_by_page_id: dict[str, list[PageReference]] = {}
        for reference in self.summary.references:
            target = resolve(reference.target, self.summary.path, index)
            if isinstance(target, PageLink) and not target.anchor:
                references_by_page_id.setdefault(target.page_id, []).append(reference)
        finder = self.summary.location_finder()
        return {
            page_id: [
                finder.location(*span) for each in references for span in finder.find_url(each.target, each.lines)[:1]
            ]
            for page_id, references in references_by_page_id.items()
            if (len(references) > 1 if page_ids is None else page_id in page_ids)
        }

    def _duplicate_path(self, path: str, message: str, index: SpaceIndex) -> Finding:
        location = next(iter(self._locations_of_links(index, (path,)).get(path, [])), None)
        if location is None or self.summary is None:
            return new_finding("duplicate-path", message, path)
        return new_finding("duplicate-path", message, self.summary.path, location)

    def _unused_files(self) -> Iterator[Finding]:
        paths_by_name: dict[str, list[str]] = {}
        for path in self.files:
            if _ASSETS in path:
                paths_by_name.setdefault(fold(path.rpartition(_ASSETS)[2]).replace("\\", ""), []).append(path)
        urls = (match[1] for text in self.texts.values() for match in _ASSET_URL.finditer(text))
        used_names = {name for url in urls for name in _names_at_start(url, paths_by_name)}
        for path in (path for name, paths in paths_by_name.items() if name not in used_names for path in paths):
            yield new_finding("unused-file", "no page uses this file", path)

    def _redirects(self, index: SpaceIndex) -> Iterator[Finding]:
        try:
            value = parse_yaml(self.configuration)
        except YamlError as error:
            reason = error.sentence.removesuffix(".")
            location = FileRange(error.line, max(1, error.column), error.line, max(1, error.column))
            yield new_finding("front-matter", f"{reason[:1].lower()}{reason[1:]}", self.configuration_path, location)
            return
        redirects = value.fields.get("redirects") if value is not None else None
        redirect_values = redirects.fields if redirects is not None else {}
        # The platform ignores a redirect from the path of a page.
        targets = {
            _url_path(source): _url_path(redirect_value.value)
            for source, redirect_value in redirect_values.items()
            if isinstance(redirect_value.value, str) and not _has_page(_url_path(source), index)
        }
        for source, redirect_value in redirect_values.items():
            location = FileRange(
                redirect_value.line, redirect_value.column, redirect_value.line, redirect_value.column + len(source)
            )
            if isinstance(redirect_value.value, str):
                yield from self._redirect(source, redirect_value.value, location, targets, index)
            else:
                message = "the target of the redirect must be text"
                yield new_finding("front-matter", message, self.configuration_path, location, words=source)

    def _redirect(
        self, source: str, target: str, location: FileRange, targets: Mapping[str, str], index: SpaceIndex
    ) -> Iterator[Finding]:
        if _is_url(target) or _has_page(target, index):
            return
        if _url_path(target) not in targets or _url_path(target) == _url_path(source):
            yield new_finding("link", f"no page at “{target}”", self.configuration_path, location, words=source)
            return
        chain = follow_redirects(_url_path(source), targets, "")
        if chain.end == "loop":
            yield new_finding("redirect-loop", " → ".join(chain.steps), self.configuration_path, location, words=source)


def _names_at_start(url: str, names: Collection[str]) -> Iterator[str]:
    for text in {fold(each).replace("\\", "") for each in (url, unescape(url), unquote(url), unquote(unescape(url)))}:
        yield from (text[:end] for end in range(1, min(len(text), _MAX_NAME) + 1) if text[:end] in names)


def _is_url(target: str) -> bool:
    return target.startswith(("http://", "https://", "mailto:"))


def _url_path(path: str) -> str:
    """Return the site path for a path in `.gitbook.yaml`: `/guides` for `./guides/README.md`. A URL is unchanged."""
    if _is_url(path):
        return path
    clean_path = posixpath.normpath(path.partition("#")[0].lstrip("/")).removesuffix(".md")
    return "/" + INDEX_NAME.sub("", "" if clean_path == "." else clean_path)


def _has_page(target: str, index: SpaceIndex) -> bool:
    return isinstance(resolve(f"/{target.removeprefix('./').lstrip('/')}", "", index), PageLink)
