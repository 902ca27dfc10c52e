"""Reviewing a change request: approve it, or ask for changes, with the comments held for that; and take that back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.api.errors import ApiError
from octavo.data.entry import is_reviewing
from octavo.tui.review.request_at_hand import RequestAtHand, may_not
from octavo.tui.shell import dialog_draft
from octavo.tui.shell.dialog_draft import DialogDraft
from octavo.tui.shell.permissions import UNDECIDED
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.api.reviews import Review
    from octavo.data.deciding import Verdict
    from octavo.data.entry import Entry
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed


def may_not_review(app: Shell, request: RequestAtHand) -> str | None:
    """Why one cannot say what one thinks of it, in a sentence."""
    if (why := may_not(app, request, "review", *UNDECIDED)) is not None:
        return why
    if is_reviewing(app.session.outbox.entries, request.at):
        return f"Your review of {request.name} is on its way already, after its comments."
    return None


def may_not_withdraw(app: Shell, request: RequestAtHand) -> str | None:
    """Why one cannot take one's review back, in a sentence."""
    if (why := may_not(app, request, "review", *UNDECIDED)) is not None:
        return why
    if request.reviews is not None and not _mine(app, request.reviews):
        return f"You have given no review of {request.name} that counts."
    if may_not(app, request, "edit") is not None:
        return (
            "The server deletes no review. One counts until its writer is asked again, and to ask takes the right "
            "to edit, which your role does not have: ask an editor to request your review again."
        )
    return None


def why_none_is_held(app: Shell, request: RequestAtHand) -> str | None:
    """Why there is no held comment to show, in a sentence."""
    return None if held_for(app, request) else "You hold no comment for this review. In a comment ctrl+t holds it."


def held_for(app: Shell, request: RequestAtHand) -> tuple[Entry, ...]:
    """What is held for the review, in the order written."""
    return app.session.outbox.gathered(request.at) if request.space is not None and app.has_session else ()


def _mine(app: Shell, given: Sequence[Review]) -> Review | None:
    me = app.workspace.me
    return next((each for each in given if me and each.reviewer.id == me.id and not each.outdated), None)


def show_held(app: Shell, request: RequestAtHand) -> None:
    """List what is held, and show where one hangs that is chosen."""
    from octavo.tui.review.held import HeldScreen  # few hold any

    def chosen(entry: Entry | None) -> None:
        if entry is not None:
            request.show_held(app, entry)

    app.push_screen(HeldScreen(request.at, request.name, request.titles()), chosen)


def withdraw(app: Shell, request: RequestAtHand) -> None:
    """Ask whether one's review shall count no more."""
    app.background(_ask_to_withdraw(app, request))


async def _ask_to_withdraw(app: Shell, request: RequestAtHand) -> None:
    from octavo.data.deciding import withdraw_review
    from octavo.data.request_lists import reviews_of
    from octavo.tui.widgets.confirm import Confirm

    at, name, live = request.at, request.name, app.session.live
    try:
        given = (await live.fetch(reviews_of(at))).items
    except ApiError as error:
        app.say(f"It is not known what you said of {name}: {error}", tone="failed")
        return
    if (mine := _mine(app, given)) is None:
        app.say(f"You have given no review of {name} that counts.", tone="care")
        return

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.writes.send_once(
                f"withdraw your review of {name}",
                withdraw_review(live, at, mine),
                said=f"Your review of {name} counts no more",
                then=lambda _: request.view.ask_again(),
            )

    verdict = "approved it" if mine.status == "approved" else "asked for changes"
    asked = f" {mine.requested_by.name} asked for it: you are asked again." if mine.requested_by is not None else ""
    after = f"It counts no more; others still see it as outdated, with its comments.{asked}"
    dialog = Confirm(f"Withdraw your review of {name}?", verb="Withdraw it", intro=f"You {verdict}.", after=after)
    app.push_screen(dialog, decided)


def review(app: Shell, request: RequestAtHand, status: Verdict) -> None:
    """Ask for the words of a review, and send it with what is held for it."""
    from octavo.tui.comments.held_comments import told
    from octavo.tui.widgets.confirm import Confirm, Field

    change_request, at, name = request.about, request.at, request.name
    approves, held = status == "approved", held_for(app, request)
    draft = DialogDraft(app, f"review {at.space_id} {at.change_request_id} {status}")
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
        intro="\n".join(told(held, request.titles())),
        foot="ctrl+s sends · esc keeps what you wrote",
    )  # fmt: skip

    def submitted(_: object) -> None:
        draft.drop()
        request.view.ask_again()

    def decided(answer: Confirmed | None) -> None:
        if answer is None:
            return
        from octavo.data import deciding

        doing = f"approve {name}" if approves else f"ask for changes in {name}"
        said = f"Approved {name}" if approves else f"Asked for changes in {name}"
        if app.session.outbox.gathered(at):
            held_ones = plural(len(app.session.outbox.gathered(at)), "comment")
            place = f"review {at.space_id} {at.change_request_id} {status}"
            sending = deciding.review_with_gathered(
                app.session.live, at, status, change_request.revision, answer.text, doing=doing, place=place
            )
            app.writes.review(doing, sending, said=f"{said}, with {held_ones}")
            return
        app.writes.send_once(
            doing,
            deciding.review(app.session.live, at, status, change_request.revision, answer.text),
            said=said,
            then=submitted,
            otherwise=dialog_draft.SAID if answer.text else "",
        )

    app.push_screen(dialog, decided)
