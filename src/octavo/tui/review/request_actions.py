"""What can be done with a change request: merge it, archive it, say what it is about, comment on it, start another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType

from octavo.api import change_requests
from octavo.api.bodies import is_plain, paragraphs
from octavo.api.change_requests import ChangeRequest
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.tui.comments import thread_actions
from octavo.tui.review.review_requests import Requesting
from octavo.tui.review.undo_merge import UndoingMerge
from octavo.tui.review.updating import Updating
from octavo.tui.review.verdicts import Reviewing
from octavo.tui.shell import dialog_draft
from octavo.tui.shell.addresses import ADDRESS
from octavo.tui.shell.dialog_draft import DialogDraft
from octavo.tui.shell.permissions import UNDECIDED
from octavo.tui.shell.routes import ToChangeRequest
from octavo.tui.widgets.commands import Commands

if TYPE_CHECKING:
    from octavo.tui.widgets.confirm import Confirmed

_REQUIRED = "A subject of 1 to 100 characters, please."
_TOO_LONG = "A subject has at most 100 characters; this one has {}."


class Proposing(Updating, Reviewing, Requesting, UndoingMerge):
    """A view with a change request in it, and all that can be done with it."""

    CONTEXT: ClassVar[str] = "change requests"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (ADDRESS,)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "merge", "Merge", tooltip="See what would go live, then merge", id="change.merge"),
        Binding("L", "archive", "Archive", show=False, tooltip="Archive the change request, or reopen it", id="change.archive"),
        Binding("E", "edit_meta", "Describe", show=False, tooltip="Change the subject and the description", id="change.subject"),
        Binding("C", "comment_whole", "Comment on all", show=False, tooltip="Comment on the whole change request", id="change.comment"),
        Binding("ctrl+n", "new_change_request", "New", show=False, tooltip="Start a change request in this space", id="change.new"),
    ]  # fmt: skip

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "new_change_request":
            target = self._target_space()
            if target is None:
                return "Choose a space first: a change request belongs to one."
            return self.not_allowed_in(target, "edit")
        if action in _NEEDS:
            right, states = _NEEDS[action]
            return self.not_allowed(right, *states)
        return super().why_not(action, parameters)

    def _target_space(self) -> SpaceRef | None:
        if self.space_ref is not None:
            return self.space_ref
        last = self.shell.session.state.recall("space")
        space = self.shell.workspace.space(str(last)) if last else None
        return space.ref if space else None

    # Merging

    def action_merge(self) -> None:
        from octavo.tui.review.merge_dialog import MergeDialog

        if self.change_request is not None and self.space_ref is not None:
            at = self.change_request.ref(self.space_ref)
            self.app.push_screen(MergeDialog(self.shell, at, self.change_request))

    # What it is about

    def action_archive(self) -> None:
        from octavo.tui.widgets.confirm import Confirm

        change_request, space = self.change_request, self.space_ref
        if change_request is None or space is None:
            return
        archived = change_request.status == "archived"
        verb, done, status = ("Reopen", "Reopened", "open") if archived else ("Archive", "Archived", "archived")
        op = change_requests.Update(at=change_request.ref(space), status=status)

        def decided(answer: Confirmed | None) -> None:
            if answer is not None:
                self.shell.write(
                    f"{verb.lower()} #{change_request.number}", op, said=f"{done} #{change_request.number}"
                )

        said = (
            "It comes back to the list of open ones."
            if archived
            else "It leaves the list of open ones. It can be reopened."
        )
        self.app.push_screen(
            Confirm(f"{verb} #{change_request.number} {change_request.title}?", verb=verb, intro=said), decided
        )

    def action_edit_meta(self) -> None:
        from octavo.tui.widgets.confirm import Confirm, Field

        change_request, space = self.change_request, self.space_ref
        if change_request is None or space is None:
            return
        at = change_request.ref(space)
        place = f"{at.space_id} {at.change_request_id}"
        subject = DialogDraft(self.shell, f"subject {place}", change_request.subject)
        description = DialogDraft(self.shell, f"description {place}", change_request.about)
        plain = is_plain(change_request.description)

        def decided(answer: Confirmed | None) -> None:
            if answer is None:
                return
            if len(answer.text) > 100:
                self.shell.say(_TOO_LONG.format(len(answer.text)), tone="care")
                self.action_edit_meta()
                return
            given: dict[str, Any] = {}
            if answer.text != change_request.subject:
                given["subject"] = answer.text
            if answer.also != change_request.about.strip():
                given["description"] = paragraphs(answer.also) if answer.also else None
            if given:
                self._describe(at, change_request.number, given, (subject, description))

        dialog = Confirm(
            f"Subject and description of #{change_request.number}",
            verb="Save",
            intro=""
            if plain
            else "Its description has more than plain paragraphs, such as lists or bold words. If you change it here, only the words are kept.",
            field=Field("Subject", subject.text, required=_REQUIRED, keep=subject.keep, keep_now=subject.keep_now),
            also=Field(
                "Description",
                description.text,
                lines=6,
                placeholder="optional: why this change is made",
                keep=description.keep,
                keep_now=description.keep_now,
            ),
            foot="ctrl+s saves · esc keeps what you wrote",
        )
        self.app.push_screen(dialog, decided)

    def _describe(
        self, at: ChangeRequestRef, number: int, given: dict[str, Any], drafts: tuple[DialogDraft, ...]
    ) -> None:
        def drop(_: object) -> None:
            for draft in drafts:
                draft.drop()

        self.shell.write(
            f"save the description of #{number}" if "description" in given else f"rename #{number}",
            change_requests.Update(at=at, **given),
            (change_requests.Get(at=at), lambda known: known.model_copy(update=given)),
            said="Saved" if "description" in given else "Renamed",
            then=drop,
            otherwise=dialog_draft.SAID,
        )

    def action_new_change_request(self) -> None:
        if (space := self._target_space()) is None:
            return
        known = self.shell.workspace.space(space.space_id)
        draft = DialogDraft(self.shell, f"subject {space.space_id}")

        def made(change_request: ChangeRequest) -> None:
            from octavo.tui.writing.target_request import remember  # it is started to be written to

            draft.drop()
            remember(self.shell, space, change_request)
            self.shell.say(f"Started #{change_request.number} {change_request.title}")
            self.shell.go(ToChangeRequest(change_request.ref(space), change_request))

        def start(subject: str) -> None:
            from octavo.data.deciding import create

            starting = create(self.shell.session.live, space, subject)
            self.shell.writes.send_once("start a change request", starting, then=made, otherwise=dialog_draft.SAID)

        self._ask_subject(f"New change request in {known.title if known else 'this space'}", "Start", draft, start)

    def _ask_subject(self, title: str, verb: str, draft: DialogDraft, use: Callable[[str], None]) -> None:
        from octavo.tui.widgets.confirm import Confirm, Field

        field = Field("Subject", draft.text, required=_REQUIRED, keep=draft.keep, keep_now=draft.keep_now)

        def decided(answer: Confirmed | None) -> None:
            if answer is None:
                return
            if len(answer.text) > 100:
                self.shell.say(_TOO_LONG.format(len(answer.text)), tone="care")
                self._ask_subject(title, verb, draft, use)
            else:
                use(answer.text)

        self.app.push_screen(Confirm(title, verb=verb, field=field), decided)

    def action_comment_whole(self) -> None:
        change_request, space = self.change_request, self.space_ref
        if change_request is not None and space is not None:
            at = change_request.ref(space)
            thread_actions.start_thread(
                self.shell, at, page=None, node=None, title=f"#{change_request.number}", excerpt=change_request.title
            )


_NEEDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "merge": ("merge", UNDECIDED),
    "archive": ("edit", (*UNDECIDED, "archived")),
    "edit_meta": ("edit", ()),
    "comment_whole": ("comment", ()),
}
"""What each action needs: a permission of the space, and the states it is for."""
