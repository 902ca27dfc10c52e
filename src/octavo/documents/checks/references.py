"""Checks the links, anchors, files, images and includes of pages against the other pages and files."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from urllib.parse import unquote

from octavo.documents.anchors import match_anchor
from octavo.documents.checks.checked_pages import CheckedPage
from octavo.documents.checks.findings import Finding, finding
from octavo.documents.links import (
    AnchorLink,
    BrokenLink,
    PageLink,
    PageReference,
    SpaceIndex,
    UrlLink,
    UrlUse,
    resolve,
)
from octavo.documents.sequences import closest_name

_MIN_LIKENESS, _MIN_PATH_LIKENESS = 80, 90
"""Minimum likeness of a suggested anchor and of a suggested path in percent."""
_MAX_INCLUDES = 100
"""Maximum number of pieces of reusable content on a page that are searched for anchors."""
_NOUNS: Mapping[str, str] = {"link": "page", "image": "image", "file": "file"}
_OTHER_FRAGMENTS = (":~:", "user-content-fn")
"""Beginnings of fragments that name no heading: text that browsers search for, and footnotes."""


class _Problem(NamedTuple):
    """A reference without a target. `suggestion` is a URL to use instead. None if there is none."""

    rule: str
    message: str
    suggestion: str | None = None


@dataclass(frozen=True)
class ReferenceCheck:
    """The pages and files that references can lead to."""

    index: SpaceIndex
    pages: Mapping[str, CheckedPage]
    """The pages whose anchors are known, by the id that the index has for them."""
    includes: Mapping[str, CheckedPage] | None = None
    """Reusable content by the path of its file. None if it is unknown; then no include counts as missing."""
    paths_outside_root: Collection[str] = frozenset()
    """Paths of the files and folders outside the root of the pages, such as `../LICENSE`. A link that leads to a parent
    folder that is not among them is not checked."""
    _anchors: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False, repr=False)

    def findings(self, page: CheckedPage) -> Iterator[Finding]:
        """Yield the findings for the references of a page."""
        places = None
        reported: set[tuple[int, int]] = set()
        for reference in page.references:
            problem = self._problem(page, reference)
            if problem is None:
                continue
            places = places or page.places()
            found = places.find_url(reference.target, reference.lines)
            for start, end in found or [places.line_range(reference.lines[0])]:
                if (start, end) in reported:
                    continue
                reported.add((start, end))
                yield replace(
                    finding(problem.rule, problem.message, page.path, places.place(start, end), block=reference.block),
                    words=page.source[start:end] if found else reference.target,
                    suggestion=problem.suggestion if found else None,
                )

    def linked_pages(self, page: CheckedPage) -> Iterator[str]:
        """Yield the ids of the pages that a page links to with an anchor."""
        for reference in page.references:
            target = resolve(reference.target, page.base, self.index) if reference.kind == "address" else None
            if isinstance(target, PageLink) and target.anchor:
                yield target.page

    def external_urls(self, page: CheckedPage) -> Iterator[str]:
        """Yield the URLs of websites on a page, without fragments."""
        for reference in page.references:
            if (url := self._external_url(page, reference)) is not None:
                yield url

    def external_findings(self, page: CheckedPage, problems: Mapping[str, str]) -> Iterator[Finding]:
        """Yield the findings for links to websites. `problems` has the reason why a URL does not work, by URL
        without fragment."""
        places = page.places()
        for reference in page.references:
            url = self._external_url(page, reference)
            if url is not None and (reason := problems.get(url)):
                for start, end in places.find_url(reference.target, reference.lines)[:1]:
                    words, place = page.source[start:end], places.place(start, end)
                    yield finding("external-link", reason, page.path, place, block=reference.block, words=words)

    def _external_url(self, page: CheckedPage, reference: PageReference) -> str | None:
        """Return the URL of a reference without its fragment. None if it leads to no website."""
        target = resolve(reference.target, page.base, self.index) if reference.kind == "address" else None
        if isinstance(target, UrlLink) and not target.url.startswith("mailto:"):
            return target.url.partition("#")[0]
        return None

    def _problem(self, page: CheckedPage, reference: PageReference) -> _Problem | None:
        if reference.kind == "spec":
            return None
        if reference.kind == "include":
            return self._include_problem(page, reference.target)
        match resolve(reference.target, page.base, self.index):
            case PageLink(page=linked, anchor=anchor):
                return self._anchor_problem(page, reference.target, self.pages.get(linked), anchor or "")
            case AnchorLink(anchor=anchor) if page.path not in (self.includes or ()):
                return self._anchor_problem(page, reference.target, page, anchor)
            case BrokenLink(path=path) if path:
                return self._missing_target_problem(page, reference, path)
            case BrokenLink(href=url, reason=reason) if not ("//" in url and ("@" in url or "\\" in url)):
                return _Problem("link", f"{reason[:1].lower()}{reason[1:].removesuffix('.')}")
        return None

    def _anchor_problem(self, page: CheckedPage, url: str, linked: CheckedPage | None, anchor: str) -> _Problem | None:
        if not anchor or linked is None or linked.has_unknown_anchors or anchor.startswith(_OTHER_FRAGMENTS):
            return None
        if self.includes is None and linked.has_includes:
            return None
        anchors = self._anchors_of(linked)
        if match_anchor(anchor, anchors) is not None:
            return None
        where = "on this page" if linked is page else f"in {_relative_path(linked.path, page.path)}"
        message = f"no heading “#{anchor}” {where}"
        meant = _most_similar(anchor, anchors)
        if meant is None:
            return _Problem("anchor", message)
        return _Problem("anchor", f"{message}. Did you mean #{meant}?", f"{url.partition('#')[0]}#{meant}")

    def _anchors_of(self, page: CheckedPage) -> tuple[str, ...]:
        """Return the anchors of a page and of the reusable content in it."""
        if page.path not in self._anchors:
            found, waiting, seen = list(page.anchors), [page], {page.path}
            while waiting and len(seen) <= _MAX_INCLUDES:
                part = waiting.pop()
                for reference in part.references:
                    included = self._included_content(part, reference.target) if reference.kind == "include" else None
                    if included is not None and included.path not in seen:
                        seen.add(included.path)
                        waiting.append(included)
                        found += included.anchors
            self._anchors[page.path] = tuple(found)
        return self._anchors[page.path]

    def _included_content(self, page: CheckedPage, target: str) -> CheckedPage | None:
        """Return the reusable content that a page includes. None if it is missing or unknown."""
        includes = self.includes or {}
        path = unquote(target)
        joined = posixpath.normpath(posixpath.join(posixpath.dirname(page.path), path))
        return includes.get(joined) or includes.get(path.lstrip("/"))

    def _include_problem(self, page: CheckedPage, target: str) -> _Problem | None:
        if self.includes is None or self._included_content(page, target) is not None:
            return None
        return self._with_suggestion("include", f"no reusable content at “{target}”", page, target, self.includes)

    def _missing_target_problem(self, page: CheckedPage, reference: PageReference, path: str) -> _Problem | None:
        if path in self.paths_outside_root or _parents_of(path) not in ("", *self.paths_outside_root):
            return None
        rule: UrlUse = reference.use
        if rule == "link" and posixpath.splitext(path)[1] not in ("", ".md", ".markdown", ".html"):
            rule = "file"
        url, _, anchor = reference.target.partition("#")
        if posixpath.normpath(posixpath.join(posixpath.dirname(page.path), url)) in (self.index.files or ()):
            return None  # Files exported from the platform can have names with percent signs.
        candidates = self.index.files or {} if rule != "link" else {each.path: "" for each in self.pages.values()}
        message = f"no {_NOUNS[rule]} at “{unquote(url)}”"
        return self._with_suggestion(rule, message, page, path, candidates, f"#{anchor}" if anchor else "")

    def _with_suggestion(
        self, rule: str, message: str, page: CheckedPage, path: str, candidates: Iterable[str], anchor: str = ""
    ) -> _Problem:
        meant = _most_similar_path(path, candidates)
        if meant is None:
            return _Problem(rule, message)
        relative = _relative_path(meant, page.path)
        return _Problem(rule, f"{message}. Did you mean {relative}?", f"{relative.replace(' ', '%20')}{anchor}")


def _parents_of(path: str) -> str:
    """Return the steps to parent folders at the beginning of a path: `../..` for `../../a`."""
    steps = path.split("/")
    return "/".join(steps[: len(steps) - len([step for step in steps if step != ".."])])


def _relative_path(path: str, page_path: str) -> str:
    return posixpath.relpath(path, posixpath.dirname(page_path) or ".")


def _most_similar(name: str, names: Iterable[str]) -> str | None:
    return closest_name(name, [each for each in names if len(each) > 2], _MIN_LIKENESS, any_order=True)


def _most_similar_path(path: str, paths: Iterable[str]) -> str | None:
    """Return the only path with the same file name, else the path with the most similar letters. None if there is none."""
    known = list(paths)
    name = posixpath.basename(path).lower()
    same_name = [each for each in known if posixpath.basename(each).lower() == name]
    if len(same_name) == 1:
        return same_name[0]
    return closest_name(path, known, _MIN_PATH_LIKENESS)
