"""The conflicts of a change request, your choices between the versions, and the preview of a merged page. The choices
stay on this computer until you save them in the change request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, get_args

from octavo.api import change_requests, content
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.operation import ChangeRequestRef, RevisionRef, SpaceRef
from octavo.api.safety import safe_line, safe_text
from octavo.data.writes.content_writes import edit, page_source
from octavo.documents.diff_model import AttributeChange
from octavo.documents.merging.merged_page import ChoiceKind, Conflict, MergeChoice
from octavo.documents.source_reader import find_markers
from octavo.tui.core.dialog_draft import DialogDraft, save_or_get_error
from octavo.tui.core.shell import Shell
from octavo.tui.core.write_queue import show_progress
from octavo.tui.editing import target_change_request
from octavo.tui.editing.page_drafts import editor_folder
from octavo.tui.reader.diff_view import DiffPreviewScreen
from octavo.tui.render.comparison import PageComparison, compare
from octavo.tui.review.conflict_finder import OpenConflicts, find_conflicts, find_revisions, stored_revisions
from octavo.tui.terminal.external_editor import FileNote, NotEdited, delete_file, edit_text, read_back
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.api.content import ContentEdit
    from octavo.data.live import Live

MAX_CHANGES = 50
"""Maximum number of page edits in one API request."""
_STORED_KINDS: dict[str, ChoiceKind] = {**{kind: kind for kind in get_args(ChoiceKind)}, "this": "request"}
"""Kinds of choices by their stored names. `this` is an older name for `request`."""


def _stored_choices(value: object) -> tuple[dict[str, ChoiceKind], frozenset[str]]:
    """Return the choices by conflict name, and `Choices.saved_conflicts`, from a value of `state.db`."""
    fields = value if isinstance(value, dict) else {}
    kinds, saved = fields.get("choices"), fields.get("done")
    items = kinds.items() if isinstance(kinds, dict) else ()
    choices = {name: _STORED_KINDS[str(kind)] for name, kind in items if str(kind) in _STORED_KINDS}
    return choices, frozenset(map(str, saved)) if isinstance(saved, list) else frozenset()


class Choices:
    """Your choices for the conflicts of a change request or a draft, by conflict name. Stored on this computer."""

    def __init__(self, app: Shell, conflicts_id: str) -> None:
        self._app = app
        self._id = conflicts_id
        self._state_key = f"conflicts {conflicts_id}"

    @property
    def _stored(self) -> tuple[dict[str, ChoiceKind], frozenset[str]]:
        return _stored_choices(self._app.session.state.get_value(self._state_key))

    @property
    def saved_conflicts(self) -> frozenset[str]:
        """Names of the tree conflicts with saved choices. Stored, as the server does not say which are resolved."""
        return self._stored[1]

    @property
    def by_name(self) -> dict[str, MergeChoice]:
        """All choices by conflict name."""
        return {
            name: MergeChoice(kind, self.draft_of(name).text if kind == "own" else "")
            for name, kind in self._stored[0].items()
        }

    def draft_of(self, name: str) -> DialogDraft:
        """Return the draft with the text that you wrote to resolve the conflict `name`."""
        return DialogDraft(self._app, f"conflict {self._id} {name}")

    def choose(self, name: str, kind: ChoiceKind | None) -> None:
        """Store `kind` as the choice for the conflict `name`. If `kind` is None, remove the choice."""
        self._change({name}, {name: kind} if kind is not None else {}, ())

    def clear_saved(self, open_conflicts: OpenConflicts, choices: dict[str, MergeChoice]) -> None:
        """Delete the stored choices and your own texts of all pages whose conflicts `choices` resolve. Delete the
        stored choices of the tree conflicts in `choices`, and add the names of these conflicts to `saved_conflicts`."""
        kinds, _ = self._stored
        saved_names = {name for page in open_conflicts.resolved_pages(choices) for name, _ in page.conflicts}
        tree_conflicts = {each.name for each in open_conflicts.tree_conflicts if each.name in choices}
        for name in saved_names:
            if kinds.get(name) == "own":
                self.draft_of(name).delete()
        self._change(saved_names | tree_conflicts, {}, tree_conflicts)

    def _change(self, removed: Collection[str], added: Mapping[str, ChoiceKind], saved: Collection[str]) -> None:
        """Remove and add choices. Add the names `saved` to `saved_conflicts`. Keep choices that other views made."""

        def change(value: object) -> dict[str, Any]:
            kinds, saved_before = _stored_choices(value)
            kept_kinds = {name: kind for name, kind in kinds.items() if name not in removed}
            return {"choices": {**kept_kinds, **added}, "done": sorted(saved_before.union(saved))}

        self._app.session.state.change_value(self._state_key, change)


def edit_resolution(app: Shell, choices: Choices, name: str, conflict: Conflict) -> bool:
    """Let the user resolve the conflict `name` in the external editor. Return True if a new text is now the choice."""
    draft, earlier_choice = choices.draft_of(name), choices.by_name.get(name)
    # Strip blank lines around the text: they belong to the page, or the editor has added them.
    initial = (draft.text or conflict.text(earlier_choice or MergeChoice("words")) or "").strip("\n")

    def save_text(edited_text: str) -> str:
        new_text = edited_text.strip("\r\n")
        return save_or_get_error(draft.save_now, new_text) if new_text != initial else ""

    note = FileNote("Conflict resolution", draft.key, app.session.state.namespace)
    result = edit_text(app, f"{initial}\n", editor_folder(app), name="conflict", save_text=save_text, note=note)
    if isinstance(result, NotEdited):
        suffix = _move_failed_edit_to_draft(result, save_text)
        cause = result.sentence if suffix else result.message
        app.say(f"{cause} The conflict is not resolved yet.{suffix}", tone="care", seconds=10.0)
        return False
    new_text = result.text.strip("\r\n")
    if new_text == initial:
        ending = (
            "your earlier choice is kept."
            if earlier_choice is not None
            else "the conflict is not resolved. Press m, t, or b to choose which version to keep."
        )
        app.say(f"You changed nothing, so {ending}")
        return False
    choices.choose(name, "own")
    return True


def _move_failed_edit_to_draft(result: NotEdited, save_text: Callable[[str], str]) -> str:
    """Move the text of a failed edit to a draft. Return a hint for the error message. Empty if nothing was stored."""
    content = read_back(result.kept_path) if result.kept_path is not None else result
    if isinstance(content, NotEdited) or save_text(content.text):
        return ""  # Nothing was stored, so keep the file.
    if result.kept_path is not None:
        delete_file(result.kept_path)
    return " Press e to continue."


async def save_choices(
    app: Shell,
    at: ChangeRequestRef,
    change_request: ChangeRequest,
    open_conflicts: OpenConflicts,
    choices: Choices,
    on_written: Callable[[tuple[str, ...]], None],
) -> None:
    """Save the choices, then check the pages. Unless saving fails, call `on_written` with the IDs of resolved pages."""
    choices_by_name = choices.by_name
    edits = open_conflicts.edits(choices_by_name, f"#{change_request.number}")
    page_ids = tuple(page.page_id for page in open_conflicts.resolved_pages(choices_by_name))
    if not edits:
        choices.clear_saved(open_conflicts, choices_by_name)
        _save_resolved_pages(app, change_request, open_conflicts, choices_by_name)
        app.say("Nothing to save: this change request already has the versions you chose.")
        on_written(page_ids)
        return
    with show_progress(app, f"Saving {plural(len(edits), 'change')} in #{change_request.number}…"):
        saved_edits = await _send_edits(app.session.live, at, open_conflicts.revision, edits)
    if saved_edits.error:
        app.say(f"Could not save your choices in #{change_request.number}: {saved_edits.error}", tone="failed")
        return
    target_change_request.remember_target(app, at.space, change_request)
    app.writes.forbid_undo("You cannot undo this save by pressing u. To change the text, select the page and press e.")
    resolved_names = [name for page in open_conflicts.resolved_pages(choices_by_name) for name, _ in page.conflicts]
    count = len(resolved_names) + sum(each.name in choices_by_name for each in open_conflicts.tree_conflicts)
    choices.clear_saved(open_conflicts, choices_by_name)
    _save_resolved_pages(app, change_request, open_conflicts, choices_by_name, saved_edits.revision)
    warning = _OVERWRITE_WARNING
    if not saved_edits.has_overwritten:
        warning = await _check_saved_pages(app.session.live, at, open_conflicts, choices_by_name, change_request)
    message = f"Resolved {plural(count, 'conflict')} in #{change_request.number}."
    app.say(f"{message} {warning}".rstrip(), tone="care" if warning else "done")
    on_written(page_ids)


_OVERWRITE_WARNING = (
    "Someone else edited the change request at the same time, and your choices may have overwritten their text. "
    "Compare the pages with the previous revision."
)


class _SavedEdits(NamedTuple):
    """Result of sending the edits of a change request."""

    error: str = ""
    """Reason why not all edits were saved, in sentences. Empty if all were saved."""
    revision: str | None = None
    """Revision after the last edit. None if it is unknown or `error` is set."""
    has_overwritten: bool = False
    """True if the sent edits replaced a revision that another user saved meanwhile."""


async def _send_edits(
    live: Live, at: ChangeRequestRef, revision: str | None, edits: Sequence[ContentEdit]
) -> _SavedEdits:
    sent_count, has_overwritten = 0, False
    for start in range(0, len(edits), MAX_CHANGES):
        batch = edits[start : start + MAX_CHANGES]
        outcome = await edit(live, at, revision, batch)
        if outcome.kind != "done":
            progress_text = f" {sent_count} of {len(edits)} changes were saved." if sent_count else ""
            if outcome.kind == "changed":
                reason = "the change request was edited at the same time."
                return _SavedEdits(f"{reason}{progress_text} Octavo loaded the conflicts that are left.")
            return _SavedEdits(f"{outcome.message}{progress_text} Octavo kept your choices.")
        sent_count, revision = sent_count + len(batch), outcome.revision
        has_overwritten = has_overwritten or outcome.replaced_revision is not None
    return _SavedEdits("", revision, has_overwritten)


def _save_resolved_pages(
    app: Shell,
    change_request: ChangeRequest,
    open_conflicts: OpenConflicts,
    choices_by_name: dict[str, MergeChoice],
    saved_revision: str | None = None,
) -> None:
    """Store the IDs of resolved pages without conflict markers, so that these pages are not merged again.
    `saved_revision` is the revision with the choices. None if nothing was saved, or if this revision is unknown."""
    page_ids = {page.page_id for page in open_conflicts.resolved_pages(choices_by_name) if page.is_unmarked}

    def change(stored_update: Any) -> Any:
        if not page_ids or not isinstance(stored_update, dict):
            return stored_update
        earlier_ids = stored_update.get("settled")
        all_ids = sorted(page_ids.union(map(str, earlier_ids) if isinstance(earlier_ids, list) else ()))
        revision_field = {"conflicts": saved_revision} if saved_revision is not None else {}
        return {**stored_update, **revision_field, "settled": all_ids}

    app.session.state.change_value(f"update {change_request.id}", change)


async def _check_saved_pages(
    live: Live,
    at: ChangeRequestRef,
    open_conflicts: OpenConflicts,
    choices_by_name: dict[str, MergeChoice],
    change_request: ChangeRequest,
) -> str:
    """Return a warning if saved pages still have conflict markers, or if the server changed their text. Empty
    otherwise, and if the pages cannot be loaded."""
    marked_count = changed_count = 0
    pages = open_conflicts.resolved_pages(choices_by_name)
    try:
        sources = await asyncio.gather(*(page_source(live, at, page.page_id) for page in pages[:MAX_CHANGES]))
    except ApiError:
        return ""
    for page, raw in zip(pages, sources, strict=False):
        text = raw.text if raw is not None else ""
        if find_markers(text):
            marked_count += 1
        elif text != page.text(choices_by_name, f"#{change_request.number}"):
            changed_count += 1
    if marked_count:
        return (
            f"The server still reports conflicts on {plural(marked_count, 'page')}. Press R to resolve the conflicts."
        )
    if changed_count:
        return f"The server changed the text of {plural(changed_count, 'page')} while saving. Review the diff."
    return ""


class RequestConflicts:
    """Loads the conflicts of a change request, or the conflicts that a merge left in main, and saves your choices."""

    def __init__(
        self,
        app: Shell,
        change_request: ChangeRequest,
        space: SpaceRef,
        *,
        merged_request: ChangeRequest | None = None,
        on_written: Callable[[ChangeRequest, tuple[str, ...]], None] = lambda change_request, pages: None,
    ) -> None:
        """`merged_request` is the change request whose merge left the conflicts. If it is None, `load` looks for it.
        `on_written` is called with the change request and the IDs of resolved pages when no conflicts are left."""
        self.app, self.change_request, self.space = app, change_request, space
        self.at: ChangeRequestRef = change_request.ref(space)
        self._merged_request, self._on_written = merged_request, on_written

    @property
    def key(self) -> str:
        """ID under which the choices are stored on this computer."""
        return self.change_request.id

    @property
    def side_names(self) -> tuple[str, str]:
        """Names of the two versions in sentences, such as `main` and `this change request`."""
        return "main", "this change request" if self._merged_request is None else f"#{self._merged_request.number}"

    @property
    def label(self) -> str:
        """Name of the change request in conflict markers, such as `#12`."""
        return f"#{self.change_request.number}"

    @property
    def preview_base_name(self) -> str:
        """Name of the version that the preview compares a merged page with, such as `main`."""
        if self._merged_request is not None:
            return f"main before #{self._merged_request.number} was merged"
        return "an earlier revision of main" if self.change_request.outdated else "main"

    @property
    def has_server_conflicts(self) -> bool:
        """True if the server reported conflicts for the current revision of the change request."""
        stored_update = self.app.session.state.get_value(f"update {self.change_request.id}")
        revision = stored_update.get("conflicts") if isinstance(stored_update, dict) else None
        return revision is not None and revision == self.change_request.revision

    async def load(self) -> OpenConflicts:
        """Load the conflicts. Raises ApiError."""
        live, space = self.app.session.live, self.at.space_id
        self.change_request = await live.fetch(change_requests.Get(at=self.at))
        state = self.app.session.state
        merged_request_id = state.get_value(f"resolves {self.change_request.id}")
        if self._merged_request is None and isinstance(merged_request_id, str):
            merged_ref = ChangeRequestRef(space_id=space, change_request_id=merged_request_id)
            self._merged_request = await live.fetch(change_requests.Get(at=merged_ref))
        conflicting_request = self._merged_request or self.change_request
        merge_revision = self._merged_request.revision_merged if self._merged_request is not None else None
        changes_at = RevisionRef(space_id=space, revision_id=merge_revision) if merge_revision is not None else self.at
        changes = await live.fetch(content.ListChanges(at=changes_at, limit=1000))
        stored_update = state.get_value(f"update {conflicting_request.id}")
        revisions = await find_revisions(live, conflicting_request.ref(self.space), conflicting_request, stored_update)
        server_revisions = (
            stored_revisions(stored_update) if self.has_server_conflicts and self._merged_request is None else None
        )
        resolved_ids = stored_update.get("settled", ()) if isinstance(stored_update, dict) else ()
        return await find_conflicts(
            live,
            self.at,
            self.change_request.revision,
            changes,
            revisions,
            server_revisions=server_revisions,
            resolved_pages=frozenset(map(str, resolved_ids)),
        )

    async def send(self, conflicts: OpenConflicts, choices: Choices, close: Callable[[tuple[str, ...]], bool]) -> None:
        """Save the choices and call `close` with the resolved page IDs. `close` returns True if it closed the view."""

        def on_written(page_ids: tuple[str, ...]) -> None:
            if close(page_ids):
                self._on_written(self.change_request, page_ids)

        await save_choices(self.app, self.at, self.change_request, conflicts, choices, on_written)


PREVIEW_COMMANDS: Commands[MergedPreviewScreen] = Commands(
    "outcome",
    (
        Command("close", "escape,p", "Back", "Go back to the conflict", run=lambda app, _: app.pop_screen()),
        Command("send", "ctrl+s", "Save", "Save this page", writes=True, run=lambda _, screen: screen.send(),
                why_not=lambda _, screen: screen.why_not_send()),
    ),
)  # fmt: skip


class MergedPreview(NamedTuple):
    """Page as it would be after saving the choices, and its text in main."""

    title: str
    text: str
    main: str | None
    """Text of the page in main. None if it is unknown."""
    settings: tuple[AttributeChange, ...] = ()
    """Conflicting settings, such as the title and the position, in main and after saving."""


class MergedPreviewScreen(DiffPreviewScreen):
    """Preview of a page with the choices applied, as a diff against main. Conflict markers show open conflicts."""

    HELP_NAME = "preview of the page with its conflicts resolved"
    HELP = (
        "This is a preview of the page after saving. The diff includes the title, position, and text. "
        "Unresolved conflicts are shown between conflict markers. "
        "Press ctrl+s to save the page. Press esc or p to go back to the conflict."
    )
    KEYBAR: ClassVar[tuple[str, ...]] = ("outcome.close", "outcome.send")
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (PREVIEW_COMMANDS,)

    def __init__(
        self,
        preview: MergedPreview,
        location: str,
        *,
        base_name: str,
        send: Callable[[], None],
        why_not_send: Callable[[], str | None],
    ) -> None:
        """`base_name` names the version that the page is compared with, such as `main`. `why_not_send` returns the
        reason why the page cannot be saved, or None."""
        super().__init__(preview.title, location)
        self._preview = preview
        self._base_name, self._send = base_name, send
        self.why_not_send: Callable[[], str | None] = why_not_send

    def on_mount(self) -> None:
        self.run_worker(self._compare(), exclusive=True)

    async def _compare(self) -> None:
        title, text, main, settings = self._preview
        compared: PageComparison = await asyncio.to_thread(compare, safe_text(main or ""), safe_text(text))
        changed = [each for each in settings if each.old != each.new]
        safe_settings = [AttributeChange(each.name, _line(each.old), _line(each.new)) for each in changed]
        compared = compared.with_page_options((*safe_settings, *compared.diff.metadata))
        self.view.show(compared, title=title, key="outcome")
        note = f"compared with {self._base_name}"
        if main is None:
            note = "not compared: the version in main is not available"
        self.show_banner(note, "press ctrl+s to save the page", self.why_not_send())
        self.show_position()

    def send(self) -> None:
        """Close the preview and save the page."""
        self.app.pop_screen()
        self._send()


def _line(value: str | None) -> str | None:
    return safe_line(value) if value is not None else None
