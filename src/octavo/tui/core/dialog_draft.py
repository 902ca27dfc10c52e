"""Drafts of texts that the user types in a dialog. Octavo saves them while the user types. Start at
`DialogDraft.autosave`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

from octavo.data.state_db import NotSaved
from octavo.lazy_import import lazy
from octavo.tui.core.shell import Shell

_count_edge_markers = lazy("octavo.data.writes.content_writes:count_edge_markers")
_merge_with_markers = lazy("octavo.data.writes.content_writes:merge_with_markers")

DRAFT_SAVED = "Saved as a draft. Open this dialog again to continue."


class DialogDraft:
    """Draft of the text in a dialog, stored under `key`. `edited` is the text that the user edits, or None for a new
    text, which begins with `start`. A text that equals `edited` or `start` is not stored."""

    def __init__(self, app: Shell, key: str, edited: str | None = None, start: str = "") -> None:
        self._app, self.key, self._edited, self._initial = app, key, edited, edited or start
        self._drafts = app.session.drafts
        self._has_added_markers = False
        """True if `merged_text` has added conflict markers to the draft, now or when the dialog was open before. The
        text alone does not show this, because the user may have typed or quoted such markers."""

    @property
    def text(self) -> str:
        """The stored draft. If there is none, the initial text."""
        draft = self._drafts.get(self.key)
        return self._initial if draft is None else draft

    @property
    def earlier_base(self) -> str | None:
        """Text that the user edited when typing the draft, if it differs from the text to edit now. Otherwise None."""
        draft = self._drafts.find(self.key)
        base = draft.base if draft is not None else None
        if base is None or self._edited is None or base.strip() == self._edited.strip():
            return None
        return base

    def change_note(self, name: str) -> str:
        """Return a note with the current text if the edited text has changed, or may have changed, since the user typed
        the draft. Empty otherwise. `name` is the name of the text, such as `title`."""
        draft = self._drafts.find(self.key)
        is_base_unknown = draft is not None and draft.base is None and self._edited is not None
        if self.earlier_base is None and not is_base_unknown:
            return ""
        verb = "may have changed" if is_base_unknown else "has changed"
        return f"The {name} {verb} since you typed your draft. It is now: {self._edited}"

    def merged_text(self) -> str:
        """Return the text of the dialog. If the text to edit has changed since the user typed the draft, return both
        versions, with markers where they conflict."""
        base, text, state = self.earlier_base, self.text, self._app.session.state
        had_conflict = bool(state.get_value(f"conflict {self.key}"))
        if base is not None:
            merged_text = str(_merge_with_markers(base, self._edited, text))
            self._has_added_markers = _count_edge_markers(merged_text) > _count_edge_markers(text)
            text = merged_text
        self._has_added_markers = (self._has_added_markers or had_conflict) and self._has_new_markers(text)
        if self._has_added_markers != had_conflict:
            state.set_value(f"conflict {self.key}", self._has_added_markers)
        return text

    def _has_new_markers(self, text: str) -> bool:
        return self._edited is not None and _count_edge_markers(text) > _count_edge_markers(self._edited)

    def why_not_resolved(self, text: str) -> str | None:
        """Return a sentence if `text` still has conflict markers that `self.merged_text` has added. None if the
        conflict is resolved."""
        is_unresolved = self._has_added_markers and self._has_new_markers(text)
        return "Resolve the conflict between the markers <<<<<<< and >>>>>>> first." if is_unresolved else None

    @property
    def is_saved(self) -> bool:
        """True if the text of the last save is on disk."""
        return all(draft.key != self.key for draft in self._drafts.unsaved())

    @property
    def why_not_saved(self) -> str:
        """Sentence that says why drafts cannot be saved. Empty if they can be saved."""
        if self.key in self._drafts.late_keys():
            return f"Could not save the draft: {self._drafts.unsaved_reason}. Octavo is retrying."
        return self._app.session.state.save_error

    def save(self, text: str) -> Awaitable[None]:
        """Save `text`. Raises NotSaved when awaited."""
        return self._drafts.save(self.key, self._draft(text), self._edited)

    def save_now(self, text: str) -> None:
        """Save `text` and block until it is on disk, for example because the app quits. Raises NotSaved."""
        self._drafts.save_now(self.key, self._draft(text), self._edited)

    def save_newer(self, text: str, written_at: datetime) -> bool:
        """Save `text`, unless the stored draft is newer than `written_at`. Return False if the stored draft is newer
        and has another text. Raises NotSaved."""
        stored_draft = next((each for each in self._drafts.all() if each.key == self.key), None)
        if stored_draft is not None and stored_draft.saved_at >= written_at:
            return stored_draft.text == text
        self._drafts.get(self.key)  # Read the draft first: saving replaces only a version that was read.
        self._drafts.save_now(self.key, text)
        return True

    def autosave(self, text: str) -> None:
        """Save `text` in the background. If saving fails, show the error, but only the first time."""
        is_reported = self.key in self._drafts.late_keys()
        self._app.background(self._save_or_report(self.save(text), is_reported))

    def autosave_now(self, text: str) -> None:
        """Save `text` and wait for the disk, because the app quits. On failure, show the error, but only once."""
        is_reported = self.key in self._drafts.late_keys()
        if (error := save_or_get_error(self.save_now, text)) and not is_reported:
            self._app.say(error, tone="failed")

    def delete(self) -> None:
        """Delete the draft, because the server has the text."""
        self.autosave(self._initial)

    def deletion(self) -> Callable[[], None]:
        """Return a function that calls `delete`, unless the user has changed the draft since `deletion` was
        called. Call `deletion` before sending."""
        sent_text = self.text

        def delete_if_unchanged() -> None:
            if self.text == sent_text:
                self.delete()

        return delete_if_unchanged

    def _draft(self, text: str) -> str:
        return "" if text.strip() == self._initial.strip() else text

    async def _save_or_report(self, save_call: Awaitable[None], is_reported: bool) -> None:
        try:
            await save_call
        except NotSaved as error:
            if not is_reported:
                self._app.say(str(error), tone="failed")


def save_or_get_error(save: Callable[[str], None], text: str) -> str:
    """Call `save` with `text`. Return the error message if `save` raises NotSaved. Empty if it succeeds."""
    try:
        save(text)
    except NotSaved as error:
        return str(error)
    return ""
