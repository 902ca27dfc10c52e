"""Checks a folder of pages: its table of contents, the paths of its pages, its files and its redirects."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote

from octavo.documents.checks.checked_pages import CheckedPage
from octavo.documents.checks.findings import Finding, Place, finding
from octavo.documents.checks.references import ReferenceCheck
from octavo.documents.links import PageLink, SpaceIndex, ids_by_path, resolve
from octavo.documents.redirect_chains import follow_redirects
from octavo.documents.yaml_values import YamlError, parse_yaml

_ASSETS = ".gitbook/assets/"
_ASSET_URL = re.compile(r"\.gitbook/assets/(?=([^\"'<>\n]{1,300}))")
"""Start of an asset URL. The group has up to 300 characters after the start: the file name ends somewhere in them. The
group is in a lookahead, because these characters can contain the next asset URL."""
INDEX = re.compile(r"(?:^|/)(?:readme|index)$", re.IGNORECASE)
"""The end of the path of an index page, which is the page of its folder: `readme` or `index`."""


@dataclass(frozen=True)
class CheckedFolder:
    """A folder of pages. Paths begin at the root of the pages."""

    pages: tuple[CheckedPage, ...]
    includes: tuple[CheckedPage, ...] = ()
    """Reusable content."""
    summary: CheckedPage | None = None
    """The table of contents. None if the folders are the table of contents."""
    unlisted: Collection[str] = ()
    """Paths of the pages that are not in the table of contents."""
    repeated: tuple[tuple[str, str], ...] = ()
    """The files of two pages that have the same path, for each such pair."""
    files: Collection[str] = ()
    """Paths of all files that are not pages."""
    paths_outside_root: Collection[str] = ()
    """Paths of the files and folders outside the root of the pages, such as `../LICENSE`."""
    configuration_path: str = ".gitbook.yaml"
    configuration: str = ""
    """The text of `.gitbook.yaml`. Empty if there is none."""

    @property
    def all_pages(self) -> tuple[CheckedPage, ...]:
        """Pages, reusable content, and the table of contents."""
        return (*self.pages, *self.includes, *filter(None, (self.summary,)))

    @cached_property
    def references(self) -> ReferenceCheck:
        """The check of the references of all pages."""
        ids = ids_by_path((page.path, None, page.path) for page in self.pages)
        index = SpaceIndex(ids, frozenset(), {path: path for path in self.files})
        includes = {page.path: page for page in self.includes}
        return ReferenceCheck(index, {page.path: page for page in self.pages}, includes, self.paths_outside_root)

    def findings(self) -> Iterator[Finding]:
        """Yield the findings of all rules but `external-link`, in no order."""
        for page in (*self.pages, *self.includes):
            yield from page.findings
        for page in self.all_pages:
            yield from self.references.findings(page)
        index = self.references.index
        yield from self._unlisted()
        yield from self._repeated_paths(index)
        yield from self._unused_files()
        yield from self._redirects(index)

    def _unlisted(self) -> Iterator[Finding]:
        if self.summary is not None:
            message = f"the page is not in {posixpath.basename(self.summary.path)}"
            for path in self.unlisted:
                yield finding("not-in-summary", message, path)

    def _repeated_paths(self, index: SpaceIndex) -> Iterator[Finding]:
        for path, other in self.repeated:
            yield self._at_entry(path, f"{path} has the same path as {other}", index)
        for path, first, place in self._repeated_entries(index):
            message = f"{path} is already on line {first.line}"
            yield finding("duplicate-path", message, self.summary.path if self.summary else path, place)

    def _listed_pages(self, index: SpaceIndex) -> Iterator[tuple[str, Place]]:
        """Yield the pages in the table of contents, without links to their headings, with their places."""
        if self.summary is None:
            return
        places = self.summary.places()
        for reference in self.summary.references:
            target = resolve(reference.target, self.summary.path, index)
            if isinstance(target, PageLink) and not target.anchor:
                for found in places.find_url(reference.target, reference.lines)[:1]:
                    yield target.page, places.place(*found)

    def _repeated_entries(self, index: SpaceIndex) -> Iterator[tuple[str, Place, Place]]:
        seen: dict[str, Place] = {}
        for path, place in self._listed_pages(index):
            if path in seen:
                yield path, seen[path], place
            seen.setdefault(path, place)

    def _at_entry(self, path: str, message: str, index: SpaceIndex) -> Finding:
        """Return a finding about the path of a page. Its place is the entry of the page in the table of contents, or
        else the file of the page."""
        place = next((place for page, place in self._listed_pages(index) if page == path), None)
        if place is None or self.summary is None:
            return finding("duplicate-path", message, path)
        return finding("duplicate-path", message, self.summary.path, place)

    def _unused_files(self) -> Iterator[Finding]:
        assets: dict[str, list[str]] = {}
        for path in self.files:
            if _ASSETS in path:
                assets.setdefault(path.rpartition(_ASSETS)[2], []).append(path)
        urls = (url for page in self.all_pages for url in _ASSET_URL.findall(page.text))
        used = {name for url in urls for name in _names_at_start(url, assets)}
        for path in (path for name, paths in assets.items() if name not in used for path in paths):
            yield finding("unused-file", "no page uses this file", path)

    def _redirects(self, index: SpaceIndex) -> Iterator[Finding]:
        try:
            value = parse_yaml(self.configuration)
        except YamlError as error:
            reason = error.sentence.removesuffix(".")
            place = Place(error.line, max(1, error.column), error.line, max(1, error.column))
            yield finding("front-matter", f"{reason[:1].lower()}{reason[1:]}", self.configuration_path, place)
            return
        redirects = value.parts.get("redirects") if value is not None else None
        parts = redirects.parts if redirects is not None else {}
        targets = {_url_path(source): _url_path(str(part.value)) for source, part in parts.items()}
        for source, part in parts.items():
            place = Place(part.line, part.column, part.line, part.column + len(source))
            yield from self._redirect(source, str(part.value), place, targets, index)

    def _redirect(
        self, source: str, target: str, place: Place, targets: Mapping[str, str], index: SpaceIndex
    ) -> Iterator[Finding]:
        chain = follow_redirects(_url_path(source), targets, "")
        if chain.end == "loop":
            yield finding("redirect-loop", " → ".join(chain.steps), self.configuration_path, place, words=source)
        elif not (_is_url(target) or _url_path(target) in targets or _has_page(target, index)):
            yield finding("link", f"no page at “{target}”", self.configuration_path, place, words=source)


def _names_at_start(url: str, names: Collection[str]) -> Iterator[str]:
    """Yield the names in `names` with which `url` begins. `url` is the text after `.gitbook/assets/`. The end of the
    file name in the text is unknown, because names can have spaces."""
    for text in {url, unquote(url), url.replace("\\", ""), unquote(url).replace("\\", "")}:
        yield from (text[:end] for end in range(1, len(text) + 1) if text[:end] in names)


def _is_url(target: str) -> bool:
    return target.startswith(("http://", "https://", "mailto:"))


def _url_path(path: str) -> str:
    """Return the path on the site for the source or the target of a redirect in `.gitbook.yaml`: `/guides` for
    `./guides/README.md`. A URL is unchanged."""
    if _is_url(path):
        return path
    clean = posixpath.normpath(path.partition("#")[0].lstrip("/")).removesuffix(".md")
    return "/" + INDEX.sub("", "" if clean == "." else clean)


def _has_page(target: str, index: SpaceIndex) -> bool:
    return isinstance(resolve(f"/{target.removeprefix('./').lstrip('/')}", "", index), PageLink)
