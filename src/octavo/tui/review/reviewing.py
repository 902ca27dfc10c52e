"""Reviewing a change request: approve it, or ask for changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from octavo.tui import kept
from octavo.tui.allowing import UNDECIDED, Allowing
from octavo.tui.kept import Kept

if TYPE_CHECKING:
    from octavo.data.deciding import Verdict
    from octavo.tui.screens.confirm import Confirmed


class Reviewing(Allowing):
    """A view with a change request in it that can be reviewed."""

    CONTEXT: ClassVar[str] = "change requests"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "approve", "Approve", tooltip="Approve this revision, with a comment if you like", id="change.approve"),
        Binding("A", "ask_changes", "Ask for changes", show=False, tooltip="Ask for changes, and say which", id="change.ask"),
    ]  # fmt: skip

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action in ("approve", "ask_changes"):
            return self.not_allowed("review", *UNDECIDED)
        return super().why_not(action, parameters)

    def action_approve(self) -> None:
        self._review("approved")

    def action_ask_changes(self) -> None:
        self._review("changes-requested")

    def _review(self, status: Verdict) -> None:
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
            from octavo.data.deciding import review

            self.octavo.writes.send_once(
                f"approve #{change_request.number}" if approves else f"ask for changes in #{change_request.number}",
                review(self.octavo.session.live, at, status, change_request.revision, answer.text),
                said=f"Approved #{change_request.number}"
                if approves
                else f"Asked for changes in #{change_request.number}",
                then=submitted,
                otherwise=kept.SAID if answer.text else "",
            )

        self.app.push_screen(dialog, decided)
