"""Reads a folder of Markdown files for `octavo check`."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from octavo.cli.external_links import MAX_URLS, broken_urls
from octavo.documents import page_trees
from octavo.documents.checks.checked_pages import CheckedPage, read_page
from octavo.documents.checks.findings import Finding
from octavo.documents.checks.folder_checks import INDEX, CheckedFolder
from octavo.documents.folders.folder import (
    IGNORED_FOLDERS,
    INCLUDES,
    Entry,
    Folder,
    files_below,
    include_targets,
    readable_name,
    slug_source,
    title_from_name,
    walk_entries,
)
from octavo.documents.folders.table_of_contents import read_folder
from octavo.server.fetcher import Fetcher

_MAX_FILES = 200_000
"""Maximum number of files and folders whose names are read."""
_CONFIGURATION = ".gitbook.yaml"
_REPOSITORY_PAGES = frozenset({"license", "contributing", "code_of_conduct", "security", "agents", "claude"})
"""Names of Markdown files at the top of repositories that are not for the readers of the space."""


@dataclass(frozen=True)
class CheckReport:
    """The findings in a folder, a space or a change request. Paths begin at the root."""

    findings: tuple[Finding, ...]
    pages: int
    """Number of pages that were checked."""
    texts: Mapping[str, str]
    """The text of each file that was checked, by path."""
    problems: tuple[str, ...]
    """A sentence for each file that could not be read completely."""


def check_folder(path: Path, *, follows_urls: bool = False) -> CheckReport:
    """Return the findings in a folder. With `follows_urls`, links to websites are checked too. Raises OSError if it is not
    a folder or cannot be opened."""
    folder = read_folder(path)
    root = os.path.relpath(folder.root, folder.top)
    checked = _FolderReader(folder).checked()

    def from_top(path: str) -> str:
        return posixpath.normpath(posixpath.join(root, path))

    pages = (*checked.pages, *checked.includes)
    paths = {page.path: _page_path(page.path) for page in checked.pages}
    found = list(checked.findings())
    problems = [f"{each.path} {each.message}" for each in folder.problems]
    if follows_urls:
        urls = dict.fromkeys(url for page in checked.all_pages for url in checked.references.external_urls(page))
        if len(urls) > MAX_URLS:
            problems.append(f"Only {MAX_URLS:,} of {len(urls):,} links to websites were checked.")
        broken = broken_urls(list(urls)[:MAX_URLS], Fetcher())
        found += [each for page in checked.all_pages for each in checked.references.external_findings(page, broken)]
    findings = tuple(replace(each, path=from_top(each.path), page=paths.get(each.path, "")) for each in found)
    texts = {from_top(page.path): page.text for page in checked.all_pages}
    return CheckReport(findings, len(pages), texts, tuple(problems))


class _FolderReader:
    """Reads the files of a folder for the checks."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._texts: dict[Path, str] = {}

    def checked(self) -> CheckedFolder:
        """Return what the checks need of the folder."""
        folder = self._folder
        entries = (entry.path for entry in walk_entries(folder.entries) if entry.kind == "document")
        pages = list(dict.fromkeys(path for path in entries if path is not None and folder.has_file(path)))
        includes = self._find_includes(pages)
        unlisted = [path for path in folder.unlisted if path not in includes and self._belongs_in_summary(path)]
        pages = [path for path in pages if path not in includes or path not in folder.unlisted]
        files, others = self._find_files({*pages, *includes})
        configuration = Path(os.path.relpath(folder.top / _CONFIGURATION, folder.root))
        return CheckedFolder(
            tuple(self._read(pages)),
            tuple(self._read(path for path in includes if path not in pages)),
            next(self._read(filter(None, [folder.summary])), None),
            [_posix(path) for path in unlisted],
            tuple(_repeated_paths(folder)),
            files,
            others,
            _posix(configuration),
            (folder.text(configuration) or "") if folder.has_file(configuration) else "",
        )

    def _text(self, path: Path) -> str:
        """Return the text of a file, empty if it cannot be read."""
        if path not in self._texts:
            self._texts[path] = self._folder.text(path) or ""
        return self._texts[path]

    def _read(self, paths: Iterable[Path]) -> Iterator[CheckedPage]:
        for path in paths:
            yield read_page(_posix(path), self._text(path))

    def _find_includes(self, pages: Sequence[Path]) -> dict[Path, None]:
        """Return the files of reusable content: those in the folder for it, and those that pages include."""
        found = dict.fromkeys(
            path for path in files_below(self._folder, INCLUDES) if path.suffix == ".md" and self._folder.has_file(path)
        )
        waiting = [*pages, *found]
        while waiting:
            path = waiting.pop()
            for target in include_targets(self._text(path)):
                included = self._folder.resolve(target, path)
                if included is not None and included not in found and self._folder.has_file(included):
                    found[included] = None
                    waiting.append(included)
        return found

    def _belongs_in_summary(self, path: Path) -> bool:
        """Return whether a page is for the readers of the space, and not of another space in a folder of its own."""
        folders = path.parts[:-1]
        if not folders and path.stem.lower() in _REPOSITORY_PAGES:
            return False
        above = (Path(*folders[:depth]) for depth in range(1, len(folders) + 1))
        return not any(self._folder.has_file(each / name) for each in above for name in ("SUMMARY.md", _CONFIGURATION))

    def _find_files(self, pages: Collection[Path]) -> tuple[list[str], frozenset[str]]:
        """Return the paths of all files but the pages, and the paths of files and folders beside the root."""
        files: list[str] = []
        others: set[str] = set()
        known = {_posix(path) for path in pages}
        for place, folders, names in os.walk(self._folder.top):
            folders[:] = sorted(each for each in folders if each not in IGNORED_FOLDERS and each != ".git")
            here = Path(os.path.relpath(place, self._folder.root))
            for name in (".", *folders, *sorted(names)):
                path = _posix(Path(os.path.normpath(here / name)))
                if path.startswith(".."):
                    others.add(path)
                elif name in names and path not in known:
                    files.append(path)
            if len(files) + len(others) > _MAX_FILES:
                self._folder.report(_posix(here), f"was not read completely: there are more than {_MAX_FILES:,} files.")
                break
        return files, frozenset(others)


def _repeated_paths(folder: Folder) -> Iterator[tuple[str, str]]:
    """Yield the pages whose path is that of another page beside them, with that page."""
    listed = [entry for entry in folder.entries if not {child.path for child in entry.children} & {*folder.unlisted}]
    for siblings in [listed, *(entry.children for entry in walk_entries(listed))]:
        seen: dict[str, Entry] = {}
        for entry in siblings:
            if entry.kind == "link":
                continue
            first = seen.setdefault(_slug(entry), entry)
            if first is not entry and entry.path is not None and first.path is not None and first.path != entry.path:
                yield _posix(entry.path), _posix(first.path)


def _slug(entry: Entry) -> str:
    name = slug_source(entry.path) if entry.path is not None else entry.title or title_from_name(entry.address)
    return page_trees.page_slug(readable_name(name))


def _page_path(path: str) -> str:
    """Return the path of a page without the suffix of its file: `guides` for `guides/README.md`."""
    return INDEX.sub("", posixpath.splitext(path)[0])


def _posix(path: Path) -> str:
    return readable_name(path.as_posix())
