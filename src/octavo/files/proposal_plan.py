"""Plans the changes of a proposal to its change request, before anything is sent.

Start at `ProposalPlanner`. `page_change` merges the changes in a file with the current content of its page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from octavo.api.content import Page, Revision
from octavo.api.safety import safe_line
from octavo.documents import page_trees
from octavo.documents.folders.folder import (
    ContentsEntry,
    is_page_path,
    link_urls,
    linked_path,
    rewrite_links,
    slug_source,
    walk_entries,
    why_unsafe,
)
from octavo.documents.folders.layout import SUMMARY, FolderLayout, PageFile, normalize
from octavo.documents.merging import page_merge
from octavo.documents.merging.revision_merge import PageOrder, TreeVersion, merge_page_order
from octavo.documents.source_reader import find_markers
from octavo.files.local_changes import (
    NEW_PAGE_PREFIX,
    LocalFiles,
    PagePlacement,
    TableOfContents,
    deleted_pages,
    page_placements,
    set_server_ids,
    to_page_tree,
    with_missing_entries,
    without_entries,
)
from octavo.files.pulled_folder import PulledFolder, TrackedFile, is_utf8

_TITLE = "title"
_MAX_NEW_FILE_BYTES = 1_000_000
ReadText = Callable[[Page], Awaitable[str | None]]


@dataclass
class ProposalPlan:
    """The changes that a proposal sends. The ID of a new page is `NEW_PAGE_PREFIX` and its path."""

    link_converter: LinkConverter
    restore_revision_id: str = ""
    """ID of the revision from which pages are restored."""
    contents: TableOfContents = field(default_factory=list)
    """The local table of contents, without changes that cannot be sent."""
    new_files: dict[str, bytes] = field(default_factory=dict)
    sent_files: dict[str, str] = field(default_factory=dict)
    """IDs of new files that an interrupted proposal has already sent, by path."""
    new_pages: dict[str, FileVersion] = field(default_factory=dict)
    """Pages to add, by ID."""
    placements: list[PagePlacement] = field(default_factory=list)
    """Insertions and moves of pages, in the order in which they are sent."""
    edits: dict[str, PageChange] = field(default_factory=dict)
    """Changes of the text and fields of existing pages, by ID."""
    restored: list[str] = field(default_factory=list)
    """IDs of pages that an earlier proposal deleted, and whose files are in the folder again."""
    sent_edits: list[str] = field(default_factory=list)
    """IDs of locally changed pages whose changes the change request already has."""
    deletions: list[str] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)
    """Conflicts with main and conflict markers in files, as sentences without full stop. If any, nothing is sent."""
    unsupported: list[str] = field(default_factory=list)
    """Local changes that the API cannot make, such as `a.md layout`. They are not sent."""
    notes: list[str] = field(default_factory=list)
    """Sentences with the reasons why files are not proposed."""

    @property
    def is_empty(self) -> bool:
        """True if there are no changes to send."""
        return not (self.new_files or self.new_pages or self.placements or self.edits or self.deletions)

    @property
    def moved(self) -> list[str]:
        """IDs of the existing pages that get another parent or position. Restored pages are left out."""
        return [each.id for each in self.placements if not each.is_new and each.id not in self.restored]

    @property
    def summary(self) -> str:
        """The changes as text, such as `3 pages edited, 1 moved`. Empty if there are none."""
        counts = (
            (len(self.edits), "edited"),
            (len(self.new_pages), "added"),
            (len(self.restored), "restored"),
            (len(self.moved), "moved"),
            (len(self.deletions), "deleted"),
        )
        counts_and_words = [(count, word) for count, word in counts if count]
        parts = [
            f"{count} {'page' if count == 1 else 'pages'} {word}" if number == 0 else f"{count} {word}"
            for number, (count, word) in enumerate(counts_and_words)
        ]
        if file_count := len(self.new_files):
            parts.append(f"{file_count} {'file' if file_count == 1 else 'files'} added")
        return ", ".join(parts)


@dataclass(frozen=True)
class Baseline:
    """The files with which the folder is compared: the last pull's files, with the changes that were already sent."""

    files: dict[str, TrackedFile]
    """Files of the last pull or proposal, by path. Their texts are in `.octavo/base`."""
    entries: TableOfContents

    @cached_property
    def pages(self) -> dict[str, TrackedFile]:
        """The files of pages, by page ID."""
        return {file.id: file for file in self.files.values() if file.kind == "page"}


@dataclass
class ProposalPlanner:
    """Finds the local changes of a folder, and merges them with a change request."""

    folder: PulledFolder
    local: LocalFiles
    baseline: Baseline
    base: Revision
    """The revision that was pulled last."""
    origin: Revision
    """The main content when the change request was created or last updated. `base` if there is no change request."""
    last_revision: Revision
    """The content of the change request after the last complete proposal. Without such a proposal, `base`."""
    head: Revision
    """The current content of the change request, or of the space if there is no change request."""
    read_text: ReadText
    """A function that returns the Markdown of a page at `head`, else at `origin`. None if the server returns none."""

    async def plan(self) -> ProposalPlan:
        """Return the changes to send. Raises ApiError, OSError or NotPulled."""
        paths_by_id = {file.id: self.local.current_path(file) for file in self.baseline.files.values() if file.id}
        restored_pages = [page.model_copy(update={"pages": ()}) for page in self._restored_pages()]
        revision = self.head.model_copy(update={"pages": (*self.head.pages, *restored_pages)})
        layout = FolderLayout.of(revision, self.folder.space_id, paths_by_id)
        set_server_ids(self.baseline.entries, self.local.entries, layout.entries)
        restored_ids = [page.id for page in restored_pages]
        plan = ProposalPlan(LinkConverter(layout), restore_revision_id=self.origin.id, restored=restored_ids)
        self._plan_tree(plan)
        self._plan_files(plan)
        new_pages = {each.path for each in plan.new_pages.values()}
        plan.link_converter.new_paths = frozenset({*plan.new_files, *plan.sent_files, *new_pages})
        for file in self.baseline.pages.values():
            await self._plan_page(plan, file)
        return plan

    def _restored_pages(self) -> Iterator[Page]:
        """Yield the pages of `origin` that an earlier proposal deleted, and whose files exist again."""
        other_ids = {
            *(page.id for page in self.head.walk()),
            *(each.id for each in walk_entries(self.baseline.entries)),
        }
        for entry in walk_entries(self.local.entries):
            page, file = self.origin.find(entry.id), self.baseline.pages.get(entry.id)
            if entry.id not in other_ids and page and file and self.local.has(file):
                yield page

    def _plan_tree(self, plan: ProposalPlan) -> None:
        if find_markers(self.local.text(SUMMARY)):
            plan.blocked.append(f"{SUMMARY} has conflict markers")
        plan.contents = self._local_entries(plan)
        listed_ids = {each.id for each in walk_entries(self.baseline.entries) if each.kind == "document"}
        unread_ids = listed_ids - self.baseline.pages.keys()
        pulled_contents = without_entries(self.baseline.entries, unread_ids)
        missing_ids = {each for each in unread_ids if each.removeprefix(NEW_PAGE_PREFIX) not in self.local.data}
        local_contents = without_entries(plan.contents, missing_ids)
        head_nodes = page_trees.page_nodes(self.head.pages)
        locally_edited_ids = {
            page_id
            for page_id, file in self.baseline.pages.items()
            if self.local.has(file) and self.local.is_changed(file)
        }
        entries = {entry.id: entry for entry in walk_entries(local_contents)}
        # An interrupted proposal sent the local pages that are in the head, but were not in the last pull. So their
        # local position is newer.
        base_pages = page_trees.with_missing_pages(to_page_tree(pulled_contents), head_nodes, entries.keys())
        versions = (base_pages, head_nodes, to_page_tree(local_contents))
        order = merge_page_order(
            *map(TreeVersion.of, versions),
            is_edited=lambda _, after: after["id"] in locally_edited_ids or self._has_changed_on_main(after["id"]),
        )
        self._add_conflicts(plan, order)
        head_ids = {page.id for page in self.head.walk()}
        new_ids = dict.fromkeys(page_id for page_id in entries if page_id.startswith(NEW_PAGE_PREFIX))
        unknown_ids = entries.keys() - head_ids - new_ids.keys() - {*plan.restored}
        for page_id in unknown_ids & self.baseline.pages.keys():
            path = _path_of(entries[page_id])
            if page_id in locally_edited_ids and ("deleted", page_id) not in order.conflicts:
                plan.blocked.append(f"{path}: the change request does not have its page")
            elif page_id not in locally_edited_ids and self.base.find(page_id) is None:
                advice = "To add it as a new page, run octavo pull first."
                plan.notes.append(f"{path} is not proposed, because its page was deleted. {advice}")
        kept_ids = {parent: [each for each in ids if each not in unknown_ids] for parent, ids in order.children.items()}
        order = PageOrder(kept_ids)
        for page_id in new_ids:
            path = page_id.removeprefix(NEW_PAGE_PREFIX)
            text = self.local.text(path)
            if find_markers(text):
                plan.blocked.append(f"{path} has conflict markers")
            title = PageFile(text).title or entries[page_id].title or PurePosixPath(path).stem
            plan.new_pages[page_id] = FileVersion(path, text, title)
            plan.unsupported += [f"{path} {key}" for key in PageFile(text).other_keys()]
        plan.placements = list(page_placements(head_nodes, order, new_ids))
        restored_pages = [page for page in self.origin.walk() if page.id in plan.restored]
        plan.deletions = deleted_pages(page_trees.page_nodes((*self.head.pages, *restored_pages)), order)

    def _local_entries(self, plan: ProposalPlan) -> TableOfContents:
        """Return the local table of contents without changes that cannot be sent. Record such changes in `plan`."""
        old_entries_by_id = {entry.id: entry for entry in walk_entries(self.baseline.entries)}
        missing_ids = {page_id for page_id, file in self.baseline.pages.items() if not self.local.has(file)}
        local_entries = without_entries(self.local.entries, missing_ids)  # A copy: its entries are changed below.
        entries_by_id = {entry.id: entry for entry in walk_entries(local_entries)}
        left_out_ids = set()
        for entry_id, entry in entries_by_id.items():
            old_entry = old_entries_by_id.get(entry_id)
            if entry.kind != "document" and old_entry is None:
                plan.unsupported.append(f"{SUMMARY} new {entry.kind} “{entry.title}”")
                left_out_ids.add(entry_id)
            elif entry.kind != "document" and old_entry is not None and _entries_differ(old_entry, entry):
                plan.unsupported.append(f"{SUMMARY} {entry.kind} “{entry.title}”")
                entry.title, entry.target, entry.slug = old_entry.title, old_entry.target, old_entry.slug
                entry.link_title = old_entry.link_title
            elif (
                entry.kind == "document"
                and old_entry is None
                and (entry.path is None or entry.path.as_posix() not in self.local.data)
            ):
                plan.notes.append(f"{_path_of(entry)} does not exist, so it is not proposed.")
                left_out_ids.add(entry_id)
            elif entry_id.startswith(NEW_PAGE_PREFIX) and not is_utf8(
                self.local.data.get(entry_id.removeprefix(NEW_PAGE_PREFIX), b"")
            ):
                plan.unsupported.append(f"{_path_of(entry)} text, which is not UTF-8")
                left_out_ids.add(entry_id)
            elif entry.link_title != (old_title := old_entry.link_title if old_entry is not None else ""):
                plan.unsupported.append(f"{SUMMARY} short title of “{entry.title}”")
                entry.link_title = old_title
        kept_ids = set()
        for entry_id, old_entry in old_entries_by_id.items():
            if old_entry.kind != "document" and entry_id not in entries_by_id:
                plan.unsupported.append(f"{SUMMARY} deleted {old_entry.kind} “{old_entry.title}”")
                kept_ids.add(entry_id)
        for entry_id, file in self.baseline.pages.items():
            if entry_id not in missing_ids and entry_id not in entries_by_id:
                plan.notes.append(
                    f"{file.path} is not in {SUMMARY}, but its file exists. To delete the page, delete the file."
                )
                kept_ids.add(entry_id)
        return with_missing_entries(without_entries(local_entries, left_out_ids), self.baseline.entries, kept_ids)

    def _add_conflicts(self, plan: ProposalPlan, order: PageOrder) -> None:
        for kind, page_id in order.conflicts:
            file = self.baseline.pages.get(page_id)
            path = self.local.current_path(file) if file is not None else page_id
            if kind == "moved":
                plan.blocked.append(f"{path} was moved on main too")
            elif kind == "deleted" and file is not None:
                is_deleted_here = path not in self.local.data
                reason = "you deleted it, and it changed on main" if is_deleted_here else "it was deleted on main"
                plan.blocked.append(f"{path}: {reason}")

    def _has_changed_on_main(self, page_id: str) -> bool:
        before, now = self.last_revision.find(page_id), self.head.find(page_id)
        if before is None or now is None:
            return False
        return (before.document_id, before.title, before.description) != (now.document_id, now.title, now.description)

    def _plan_files(self, plan: ProposalPlan) -> None:
        baseline_paths = {self.local.current_path(file) for file in self.baseline.files.values()}
        for path in sorted(self.local.data.keys() - baseline_paths):
            if not is_page_path(path) and path != SUMMARY:
                self._plan_file(plan, path, self.local.data[path])
        for path in self._linked_files(plan):
            if (
                path not in (baseline_paths | plan.new_files.keys() | plan.sent_files.keys())
                and (data := self.folder.data(path)) is not None
            ):
                self._plan_file(plan, path, data)
        for file in self.baseline.files.values():
            if file.kind in ("file", "reusable", "variables") and self.local.is_changed(file):
                path = self.local.current_path(file)
                plan.unsupported.append(f"{path} {'edited' if path in self.local.data else 'deleted'}")
        plan.notes += [f"{path} is not in {SUMMARY}, so it is not proposed." for path in self.local.unlisted]

    def _plan_file(self, plan: ProposalPlan, path: str, data: bytes) -> None:
        if len(data) > _MAX_NEW_FILE_BYTES:
            plan.unsupported.append(f"{path} larger than {_MAX_NEW_FILE_BYTES // 1_000_000} MB")
        elif (sent_id := self._find_sent_file(plan, path, len(data))) is not None:
            plan.sent_files[path] = sent_id
        else:
            plan.new_files[path] = data

    def _find_sent_file(self, plan: ProposalPlan, path: str, size: int) -> str | None:
        """Return the ID of a file with the name of `path` and this size that an interrupted proposal sent, or None."""
        other_ids = {*(file.id for file in self.base.files), *(file.id for file in self.baseline.files.values())}
        other_ids |= set(plan.sent_files.values())
        new_files = (file for file in self.head.files if file.id not in other_ids)
        name = PurePosixPath(path).name
        return next((file.id for file in new_files if (file.name, file.size) == (name, size)), None)

    def _linked_files(self, plan: ProposalPlan) -> Iterable[str]:
        paths = [version.path for version in plan.new_pages.values()]
        paths += [self.local.current_path(file) for file in self.baseline.pages.values() if self.local.is_changed(file)]
        for path in paths:
            for url in link_urls(PageFile(self.local.text(path)).body):
                target = linked_path(url, path)
                if PurePosixPath(target).suffix and not is_page_path(target) and not why_unsafe(target):
                    yield target

    async def _plan_page(self, plan: ProposalPlan, file: TrackedFile) -> None:
        path = self.local.current_path(file)
        page = plan.link_converter.layout.pages.get(file.id)
        if path not in self.local.data or page is None:
            return
        if find_markers(self.local.text(path)):
            plan.blocked.append(f"{path} has conflict markers")
            return
        if not is_utf8(self.local.data[path]):
            plan.unsupported.append(f"{path} text, which is not UTF-8")
            return
        if not file.base_sha256:  # The page was added by an interrupted proposal, perhaps with broken links.
            page_file = PageFile(self.local.text(path))
            text = plan.link_converter.server_text(path, page_file.body, page, "")
            fields = {_TITLE: page_file.title or page.title, **page_file.fields()}
            has_fields = all((getattr(page, name, None) or None) == (value or None) for name, value in fields.items())
            # While pages are still to be added, links to these pages may be broken, so this page is edited again.
            if not plan.new_pages and has_fields and normalize(text) == normalize(await self.read_text(page) or ""):
                plan.sent_edits.append(file.id)
            else:
                plan.edits[file.id] = PageChange(fields, text)
            return
        before, local = self._versions(file, path)
        if before.text == local.text and before.title == local.title and before.path == local.path:
            return
        bodies = [normalize(PageFile(each.text).body) for each in (before, local)]
        has_new_text = bodies[0] != bodies[1]
        server_text = await self.read_text(page) if has_new_text else None
        if has_new_text and server_text is None:
            plan.unsupported.append(f"{path} text, which the API does not return")
            return
        change = page_change(before, local, page, server_text, plan.link_converter)
        plan.blocked += [f"{path}: {reason}" for reason in change.blocked]
        plan.unsupported += [f"{path} {key}" for key in change.unsupported]
        if change.fields or change.text is not None:
            plan.edits[file.id] = change
        elif not change.blocked and not change.unsupported:
            plan.sent_edits.append(file.id)

    def _versions(self, file: TrackedFile, path: str) -> tuple[FileVersion, FileVersion]:
        old_text, new_text = self.folder.base_text(file.base_sha256), self.local.text(path)
        titles = [PageFile(old_text).title, PageFile(new_text).title]
        entries = [
            next((each for each in walk_entries(tree) if each.id == file.id), None)
            for tree in (self.baseline.entries, self.local.entries)
        ]
        entry_titles = [entry.title if entry is not None else "" for entry in entries]
        titles = [file_title or entry_title for file_title, entry_title in zip(titles, entry_titles, strict=True)]
        if titles[0] == titles[1] and all(entry_titles) and entry_titles[0] != entry_titles[1]:
            titles[1] = entry_titles[1]  # Only the table of contents has the new title.
        return FileVersion(file.path, old_text, titles[0]), FileVersion(path, new_text, titles[1])


def _entries_differ(before: ContentsEntry, after: ContentsEntry) -> bool:
    return (before.title, before.target, before.slug) != (after.title, after.target, after.slug)


def _path_of(entry: ContentsEntry) -> str:
    return entry.path.as_posix() if entry.path is not None else entry.title


@dataclass(frozen=True)
class FileVersion:
    """The file of a page, in the baseline or as it is in the folder now."""

    path: str
    text: str
    title: str
    """The title of the page, in the file or else in the table of contents."""


@dataclass
class PageChange:
    """The changes of one page, as fields of an edit."""

    fields: dict[str, Any] = field(default_factory=dict)
    text: str | None = None
    """The new Markdown. None if the text does not change."""
    blocked: list[str] = field(default_factory=list)
    """Reasons why the page cannot be sent, such as “main changed the same words”."""
    unsupported: list[str] = field(default_factory=list)
    """Names of changed keys in the front matter that the API cannot edit."""


@dataclass
class LinkConverter:
    """Turns links between files of the folder into links that the server understands, with IDs of pages and files."""

    layout: FolderLayout
    """The paths in the folder of the pages and files of the change request."""
    new_pages: Mapping[str, str] = field(default_factory=dict)
    """IDs of the new pages that were already sent, by path."""
    new_files: Mapping[str, str] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    """Paths of new pages and files that have no ID yet, and to which the rewritten Markdown links."""
    new_paths: frozenset[str] = frozenset()

    def server_text(self, path: str, markdown: str, page: Page | None, server_markdown: str) -> str:
        """Return `markdown`, the text of the file `path`, with links for the server. A link gets the URL that
        `server_markdown`, the text of `page` on the server, has for the target of the link, else a URL with an ID.
        Links to new pages and files stay. `page` is None for a new page."""
        new_urls: dict[str, str] = {}
        if page is not None:
            for url in link_urls(server_markdown):
                new_urls.setdefault(self.layout.url_in_folder(url, page) or url, url)
        return rewrite_links(markdown, lambda url: new_urls.get(url) or self._server_url(url, path, page))

    def _server_url(self, url: str, path: str, page: Page | None) -> str | None:
        target = linked_path(url, path)
        target_id = self.layout.ids_by_path.get(target) if target not in self.new_paths else None
        # A URL that is relative to the path of a page would break when one of the pages moves.
        is_stable = page is not None and page.git is not None and self.layout.leads_to(url, page, target_id or "")
        if target_id is None or is_stable:
            return None
        return _url_by_id("pages" if target_id in self.layout.pages else "files", target_id, url)

    def with_new_ids(self, path: str, markdown: str) -> str:
        """Return `markdown` with IDs in its links to new pages and files. Add paths that have no ID yet to `pending`."""
        return rewrite_links(markdown, lambda url: self._new_url(url, path))

    def _new_url(self, url: str, path: str) -> str | None:
        target = linked_path(url, path)
        if target in self.new_files:
            return _url_by_id("files", self.new_files[target], url)
        if target in self.new_pages:
            return _url_by_id("pages", self.new_pages[target], url)
        if target in self.new_paths:
            self.pending.add(target)
        return None


def _url_by_id(kind: str, target_id: str, url: str) -> str:
    _, separator, anchor = url.partition("#")
    return f"/{kind}/{target_id}{separator}{anchor}"


def page_change(
    before: FileVersion, local: FileVersion, page: Page, server_text: str | None, links: LinkConverter
) -> PageChange:
    """Return the changes from `before` to `local`, merged with `page`. If `server_text` is None, ignore the text."""
    change = PageChange()
    old_file, new_file = PageFile(before.text), PageFile(local.text)
    if server_text is not None:
        _merge_text(change, before, local, page, server_text, links)
    new_fields = new_file.fields()
    for name, old_value in old_file.fields().items():
        _merge_field(change, name, old_value, new_fields[name], getattr(page, name))
    _merge_field(change, _TITLE, before.title, local.title, page.title)
    _keep_title(change, page, local)
    slugs = [page_trees.page_slug(slug_source(PurePosixPath(each.path))) for each in (before, local)]
    if slugs[0] != slugs[1] and page.slug != slugs[1]:
        change.fields["slug"] = slugs[1]
    old_keys, new_keys = old_file.other_keys(), new_file.other_keys()
    change.unsupported += [key for key in {**old_keys, **new_keys} if old_keys.get(key) != new_keys.get(key)]
    return change


def _merge_text(
    change: PageChange, before: FileVersion, local: FileVersion, page: Page, server: str, links: LinkConverter
) -> None:
    old_text, new_text = (
        normalize(links.server_text(each.path, PageFile(each.text).body, page, server)) for each in (before, local)
    )
    server_text = normalize(server)
    if new_text in (server_text, old_text):
        return
    text = new_text
    if server_text != old_text:
        merged_page = page_merge.merge(old_text, server_text, new_text)
        text = merged_page.text()
        if merged_page.conflicts:
            change.blocked.append("main changed the same words")
            return
    if text != server_text:
        change.text = text if not server or server.endswith("\n") else text.rstrip("\n")


def _merge_field(change: PageChange, name: str, before: Any, local: Any, server: Any) -> None:
    values = [_plain_value(value) for value in (before, local, server)]
    if values[1] in (values[0], values[2]):
        return
    if values[2] != values[0]:
        change.blocked.append(f"main changed the {name.replace('_', ' ')} too")
    elif local is not None or name not in (_TITLE, "hidden", "no_index", "no_robots_index"):
        change.fields[name] = local


def _plain_value(value: Any) -> Any:
    """Return a value for comparisons: texts as one line without control characters, and None for an empty value."""
    return (" ".join(safe_line(value).split()) if isinstance(value, str) else value) or None


def _keep_title(change: PageChange, page: Page, local: FileVersion) -> None:
    """If the new text begins with a heading that is not the title of the page, add a title to `change`. Otherwise, the
    server would make this heading the title."""
    if change.text is None or _TITLE in change.fields:
        return
    heading = page_trees.leading_heading(change.text)
    if heading is not None and heading != page.title:
        change.fields[_TITLE] = page.title if _plain_value(local.title) != _plain_value(heading) else local.title
