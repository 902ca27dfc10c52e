"""What can be done with a change request: review it, update it, merge it, archive it, say what it is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from octavo.api import change_requests, reviews
from octavo.api.bodies import Markdown
from octavo.api.change_requests import ChangeRequest
from octavo.api.places import SpaceRef
from octavo.tui import kept, talking
from octavo.tui.kept import Kept
from octavo.tui.screen import View

if TYPE_CHECKING:
    from octavo.tui.screens.confirm import Confirmed


class Proposing(View):
    """A view with a change request in it. A subclass says which one, and in which space."""

    CONTEXT: ClassVar[str] = "change requests"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "approve", "Approve", tooltip="Approve this revision, with a comment if you like", id="change.approve"),
        Binding("A", "ask_changes", "Ask for changes", show=False, tooltip="Ask for changes, and say which", id="change.ask"),
        Binding("m", "merge", "Merge", tooltip="See what would go live, then merge", id="change.merge"),
        Binding("U", "update_main", "Update", show=False, tooltip="Bring the primary content into the change request", id="change.update"),
        Binding("X", "archive", "Archive", show=False, tooltip="Archive the change request, or reopen it", id="change.archive"),
        Binding("E", "edit_meta", "Subject", show=False, tooltip="Change the subject", id="change.subject"),
        Binding("C", "comment_whole", "Comment on all", show=False, tooltip="Comment on the whole change request", id="change.comment"),
        Binding("ctrl+n", "new_change_request", "New", show=False, tooltip="Start a change request in this space", id="change.new"),
    ]  # fmt: skip

    @property
    def change_request(self) -> ChangeRequest | None:
        """The one the keys are about."""
        raise NotImplementedError

    @property
    def space_ref(self) -> SpaceRef | None:
        """The space it belongs to."""
        raise NotImplementedError

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action not in _NEEDS:
            return super().why_not(action, parameters)
        if action == "new_change_request":
            target = self._target_space()
            if target is None:
                return "Choose a space first: a change request belongs to one."
            return self._not_allowed(target, "edit")
        change_request, ref = self.change_request, self.space_ref
        if change_request is None or ref is None:
            return "There is no change request here."
        right, states = _NEEDS[action]
        if states and change_request.status not in states:
            return f"#{change_request.number} is {change_request.status}: this is for those that are {' or '.join(states)}."
        return self._not_allowed(ref, right)

    def _not_allowed(self, ref: SpaceRef, right: str) -> str | None:
        space = self.octavo.known.space(ref.space_id)
        if space is not None and not getattr(space.permissions, right):
            return f"Your role in {space.title} does not let you {right}. Ask an administrator of the space."
        return None

    def _target_space(self) -> SpaceRef | None:
        if self.space_ref is not None:
            return self.space_ref
        last = self.octavo.session.state.recall("space")
        space = self.octavo.known.space(str(last)) if last else None
        return space.ref if space else None

    # Reviews

    def action_approve(self) -> None:
        self._review("approved")

    def action_ask_changes(self) -> None:
        self._review("changes-requested")

    def _review(self, status: str) -> None:
        from octavo.tui.screens.confirm import Confirm, Field

        change_request, space = self.change_request, self.space_ref
        if change_request is None or space is None:
            return
        approves = status == "approved"
        at = change_request.ref(space)
        draft = Kept(self.octavo, f"review {at.space_id} {at.change_request_id} {status}")
        field = Field(
            "Comment" if approves else "What has to change?",
            draft.text,
            lines=4,
            placeholder="optional" if approves else "",
            required="" if approves else "Say what has to change: the author has only your words to go by.",
            keep=draft.keep,
            keep_now=draft.keep_now,
        )
        dialog = Confirm(
            f"Approve #{change_request.number} {change_request.title}?" if approves
            else f"Ask for changes in #{change_request.number} {change_request.title}?",
            verb="Approve" if approves else "Ask for changes",
            field=field,
            foot="ctrl+s sends · esc keeps what you wrote",
        )  # fmt: skip

        def submitted(_: object) -> None:
            draft.drop()
            self.action_refresh()

        def decided(answer: Confirmed | None) -> None:
            if answer is None:
                return
            body = {"comment": Markdown(markdown=answer.text)} if answer.text else {}
            self.octavo.write(
                "approve" if approves else "ask for changes",
                reviews.Submit(at=at, status="approved" if approves else "changes-requested", **body),
                said=f"Approved #{change_request.number}"
                if approves
                else f"Asked for changes in #{change_request.number}",
                then=submitted,
                otherwise=kept.SAID if answer.text else "",
            )

        self.app.push_screen(dialog, decided)

    # Merging

    def action_merge(self) -> None:
        from octavo.tui.merging import MergeDialog

        if self.change_request is not None and self.space_ref is not None:
            at = self.change_request.ref(self.space_ref)
            self.app.push_screen(MergeDialog(self.octavo, at, self.change_request))

    def action_update_main(self) -> None:
        from octavo.tui.screens.confirm import Confirm

        change_request, space = self.change_request, self.space_ref
        if change_request is None or space is None:
            return
        if not change_request.outdated:
            self.octavo.say(f"#{change_request.number} is up to date with the primary content.")
            return
        at = change_request.ref(space)

        def updated(result: change_requests.MergeResult) -> None:
            if result.result == "conflicts":
                self.octavo.say(
                    f"#{change_request.number} is updated, with conflicts: both sides are kept, marked in the text.",
                    tone="care",
                )
            else:
                self.octavo.say(f"#{change_request.number} is up to date with the primary content.")

        def decided(answer: Confirmed | None) -> None:
            if answer is not None:
                doing = f"update #{change_request.number}"
                self.octavo.write(doing, change_requests.UpdateFromMain(at=at), then=updated)

        said = "What changed in the primary content comes into the change request. Where both changed the same block, both sides are kept and marked."
        self.app.push_screen(Confirm(f"Update #{change_request.number} from main?", verb="Update", intro=said), decided)

    # What it is about

    def action_archive(self) -> None:
        from octavo.tui.screens.confirm import Confirm

        change_request, space = self.change_request, self.space_ref
        if change_request is None or space is None:
            return
        archived = change_request.status == "archived"
        verb, done, status = ("Reopen", "Reopened", "open") if archived else ("Archive", "Archived", "archived")
        op = change_requests.Update(at=change_request.ref(space), status=status)

        def decided(answer: Confirmed | None) -> None:
            if answer is not None:
                self.octavo.write(
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
        change_request, space = self.change_request, self.space_ref
        if change_request is None or space is None:
            return
        at = change_request.ref(space)
        draft = Kept(self.octavo, f"subject {at.space_id} {at.change_request_id}", change_request.subject)

        def rename(subject: str) -> None:
            self.octavo.write(
                f"rename #{change_request.number}",
                change_requests.Update(at=at, subject=subject),
                (change_requests.Get(at=at), lambda known: known.model_copy(update={"subject": subject})),
                said="Renamed",
                then=lambda _: draft.drop(),
                otherwise=kept.SAID,
            )

        self._ask_subject(f"Subject of #{change_request.number}", "Rename", draft, rename)

    def action_new_change_request(self) -> None:
        if (space := self._target_space()) is None:
            return
        known = self.octavo.known.space(space.space_id)
        draft = Kept(self.octavo, f"subject {space.space_id}")

        def made(change_request: ChangeRequest) -> None:
            draft.drop()
            self.octavo.say(f"Started #{change_request.number} {change_request.title}")
            self.octavo.open_change_request(change_request, space)

        def start(subject: str) -> None:
            op = change_requests.Create(at=space, subject=subject)
            self.octavo.write("start a change request", op, then=made, otherwise=kept.SAID)

        self._ask_subject(f"New change request in {known.title if known else 'this space'}", "Start", draft, start)

    def _ask_subject(self, title: str, verb: str, draft: Kept, use: Callable[[str], None]) -> None:
        from octavo.tui.screens.confirm import Confirm, Field

        required = "A subject of 1 to 100 characters, please."
        field = Field("Subject", draft.text, required=required, keep=draft.keep, keep_now=draft.keep_now)

        def decided(answer: Confirmed | None) -> None:
            if answer is None:
                return
            if len(answer.text) > 100:
                self.octavo.say(f"A subject has at most 100 characters; this one has {len(answer.text)}.", tone="care")
                self._ask_subject(title, verb, draft, use)
            else:
                use(answer.text)

        self.app.push_screen(Confirm(title, verb=verb, field=field), decided)

    def action_comment_whole(self) -> None:
        change_request, space = self.change_request, self.space_ref
        if change_request is not None and space is not None:
            at = change_request.ref(space)
            talking.start_thread(
                self.octavo, at, page=None, node=None, title=f"#{change_request.number}", excerpt=change_request.title
            )


_NEEDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "approve": ("review", ("draft", "open")),
    "ask_changes": ("review", ("draft", "open")),
    "merge": ("merge", ("draft", "open")),
    "update_main": ("edit", ("draft", "open")),
    "archive": ("edit", ("draft", "open", "archived")),
    "edit_meta": ("edit", ()),
    "comment_whole": ("comment", ()),
    "new_change_request": ("edit", ()),
}
"""What each action needs: a permission of the space, and the states it is for."""
