"""Reviewing a change request: approve it, or ask for changes, with the comments held for that; and take that back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from octavo.api.errors import ApiError
from octavo.data.entry import is_reviewing
from octavo.tui.shell import dialog_draft
from octavo.tui.shell.dialog_draft import DialogDraft
from octavo.tui.shell.permissions import UNDECIDED, KnowsPermissions
from octavo.tui.shell.routes import ToChangeRequest
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.api.reviews import Review
    from octavo.data.deciding import Verdict
    from octavo.data.entry import Entry
    from octavo.tui.widgets.confirm import Confirmed


class Reviewing(KnowsPermissions):
    """A view with a change request in it that can be reviewed."""

    CONTEXT: ClassVar[str] = "change requests"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "approve", "Approve", tooltip="Approve this revision, with a comment if you like", id="change.approve"),
        Binding("A", "ask_changes", "Ask for changes", show=False, tooltip="Ask for changes, and say which", id="change.ask"),
        Binding("H", "held", "Held", show=False, tooltip="The comments held for the review: read, change, drop or send them", id="change.held"),
        Binding("w", "withdraw", "Withdraw", show=False, tooltip="Withdraw the review I gave: it counts no more", id="change.withdraw"),
    ]  # fmt: skip

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action in ("approve", "ask_changes"):
            if (why := self.not_allowed("review", *UNDECIDED)) is not None:
                return why
            change_request, space = self.change_request, self.space_ref
            if change_request and space and is_reviewing(self.shell.session.outbox.entries, change_request.ref(space)):
                return f"Your review of #{change_request.number} is on its way already, after its comments."
        if action == "held" and not self.held_comments:
            return "You hold no comment for this review. In a comment ctrl+t holds it."
        if action == "withdraw":
            return self._why_not_withdraw()
        return super().why_not(action, parameters)

    def _why_not_withdraw(self) -> str | None:
        if (why := self.not_allowed("review", *UNDECIDED)) is not None:
            return why
        change_request, space = self.change_request, self.space_ref
        if self.reviews_given is not None and change_request is not None and not self._mine(self.reviews_given):
            return f"You have given no review of #{change_request.number} that counts."
        if space is not None and self.not_allowed_in(space, "edit") is not None:
            return (
                "The server deletes no review. One counts until its writer is asked again, and to ask takes the right "
                "to edit, which your role does not have: ask an editor to request your review again."
            )
        return None

    @property
    def reviews_given(self) -> Sequence[Review] | None:
        """The reviews of the change request. None where they are not known."""
        return None

    def _mine(self, given: Sequence[Review]) -> Review | None:
        me = self.shell.workspace.me
        return next((each for each in given if me and each.reviewer.id == me.id and not each.outdated), None)

    @property
    def held_comments(self) -> tuple[Entry, ...]:
        """What is held for the review, in the order written."""
        change_request, space = self.change_request, self.space_ref
        if change_request is None or space is None or not self.shell.has_session:
            return ()
        return self.shell.session.outbox.gathered(change_request.ref(space))

    @property
    def page_titles(self) -> Mapping[str, str]:
        """What pages are called, by their ids, as far as that is known."""
        return {}

    def show_held(self, entry: Entry) -> None:
        """Show where a held comment hangs."""
        change_request, space = self.change_request, self.space_ref
        if change_request is not None and space is not None:
            self.shell.go(ToChangeRequest(change_request.ref(space), change_request))

    def action_held(self) -> None:
        from octavo.tui.review.held import HeldScreen  # few hold any

        change_request, space = self.change_request, self.space_ref
        if change_request is None or space is None:
            return

        def chosen(entry: Entry | None) -> None:
            if entry is not None:
                self.show_held(entry)

        at = change_request.ref(space)
        self.app.push_screen(HeldScreen(at, f"#{change_request.number}", self.page_titles), chosen)

    def action_withdraw(self) -> None:
        self.shell.background(self._ask_to_withdraw())

    async def _ask_to_withdraw(self) -> None:
        from octavo.api import reviews
        from octavo.data.deciding import withdraw_review
        from octavo.tui.widgets.confirm import Confirm

        change_request, space = self.change_request, self.space_ref
        if change_request is None or space is None:
            return
        at, name = change_request.ref(space), f"#{change_request.number}"
        try:
            given = (await self.live.fetch(reviews.List(at=at, format="markdown", limit=100))).items
        except ApiError as error:
            self.shell.say(f"It is not known what you said of {name}: {error}", tone="failed")
            return
        if (mine := self._mine(given)) is None:
            self.shell.say(f"You have given no review of {name} that counts.", tone="care")
            return

        def decided(answer: Confirmed | None) -> None:
            if answer is not None:
                self.shell.writes.send_once(
                    f"withdraw your review of {name}",
                    withdraw_review(self.live, at, mine),
                    said=f"Your review of {name} counts no more",
                    then=lambda _: self.ask_again(),
                )

        verdict = "approved it" if mine.status == "approved" else "asked for changes"
        asked = f" {mine.requested_by.name} asked for it: you are asked again." if mine.requested_by is not None else ""
        after = f"It counts no more; others still see it as outdated, with its comments.{asked}"
        dialog = Confirm(f"Withdraw your review of {name}?", verb="Withdraw it", intro=f"You {verdict}.", after=after)
        self.app.push_screen(dialog, decided)

    def action_approve(self) -> None:
        self._review("approved")

    def action_ask_changes(self) -> None:
        self._review("changes-requested")

    def _review(self, status: Verdict) -> None:
        from octavo.tui.comments.held_comments import told
        from octavo.tui.widgets.confirm import Confirm, Field

        change_request, space = self.change_request, self.space_ref
        if change_request is None or space is None:
            return
        approves, held = status == "approved", self.held_comments
        at, name = change_request.ref(space), f"#{change_request.number}"
        draft = DialogDraft(self.shell, f"review {at.space_id} {at.change_request_id} {status}")
        field = Field(
            "Comment" if approves else "What has to change?",
            draft.text,
            lines=4,
            placeholder="optional" if approves or held else "",
            required="" if approves or held else "Say what has to change: the author has only your words to go by.",
            keep=draft.keep,
            keep_now=draft.keep_now,
        )
        dialog = Confirm(
            f"Approve {name} {change_request.title}?" if approves
            else f"Ask for changes in {name} {change_request.title}?",
            verb="Approve" if approves else "Ask for changes",
            field=field,
            intro="\n".join(told(held, self.page_titles)),
            foot="ctrl+s sends · esc keeps what you wrote",
        )  # fmt: skip

        def submitted(_: object) -> None:
            draft.drop()
            self.ask_again()

        def decided(answer: Confirmed | None) -> None:
            if answer is None:
                return
            from octavo.data.deciding import review, review_with_gathered

            doing = f"approve {name}" if approves else f"ask for changes in {name}"
            said = f"Approved {name}" if approves else f"Asked for changes in {name}"
            if self.shell.session.outbox.gathered(at):
                held_ones = plural(len(self.shell.session.outbox.gathered(at)), "comment")
                place = f"review {at.space_id} {at.change_request_id} {status}"
                sending = review_with_gathered(
                    self.live, at, status, change_request.revision, answer.text, doing=doing, place=place
                )
                self.shell.writes.review(doing, sending, said=f"{said}, with {held_ones}")
                return
            self.shell.writes.send_once(
                doing,
                review(self.live, at, status, change_request.revision, answer.text),
                said=said,
                then=submitted,
                otherwise=dialog_draft.SAID if answer.text else "",
            )

        self.app.push_screen(dialog, decided)
