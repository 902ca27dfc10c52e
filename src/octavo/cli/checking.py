"""Finds broken links and other mistakes in a folder, a space or a change request, with rules and with linters."""

from __future__ import annotations

import asyncio
import os
import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from octavo.api.content import GetPage, Page, Revision
from octavo.api.operation import ContentRef
from octavo.api.safety import safe_line
from octavo.cli.comparisons import PageTexts, changed_items, find_versions, load_revision, load_texts
from octavo.cli.refs import RefTarget
from octavo.cli.standard_streams import USAGE, Failure
from octavo.concurrency import gather_bounded
from octavo.data.live import Live
from octavo.data.loaders import find_page, page_markdown, page_source_op, page_to_read_op
from octavo.documents import links, page_trees
from octavo.documents.anchors import page_anchors
from octavo.documents.checks.findings import DEFAULT_RULES, RULES, CheckedPage, Finding, RuleChoice, read_page
from octavo.documents.checks.references import CheckedFolder, LazyPages, ReferenceCheck
from octavo.documents.folders.folder import (
    IGNORED_FOLDERS,
    ContentsEntry,
    Folder,
    included_files,
    readable_name,
    readable_path,
    slug_source,
    title_from_name,
    walk_entries,
)
from octavo.documents.folders.layout import link_base, page_path
from octavo.documents.folders.table_of_contents import read_folder
from octavo.documents.linters.placement import AddedRanges, LintedPage, added_ranges
from octavo.documents.source_reader import parse
from octavo.server.fetcher import Fetcher, FetchFailure, PrivateAddressFailure
from octavo.settings.file import did_you_mean
from octavo.settings.programs import Linter
from octavo.tui.review.request_findings import LinterRuns, linters_for
from octavo.untrusted_input import parse_toml

_MAX_CHECKED_URLS = 2_000
_MAX_PARALLEL_REQUESTS = 8
_MISSING_STATUSES = (404, 410)
"""HTTP statuses of a missing page. Other errors may only mean that a website refuses programs."""


def broken_urls(urls: Collection[str], fetcher: Fetcher, incomplete_notes: list[str]) -> dict[str, str]:
    """Return why URLs are broken, by URL. If there are too many URLs to check, `incomplete_notes` gets a sentence."""
    if len(urls) > _MAX_CHECKED_URLS:
        incomplete_notes.append(f"Only {_MAX_CHECKED_URLS:,} of {len(urls):,} links to websites were checked.")
    checked_urls = list(urls)[:_MAX_CHECKED_URLS]
    with ThreadPoolExecutor(_MAX_PARALLEL_REQUESTS) as pool:
        reasons = pool.map(lambda url: _why_broken(url, fetcher), checked_urls)
        return {url: reason for url, reason in zip(checked_urls, reasons, strict=True) if reason}


def _why_broken(url: str, fetcher: Fetcher) -> str:
    try:
        status = fetcher.fetch_status(url)
    except PrivateAddressFailure:
        return ""
    except FetchFailure as failure:
        return safe_line(str(failure))
    return f"the website responded with status {status}" if status in _MISSING_STATUSES else ""


_MAX_LISTED_FILES = 200_000
_CONFIGURATION = ".gitbook.yaml"
_REPOSITORY_PAGES = frozenset({"license", "contributing", "code_of_conduct", "security", "agents", "claude"})
"""Names of files that most repositories have, such as `LICENSE.md`. They need not be in `SUMMARY.md`."""


@dataclass(frozen=True)
class CheckReport:
    """The findings in a folder, space or change request. Paths are relative to the checked folder or the space."""

    findings: tuple[Finding, ...]
    page_count: int
    texts: Mapping[str, str]
    """The Markdown of each checked file, by path."""
    incomplete_notes: tuple[str, ...]
    """Sentences for the user about files and pages that were not or not completely checked."""


def check_folder(
    path: Path, *, follows_urls: bool = False, on_file: Callable[[Sequence[Finding]], None] | None = None
) -> CheckReport:
    """Check the Markdown files in a folder. `on_file` gets the findings of each file. If `follows_urls`, links to
    websites are checked at the end, and `on_file` does not get these findings. Raises OSError."""
    folder = read_folder(path)
    files = _FolderReader(folder).read_all()

    def path_from_top(path: str) -> str:
        return posixpath.normpath(posixpath.join(folder.root_path, path))

    def with_paths_from_top(findings: Iterable[Finding]) -> Iterator[Finding]:
        for each in findings:
            page = links.INDEX_NAME.sub("", posixpath.splitext(each.path)[0]) if each.path in files.pages else ""
            yield replace(each, path=path_from_top(each.path), page=page)

    all_findings: list[Finding] = []
    for each in sorted(files.paths, key=path_from_top):
        file_findings = list(with_paths_from_top(files.findings_in(each)))
        all_findings += file_findings
        if on_file is not None:
            on_file(file_findings)
    incomplete_notes = [f"{problem.path} {problem.message}" for problem in folder.problems]
    if follows_urls:
        urls = dict.fromkeys(url for page in files.all_pages for url in files.reference_check.external_urls(page))
        reasons = broken_urls(urls, Fetcher(), incomplete_notes)
        for page in files.all_pages:
            all_findings += with_paths_from_top(files.reference_check.external_findings(page, reasons))
    texts = {path_from_top(each): text for each, text in files.texts.items()}
    return CheckReport(tuple(all_findings), len(files.pages) + len(files.includes), texts, tuple(incomplete_notes))


class _FolderReader:
    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._texts: dict[Path, str] = {}

    def read_all(self) -> CheckedFolder:
        folder = self._folder
        entries = (entry.path for entry in walk_entries(folder.entries) if entry.kind == "document")
        pages = list(dict.fromkeys(path for path in entries if path is not None and folder.has_file(path)))
        includes = included_files(folder, pages, self._text)
        unlisted = [path for path in folder.unlisted if path not in includes and self._belongs_in_summary(path)]
        pages = [path for path in pages if path not in includes or path not in folder.unlisted]
        files, other_paths = self._find_files({*pages, *includes})
        configuration = Path(os.path.relpath(folder.top / _CONFIGURATION, folder.root))
        return CheckedFolder(
            self._read(pages),
            self._read(path for path in includes if path not in pages),
            self._read([folder.summary])[readable_path(folder.summary)] if folder.summary else None,
            [readable_path(path) for path in unlisted],
            dict(_tree_paths(folder, folder.entries)),
            tuple(_repeated_paths(folder)),
            files,
            other_paths,
            folder.root_path,
            readable_path(configuration),
            (folder.text(configuration) or "") if folder.has_file(configuration) else "",
        )

    def _text(self, path: Path) -> str:
        if path not in self._texts:
            self._texts[path] = self._folder.text(path) or ""
        return self._texts[path]

    def _read(self, paths: Iterable[Path]) -> LazyPages:
        return LazyPages({readable_path(path): self._text(path) for path in paths})

    def _belongs_in_summary(self, path: Path) -> bool:
        """Return whether `SUMMARY.md` should list `path`. False for `LICENSE.md` etc. and inside another space."""
        folders = path.parts[:-1]
        if not folders and path.stem.lower() in _REPOSITORY_PAGES:
            return False
        parents = (Path(*folders[:depth]) for depth in range(1, len(folders) + 1))
        return not any(
            self._folder.has_file(each / name) for each in parents for name in ("SUMMARY.md", _CONFIGURATION)
        )

    def _find_files(self, pages: Collection[Path]) -> tuple[list[str], frozenset[str]]:
        """Return the files below the root except `pages`, and the paths outside. Cut long lists, and report this."""
        file_paths: list[str] = []
        other_paths: set[str] = set()
        page_paths = {readable_path(path) for path in pages}
        for parent, folders, names in os.walk(self._folder.top):
            folders[:] = sorted(each for each in folders if each not in IGNORED_FOLDERS and each != ".git")
            folder = Path(os.path.relpath(parent, self._folder.root))
            for name in (".", *folders, *sorted(names)):
                path = readable_path(Path(os.path.normpath(folder / name)))
                if path.startswith(".."):
                    other_paths.add(path)
                elif name in names and path not in page_paths:
                    file_paths.append(path)
            if len(file_paths) + len(other_paths) > _MAX_LISTED_FILES:
                message = f"was not read completely: there are more than {_MAX_LISTED_FILES:,} files."
                self._folder.report(readable_path(folder), message)
                break
        return file_paths, frozenset(other_paths)


def _repeated_paths(folder: Folder) -> Iterator[tuple[str, str]]:
    """Yield pairs of files whose pages would have the same URL: path of the later page, path of the first page."""
    entries = [entry for entry in folder.entries if not {child.path for child in entry.children} & {*folder.unlisted}]
    for siblings in [entries, *(entry.children for entry in walk_entries(entries))]:
        first_by_slug: dict[str, ContentsEntry] = {}
        for entry in siblings:
            if entry.kind == "link":
                continue
            first = first_by_slug.setdefault(_slug(entry), entry)
            if first is not entry and entry.path is not None and first.path is not None and first.path != entry.path:
                yield readable_path(entry.path), readable_path(first.path)


def _tree_paths(folder: Folder, entries: Iterable[ContentsEntry], parent_path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the URL path and the file path of each page that has a file. For a group, yield its URL path twice."""
    for entry in entries:
        if entry.kind != "link":
            path = posixpath.join(parent_path, _slug(entry))
            if entry.path is None:
                yield path, path
            elif folder.has_file(entry.path):
                yield path, readable_path(entry.path)
            yield from _tree_paths(folder, entry.children, path)


def _slug(entry: ContentsEntry) -> str:
    name = (
        slug_source(entry.path)
        if entry.path is not None
        else entry.slug or entry.title or title_from_name(entry.target)
    )
    return page_trees.page_slug(readable_name(name))


_MAX_CHECKED_PAGES = 2_000
_MAX_LINKED_PAGES = 200
"""Maximum number of other pages that are loaded to check whether links to their headings work."""


@dataclass(frozen=True)
class CheckOptions:
    """Options of `octavo check REF`."""

    is_added_only: bool = False
    """True to report only findings on text that the change request added."""
    linters: tuple[Linter, ...] = ()
    follows_urls: bool = False
    """True to request the links to websites."""


@dataclass(frozen=True)
class _PageToCheck:
    page: Page
    text: str
    added: AddedRanges | None
    """Ranges of `text` that the change request added. None if a space is checked."""
    checked: CheckedPage


async def check_content(live: Live, target: RefTarget, options: CheckOptions) -> CheckReport:
    """Check the pages of a space, the changed pages of a change request, or one page. Raises ApiError or Failure."""
    if options.is_added_only and target.change_request is None:
        raise Failure(f"Could not check {target.ref}: --added needs a change request, such as handbook/7.", USAGE)
    at, texts = await _load_texts(live, target)
    revision = await load_revision(live, at)
    pages = {page.id: page for page in revision.walk()}
    parsed_pages = await asyncio.to_thread(_parse_pages, pages, texts, is_change=target.change_request is not None)
    incomplete_notes: list[str] = []
    check = await _build_reference_check(live, at, revision, target, parsed_pages)
    findings = await asyncio.to_thread(_findings, check, parsed_pages, options, incomplete_notes)
    if options.linters:
        runs = LinterRuns(linters_for(options.linters, target.space.title, target.space.id))
        for result in await asyncio.gather(*(runs.findings(_linted_page(each)) for each in parsed_pages)):
            findings += [each for group in result.by_block.values() for each in group]
            incomplete_notes += result.failures
    skipped_count = len(texts) - len(parsed_pages)
    if skipped_count:
        count_phrase = "1 page was" if skipped_count == 1 else f"{skipped_count} pages were"
        incomplete_notes.append(f"{count_phrase} not checked: a space is checked up to {_MAX_CHECKED_PAGES:,} pages.")
    sources = {each.checked.path: each.text for each in parsed_pages}
    return CheckReport(tuple(findings), len(parsed_pages), sources, tuple(dict.fromkeys(incomplete_notes)))


class _PageVersions(NamedTuple):
    page_id: str
    old_text: str
    """Text before the change request. Empty if a space is checked."""
    new_text: str


async def _load_texts(live: Live, target: RefTarget) -> tuple[ContentRef, list[_PageVersions]]:
    page_id = target.page.id if target.page is not None else None
    if target.change_request is None:
        at: ContentRef = target.space.ref
        revision = await load_revision(live, at)
        ids = [page.id for page in revision.walk() if page.type == "document" and page_id in (None, page.id)]
        return at, await _load_pages(live, at, ids)
    versions = await find_versions(live, target, "base")
    items = await changed_items(live, target, versions)
    chosen_items = [each for each in items if each.is_document and each.exists_after and page_id in (None, each.key)]
    changed_texts: list[PageTexts] = await load_texts(live, versions, chosen_items)
    texts = [_PageVersions(each.item.key, each.old_markdown, each.new_markdown) for each in changed_texts]
    if page_id is not None and not texts:
        # The change request did not edit this page, so its text is also the old text.
        texts = [each._replace(old_text=each.new_text) for each in await _load_pages(live, versions.new, [page_id])]
    return versions.new, texts


async def _load_pages(
    live: Live, at: ContentRef, ids: Sequence[str], get_page: Callable[[ContentRef, str], GetPage] = page_source_op
) -> list[_PageVersions]:
    """Load pages with `get_page`. Pages after the first `_MAX_CHECKED_PAGES` get no Markdown. Raises ApiError."""

    async def load(page_id: str) -> _PageVersions:
        return _PageVersions(page_id, "", page_markdown(await find_page(live, get_page(at, page_id))))

    loaded_texts = await gather_bounded(load, ids[:_MAX_CHECKED_PAGES])
    return [*loaded_texts, *(_PageVersions(each, "", "") for each in ids[_MAX_CHECKED_PAGES:])]


def _parse_pages(pages: dict[str, Page], texts: Sequence[_PageVersions], *, is_change: bool) -> list[_PageToCheck]:
    parsed_pages = []
    for each in texts[:_MAX_CHECKED_PAGES]:
        page = pages.get(each.page_id)
        if page is not None:
            added = added_ranges(each.old_text, each.new_text) if is_change else None
            checked = read_page(page_path(page), each.new_text, link_base(page))
            parsed_pages.append(_PageToCheck(page, each.new_text, added, checked))
    return parsed_pages


async def _build_reference_check(
    live: Live, at: ContentRef, revision: Revision, target: RefTarget, loaded: Sequence[_PageToCheck]
) -> ReferenceCheck:
    """Return a ReferenceCheck for links, files and includes. Load a limited number of linked pages. Raises ApiError."""
    checked_pages = {each.page.id: each.checked for each in loaded}
    parts = urlsplit(target.space.urls.app or "")
    origins = (f"{parts.scheme}://{parts.netloc}",) if parts.netloc else ()
    check = ReferenceCheck(page_trees.space_index_of(revision, target.space.id, origins), checked_pages)
    linked_ids = {page for each in loaded for page in check.linked_pages(each.checked)} - set(checked_pages)
    pages = {page.id: page for page in revision.walk()}
    for each in await _load_pages(live, at, sorted(linked_ids)[:_MAX_LINKED_PAGES], page_to_read_op):
        page = pages[each.page_id]
        checked_pages[page.id] = await asyncio.to_thread(read_page, page_path(page), each.new_text, link_base(page))
    ids_with_includes = [page_id for page_id, page in checked_pages.items() if page.has_unread_includes]
    for each in await _load_pages(live, at, ids_with_includes[:_MAX_LINKED_PAGES], page_to_read_op):
        anchors = page_anchors(await asyncio.to_thread(parse, each.new_text))
        checked_pages[each.page_id] = replace(checked_pages[each.page_id], anchors=anchors, has_unread_includes=False)
    return check


def _findings(
    check: ReferenceCheck, loaded: Sequence[_PageToCheck], options: CheckOptions, incomplete_notes: list[str]
) -> list[Finding]:
    reasons: dict[str, str] = {}
    if options.follows_urls:
        urls = dict.fromkeys(url for each in loaded for url in check.external_urls(each.checked))
        reasons = broken_urls(urls, Fetcher(), incomplete_notes)
    all_findings = []
    for each in loaded:
        page = check.pages[each.page.id]
        findings = [*page.findings, *check.findings(page)]
        findings += check.external_findings(page, reasons) if reasons else ()
        if options.is_added_only and each.added is not None:
            findings = [finding for finding in findings if each.added.touches(finding.location)]
        all_findings += [replace(finding, page=each.page.path or "") for finding in findings]
    return all_findings


def _linted_page(loaded: _PageToCheck) -> LintedPage:
    page = loaded.page
    return LintedPage(page.path or page.id, page_path(page), parse(loaded.text), loaded.text, loaded.added)


SETTINGS_FILE = ".octavo.toml"
DEFAULT_NAME = "default"
"""The word for all default rules, in a list of rules."""
NETWORK_RULE = "external-link"
"""The only rule that sends requests: it checks links to websites."""
_MAX_PATH_PATTERNS = 500
_COMMANDS = ("command", "commands", "linter", "linters", "hook", "run")


def choose_rules(rules: Sequence[str], ignored: Sequence[str], folder: Path | None = None) -> RuleChoice:
    """Return the rules to check: `rules` if there are any, else the rules of `.octavo.toml` in `folder`, else the
    default rules. Rules in `ignored` and rules that the file ignores are left out. Raises Failure for a wrong rule."""
    settings = _read_folder_settings(folder) if folder is not None else {}
    where = f" in {SETTINGS_FILE}"
    if NETWORK_RULE in _string_list(settings, "rules"):
        raise _failure(
            f"a folder cannot send requests. To check links to websites, run: octavo check --rule {NETWORK_RULE}"
        )
    chosen_rules = _resolve_rules(rules) or _resolve_rules(_string_list(settings, "rules"), where) or DEFAULT_RULES
    ignored_everywhere = _resolve_rules(ignored) | _resolve_rules(_string_list(settings, "ignore"), where)
    return RuleChoice(chosen_rules - ignored_everywhere, tuple(_ignored_rules(settings)))


def _read_folder_settings(folder: Path) -> Mapping[str, Any]:
    files = Folder(folder.resolve(), folder.resolve())
    if not files.has_file(Path(SETTINGS_FILE)):
        return {}
    text = files.text(Path(SETTINGS_FILE))
    if text is None:
        raise _failure(f"it {files.problems[0].message.removesuffix('.')}")
    try:
        settings = parse_toml(text)
    except ValueError as error:
        raise _failure(str(error)) from None
    _refuse_unknown(settings, ("rules", "ignore", "paths"), "")
    return settings


def _refuse_unknown(section: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for name in section:
        if name in _COMMANDS:
            raise _failure("a folder cannot name commands. Add linters to config.toml")
        if name not in known:
            suggestion = did_you_mean(name[:40], known)
            raise _failure(f"{where}{name[:40]} is not a setting.{suggestion} The settings are {', '.join(known)}")


def _ignored_rules(settings: Mapping[str, Any]) -> Iterator[tuple[str, frozenset[str]]]:
    sections = settings.get("paths", {})
    if not isinstance(sections, dict) or len(sections) > _MAX_PATH_PATTERNS:
        raise _failure(f'paths must have at most {_MAX_PATH_PATTERNS} sections, such as [paths."drafts/**"]')
    for pattern, section in sections.items():
        if not isinstance(section, dict):
            raise _failure('paths must have sections, such as [paths."drafts/**"]')
        _refuse_unknown(section, ("ignore",), f"paths.{pattern[:40]!r}.")
        yield pattern, _resolve_rules(_string_list(section, "ignore"), f" in {SETTINGS_FILE}")


def _string_list(section: Mapping[str, Any], name: str) -> list[str]:
    names = section.get(name, [])
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise _failure(f'{name} must be a list of rules, such as ["link", "image"]')
    return names


def _resolve_rules(names: Sequence[str], where: str = "") -> frozenset[str]:
    for name in names:
        if name not in (*RULES, DEFAULT_NAME):
            suggestion = did_you_mean(name[:40], RULES) or " For a list, run: octavo help check"
            raise Failure(f"Unknown rule {name[:40]!r}{where}.{suggestion}", USAGE)
    chosen_names = frozenset(name for name in names if name != DEFAULT_NAME)
    return chosen_names | DEFAULT_RULES if DEFAULT_NAME in names else chosen_names


def _failure(reason: str) -> Failure:
    return Failure(f"Could not read {SETTINGS_FILE}: {reason}.", USAGE)
