"""Sends the changes in a pulled folder as a change request. The change request is never merged here.

The changes are sent in several edits, and an interrupted proposal can be resumed. `.octavo/state.json` names the change
request that receives the edits. A resumed proposal compares the folder with the change request again, so that nothing
is sent twice.
"""

from __future__ import annotations

import mimetypes
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any, Literal

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import (
    ContentEdit,
    DeletePage,
    DocumentBody,
    InsertFiles,
    InsertPage,
    NewFile,
    Page,
    RevertPage,
    Revision,
    UpdatePage,
)
from octavo.api.operation import ChangeRequestRef, ContentRef, RevisionRef, SpaceRef
from octavo.api.safety import safe_line
from octavo.data.live import Live
from octavo.data.queries import UNDECIDED
from octavo.data.writes.change_request_writes import create, toggle_draft
from octavo.data.writes.content_writes import MAX_CHANGES_PER_EDIT, MAYBE_OVERWRITTEN, NO_CONTENT_EDITS, edit
from octavo.documents import front_matter, page_trees
from octavo.documents.folders.folder import slug_source, walk_entries
from octavo.documents.folders.layout import SUMMARY, PageFile, single_line, with_other_keys_of
from octavo.documents.folders.table_of_contents import write_summary
from octavo.documents.yaml_values import write_scalar
from octavo.files import local_changes
from octavo.files.folder_merge import finish_proposal
from octavo.files.proposal_plan import Baseline, ProposalPlan, ProposalPlanner
from octavo.files.pulled_folder import Download, PulledFolder, SpaceReader, TrackedFile

MAX_EDIT_BYTES = 4_000_000
"""Maximum size of an edit, in bytes of text and files. The embedded platform accepts at most 8 MiB."""
Failure = Literal["failed", "blocked", "unknown"]


class ProposalFailed(Exception):
    """Raised if a proposal could not be made or completed. Its text is a sentence for the user."""

    def __init__(self, message: str, kind: Failure = "failed") -> None:
        super().__init__(message)
        self.kind = kind


@dataclass
class Proposal:
    """Proposes the local changes of a folder in a new or existing change request."""

    folder: PulledFolder
    live: Live
    download: Download
    subject: str
    into: ChangeRequest | None = None
    """Change request to add to. None for that of the last proposal, or for a new one if that was merged."""
    local: local_changes.LocalFiles = field(init=False)
    baseline: Baseline = field(init=False)
    head: Revision = field(init=False)
    """Current revision of the change request, or of the space if there is no change request."""
    change_request: ChangeRequest | None = None
    """The change request that receives the changes. None until `send` creates a change request."""

    async def plan(self) -> ProposalPlan:
        """Load the versions, and return the changes to send. Raises ApiError, OSError, NotPulled or ProposalFailed."""
        if self.into is not None and self.into.status not in UNDECIDED:
            raise ProposalFailed(f"Could not propose: #{self.into.number} is {self.into.status}.", "blocked")
        await finish_proposal(self.folder, self.live.send)
        self.local = local_changes.LocalFiles.read(self.folder)
        self.change_request = self.into or await self._open_request()
        self._select_record()
        at = self.change_request.ref(self._space) if self.change_request is not None else self._space
        reader, pulled_reader = self._reader(at), self._reader_of(self.folder.revision_id)
        self.head, base = await reader.revision(), await pulled_reader.revision()
        head_ids = {page.id for page in self.head.walk()}
        proposed_id = self.folder.proposal.get("revision") if self._is_request_stored else None
        last_revision = await self._reader_of(proposed_id).revision() if proposed_id else base
        request, origin_id = self.change_request, self.folder.revision_id
        if request is not None:
            origin_id = request.revision_merged_ancestor or request.revision_initial or origin_id
        origin_reader = self._reader_of(origin_id)
        origin = await origin_reader.revision() if origin_id != base.id else base
        files = local_changes.files_after_proposal(self.folder) if self._is_request_stored else dict(self.folder.files)
        pulled_entries = local_changes.contents_of(self.folder, self.folder.files)
        self.baseline = Baseline(files, local_changes.contents_of(self.folder, files, pulled_entries))
        self._recognize_new_pages(base, self.baseline)

        async def read_text(page: Page) -> str | None:
            return await (reader if page.id in head_ids else origin_reader).text(page)

        versions = (base, origin, last_revision, self.head)
        return await ProposalPlanner(self.folder, self.local, self.baseline, *versions, read_text).plan()

    def _reader(self, at: ContentRef) -> SpaceReader:
        return SpaceReader(self.live.send, self.download, at)

    def _reader_of(self, revision_id: str) -> SpaceReader:
        return self._reader(RevisionRef(space_id=self.folder.space_id, revision_id=revision_id))

    @property
    def conflict_advice(self) -> str:
        """Advice to the user on how to proceed after a conflict, as a sentence without full stop."""
        if self.change_request is not None and self.change_request.outdated:
            return f"Update #{self.change_request.number} from main, then propose again"
        return "Run octavo pull, then propose again"

    @property
    def _space(self) -> SpaceRef:
        return SpaceRef(space_id=self.folder.space_id)

    @property
    def is_interrupted(self) -> bool:
        """True if the change request has a proposal that is not complete. `send` completes it."""
        return self._is_request_stored and not self.folder.proposal.get("isComplete")

    @property
    def _is_request_stored(self) -> bool:
        return self.change_request is not None and self.folder.proposal.get("changeRequest") == self.change_request.id

    def _select_record(self) -> None:
        """Put the record of this change request into `folder.proposal`, and records of others into its key `others`."""
        if self.change_request is None or self._is_request_stored:
            return
        record = self.folder.proposal
        others = record.pop("others", {}) | ({record["changeRequest"]: record} if "changeRequest" in record else {})
        self.folder.proposal = {**others.pop(self.change_request.id, {}), "others": others}

    async def _open_request(self) -> ChangeRequest | None:
        """Return the change request of the last proposal. None if there is none. Raises ApiError, or ProposalFailed if
        the change request was edited after the last proposal was complete."""
        change_request_id = self.folder.proposal.get("changeRequest")
        if not change_request_id:
            return await self._request_without_stored_id()
        at = ChangeRequestRef(space_id=self.folder.space_id, change_request_id=change_request_id)
        change_request = await self.live.send(change_requests.Get(at=at))
        if self.folder.proposal.get("isComplete") and change_request.revision != self.folder.proposal.get("revision"):
            reason = f"Could not propose: #{change_request.number} was edited since your last proposal."
            advice = f"To add to it all the same, run: octavo propose --into {change_request.number}"
            raise ProposalFailed(f"{reason} {advice}", "blocked")
        return change_request

    async def _request_without_stored_id(self) -> ChangeRequest | None:
        """Return the unedited draft that an interrupted proposal created without storing its ID, else None."""
        subject, earlier_ids = self.folder.proposal.get("creating"), self.folder.proposal.get("earlierDrafts", ())
        if not isinstance(subject, str):
            return None
        drafts = [each for each in await self._drafts() if each.revision == each.revision_initial]
        return next(
            (each for each in drafts if each.subject == safe_line(subject) and each.id not in earlier_ids), None
        )

    async def _drafts(self) -> tuple[ChangeRequest, ...]:
        me = self.live.outbox.me
        creator = {"creator": me.id} if me is not None else {}
        return (await self.live.send(change_requests.List(at=self._space, status="draft", limit=100, **creator))).items

    def _recognize_new_pages(self, base: Revision, baseline: Baseline) -> None:
        """Give local pages that were added since the last pull the IDs that they got in an earlier proposal. If the
        addition of a page was not recorded, find the page by its title, and add it to `baseline` without a text."""
        if not self._is_request_stored:
            return
        recorded_pages = [file for file in baseline.files.values() if file.kind == "page"]
        recorded_ids = {self.local.current_path(file): file.id for file in recorded_pages}
        old_ids = {*(page.id for page in base.walk()), *recorded_ids.values()}
        added_ids_by_title: dict[str, list[str]] = {}
        for page in self.head.walk():
            if page.id not in old_ids and page.type == "document" and not self.folder.proposal.get("isComplete"):
                added_ids_by_title.setdefault(page.title, []).append(page.id)
        for entry in walk_entries(self.local.entries):
            if not entry.id.startswith(local_changes.NEW_PAGE_PREFIX):
                continue
            path = entry.id.removeprefix(local_changes.NEW_PAGE_PREFIX)
            title = PageFile(self.local.text(path)).title or entry.title
            if path in recorded_ids:
                entry.id = recorded_ids[path]
            elif added_ids_by_title.get(title):
                entry.id = added_ids_by_title[title].pop(0)
                baseline.files[path] = TrackedFile(path, "page", entry.id)

    async def send(self, plan: ProposalPlan, *, is_draft: bool) -> ChangeRequest:
        """Send a plan. Mark a draft change request as ready for review, unless `is_draft` or `self.into` is set. Return
        the change request with the changes. Raises ApiError, OSError or ProposalFailed."""
        if self.change_request is None:
            self.change_request = await self._create()
        request_fields = {"changeRequest": self.change_request.id, "number": self.change_request.number}
        self.folder.proposal |= {**request_fields, "isComplete": False}
        self.folder.save()
        sender = _Sender(self, plan)
        await sender.send()
        self.folder.proposal["summary"] = self.folder.store_base(self._sent_summary(plan))
        self.record(sender)
        at = self.change_request.ref(self._space)
        request = await self.live.send(change_requests.Get(at=at))
        if request.status == "draft" and not is_draft and self.into is None:
            sent = await toggle_draft(self.live, at, request)
            request = await self.live.send(change_requests.Get(at=at)) if sent.kind == "done" else request
        self.folder.proposal |= {"isComplete": True, "revision": request.revision or ""}
        self.folder.save()
        return request

    async def _create(self) -> ChangeRequest:
        self.folder.proposal |= {"creating": self.subject, "earlierDrafts": [each.id for each in await self._drafts()]}
        self.folder.save()
        sent = await create(self.live, self._space, self.subject)
        if sent.result is None:
            raise sent.error or _failure(sent.kind, sent.message)
        return sent.result

    def record(self, sender: _Sender) -> None:
        """Store in the folder which pages and files `sender` has sent, and the hash of each. Raises OSError."""
        proposal = self.folder.proposal
        ids_by_path = sender.completed_pages
        kept_ids = {page.id for page in self.head.walk()} - {*ids_by_path.values()}
        pages = {path: page for path, page in proposal.get("pages", {}).items() if page["id"] in kept_ids}
        for path, page_id in ids_by_path.items():
            pages[path] = {"id": page_id, "sha256": self.folder.store_base(self._sent_text(path, page_id))}
        new_files = sender.plan.new_files
        hashes = {
            path: sha256(new_files.get(path) or self.folder.data(path) or b"").hexdigest() for path in sender.file_ids
        }
        proposal["pages"] = pages
        proposal["files"] = {**proposal.get("files", {}), **sender.file_ids}
        proposal["hashes"] = {**proposal.get("hashes", {}), **hashes}
        self.folder.save()

    def _sent_text(self, path: str, page_id: str) -> str:
        """Return a page file's text, without changes of front matter keys that cannot be sent. Raises NotPulled."""
        file = self.baseline.pages.get(page_id)
        before = self.folder.base_text(file.base_sha256) if file is not None and file.base_sha256 else ""
        return with_other_keys_of(before, self.local.text(path))

    def _sent_summary(self, plan: ProposalPlan) -> str:
        """Return the text of `SUMMARY.md`, without changes that cannot be sent."""
        text, entries = self.local.text(SUMMARY), self.local.entries
        if local_changes.are_equal_tables_of_contents(entries, plan.contents):
            return text
        return local_changes.edited_summary(self.folder, text, entries, plan.contents) or write_summary(plan.contents)

    async def apply(self, changes: list[ContentEdit]) -> None:
        """Send `changes` as one edit, then read the content. Raises ApiError or ProposalFailed, even after sending."""
        assert self.change_request is not None
        at = self.change_request.ref(self._space)
        outcome = await edit(self.live, at, self.head.id, changes)
        if outcome.kind != "done":
            if outcome.message == NO_CONTENT_EDITS:
                raise ProposalFailed("Could not propose: this server takes no content through its API.")
            raise outcome.error or _failure(outcome.kind, f"Could not propose: {outcome.message}")
        # Read the revision of this edit, because the next edit must not replace later edits of other users.
        edited_ref = at.revision_ref(outcome.revision) if outcome.revision is not None else at
        self.head = await self._reader(edited_ref).revision()
        if outcome.replaced_revision is not None:
            raise ProposalFailed(
                f"Could not complete the proposal: {MAYBE_OVERWRITTEN[:1].lower()}{MAYBE_OVERWRITTEN[1:]} Then propose again."
            )


@dataclass
class _Sender:
    proposal: Proposal
    plan: ProposalPlan
    ids: dict[str, str] = field(default_factory=dict)
    """IDs of new pages on the server, by their IDs in the plan."""
    file_ids: dict[str, str] = field(default_factory=dict)
    """IDs of new files on the server, by path."""
    _sent_ids: set[str] = field(default_factory=set)
    """IDs of the pages in the plan whose edits the server already has."""
    _changes: list[ContentEdit] = field(default_factory=list)
    _current_insertions: list[local_changes.PagePlacement] = field(default_factory=list)
    _size: int = 0
    _pending: dict[str, str] = field(default_factory=dict)
    """Texts with links to pages that have no ID yet, by page ID in the plan."""

    async def send(self) -> None:
        await self._send_files()
        moves = {placement.id: placement for placement in self.plan.placements if not placement.is_new}
        for placement in self.plan.placements:
            if placement.parent_id in [inserted.id for inserted in self._current_insertions]:
                await self._flush()  # The parent is a new page, so send its insertion first.
            if placement.is_new:
                await self._insert(placement)
            else:
                if placement.id in self.plan.restored:
                    await self._add(RevertPage(page=placement.id, revision=self.plan.restore_revision_id), 100)
                await self._update(placement.id, placement)
        for plan_id in self.plan.edits:
            if plan_id not in moves:
                await self._update(plan_id, None)
        for plan_id in self.plan.deletions:
            await self._add(DeletePage(page=plan_id), 100)
        await self._flush()
        await self._send_pending()

    async def _send_files(self) -> None:
        self.file_ids = dict(self.plan.sent_files)
        unsent = dict(self.plan.new_files)
        while unsent:
            # Files of the same name and size need an edit each: nothing else tells them apart in the list of files.
            paths: dict[tuple[str, int], str] = {}
            for path, data in unsent.items():
                paths.setdefault((PurePosixPath(path).name, len(data)), path)
            await self._send_different_files({path: unsent.pop(path) for path in paths.values()})
        self.plan.link_converter.new_files = dict(self.file_ids)

    async def _send_different_files(self, files: Mapping[str, bytes]) -> None:
        file_ids_before = {file.id for file in self.proposal.head.files}
        for path, data in files.items():
            kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
            file = NewFile(name=PurePosixPath(path).name, content_type=kind, base64=b64encode(data).decode())
            await self._add(InsertFiles(files=(file,)), len(data) * 4 // 3)
        await self._flush()
        added_ids = {
            (file.name, file.size): file.id for file in self.proposal.head.files if file.id not in file_ids_before
        }
        for path, data in files.items():
            if (added_id := added_ids.get((PurePosixPath(path).name, len(data)))) is not None:
                self.file_ids[path] = added_id

    async def _insert(self, placement: local_changes.PagePlacement) -> None:
        version = self.plan.new_pages[placement.id]
        page = PageFile(version.text)
        body = self.plan.link_converter.server_text(version.path, page.body, None, "")
        text = self._text_with_new_ids(placement.id, body)
        heading = page_trees.leading_heading(text)
        if (heading is not None and heading != version.title) or front_matter.split_page(text)[1]:
            text = f"---\ntitle: {write_scalar(version.title)}\n---\n\n{text}"
        fields: dict[str, Any] = {name: value for name, value in page.fields().items() if value}
        change = InsertPage(
            document=DocumentBody(markdown=text),
            title=version.title[:300],
            slug=page_trees.page_slug(slug_source(PurePosixPath(version.path))),
            into=self._parent_id(placement),
            at=placement.index,
            **fields,
        )
        await self._add(change, _size_of(text), placement)

    async def _update(self, plan_id: str, placement: local_changes.PagePlacement | None) -> None:
        change = self.plan.edits.get(plan_id)
        fields: dict[str, Any] = dict(change.fields) if change is not None else {}
        size = 200
        if change is not None and change.text is not None:
            text = self._text_with_new_ids(plan_id, change.text)
            fields["document"] = DocumentBody(markdown=text)
            size += _size_of(text)
        if placement is not None:
            fields |= {"into": self._parent_id(placement), "at": placement.index}
        await self._add(UpdatePage(page=plan_id, **fields), size)

    @property
    def completed_pages(self) -> dict[str, str]:
        """IDs by path of the new and edited pages that are now the same in the change request and in the folder."""
        plan_ids = {*self.ids, *self.plan.sent_edits, *(self._sent_ids & self.plan.edits.keys())} - self._pending.keys()
        paths = {plan_id: self._path(plan_id) for plan_id in plan_ids}
        return {path: self.ids.get(plan_id, plan_id) for plan_id, path in paths.items() if path}

    def _path(self, plan_id: str) -> str:
        version = self.plan.new_pages.get(plan_id)
        return version.path if version is not None else self.plan.link_converter.layout.paths.get(plan_id, "")

    def _parent_id(self, placement: local_changes.PagePlacement) -> str | None:
        return self.ids.get(placement.parent_id, placement.parent_id) if placement.parent_id is not None else None

    def _text_with_new_ids(self, plan_id: str, markdown: str) -> str:
        """Return a text with the IDs of new pages in its links. If an ID is missing, plan to send the text again."""
        links = self.plan.link_converter
        links.new_pages = {self.plan.new_pages[new_id].path: page_id for new_id, page_id in self.ids.items()}
        links.pending = set()
        text = links.with_new_ids(self._path(plan_id), markdown)
        if links.pending:
            self._pending[plan_id] = text
        return text

    async def _add(self, change: ContentEdit, size: int, inserted: local_changes.PagePlacement | None = None) -> None:
        if self._changes and (len(self._changes) >= MAX_CHANGES_PER_EDIT or self._size + size > MAX_EDIT_BYTES):
            await self._flush()
        self._changes.append(change)
        self._size += size
        if inserted is not None:
            self._current_insertions.append(inserted)

    async def _flush(self) -> None:
        """Send the collected changes as one edit, and find the IDs of added pages. Raises like `apply` and `record`."""
        if not self._changes:
            return
        page_ids_before = {page.id for page in self.proposal.head.walk()}
        await self.proposal.apply(self._changes)
        head = self.proposal.head
        added_pages = [page for page in head.walk() if page.id not in page_ids_before]
        parent_ids = {page.id: head.parent_id(page.id) for page in added_pages}
        for placement in self._current_insertions:
            title, parent_id = single_line(self.plan.new_pages[placement.id].title), self._parent_id(placement)
            siblings = [page for page in added_pages if parent_ids[page.id] == parent_id]
            new_page = next((page for page in siblings if page.title == title), siblings[0] if siblings else None)
            if new_page is None:
                raise ProposalFailed(
                    "Could not propose: the server does not show a new page. Propose again.", "unknown"
                )
            added_pages.remove(new_page)
            self.ids[placement.id] = new_page.id
        self._sent_ids |= {change.page for change in self._changes if isinstance(change, UpdatePage)}
        self._changes, self._current_insertions, self._size = [], [], 0
        self.proposal.record(self)

    async def _send_pending(self) -> None:
        pending_texts, self._pending = self._pending, {}
        for plan_id, text in pending_texts.items():
            new_text = self._text_with_new_ids(plan_id, text)
            if new_text != text:
                document = DocumentBody(markdown=new_text)
                await self._add(UpdatePage(page=self.ids.get(plan_id, plan_id), document=document), _size_of(new_text))
        await self._flush()


def _size_of(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _failure(kind: str, message: str) -> ProposalFailed:
    sentence = message or "Could not propose: the server refused the change."
    kinds: dict[str, Failure] = {"changed": "blocked", "unknown": "unknown"}
    return ProposalFailed(sentence, kinds.get(kind, "failed"))
