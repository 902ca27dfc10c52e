"""Submitting a review with its pending comments, and withdrawing a review."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.api.errors import ApiError
from octavo.data.writes.machine import has_review_in_flight
from octavo.tui.review.request_at_hand import RequestAtHand, is_in, may_not
from octavo.tui.shell import dialog_draft
from octavo.tui.shell.dialog_draft import DialogDraft
from octavo.tui.shell.permissions import UNDECIDED
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.api.reviews import Review
    from octavo.data.writes.change_request_writes import Verdict
    from octavo.data.writes.machine import OutboxEntry
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed


def may_not_review(app: Shell, request: RequestAtHand) -> str | None:
    """Return why you cannot review the change request. None if you can."""
    if (why := may_not(app, request, "review", *UNDECIDED)) is not None:
        return why
    if has_review_in_flight(app.session.outbox.entries, request.at):
        return f"Your review of {request.name} is already being submitted. Octavo is sending the comments first."
    return None


def awaits_others(app: Shell, request: RequestAtHand) -> bool:
    """Return whether the key bar offers a review: not of your own change request, although the server takes that."""
    me, author = app.workspace.me, request.about.created_by
    return is_in(*UNDECIDED)(app, request) and (me is None or author is None or author.id != me.id)


def may_not_withdraw(app: Shell, request: RequestAtHand) -> str | None:
    """Return why you cannot withdraw your review. None if you can."""
    if (why := may_not(app, request, "review", *UNDECIDED)) is not None:
        return why
    if request.reviews is not None and not _mine(app, request.reviews):
        return f"You have not reviewed {request.name}, or your review is outdated."
    if may_not(app, request, "edit") is not None:
        return (
            "You need the Editor role to withdraw a review. You can ask an editor to request another review from you. "
            "The new review request will make your current review outdated."
        )
    return None


def why_none_is_held(app: Shell, request: RequestAtHand) -> str | None:
    """Return why there are no pending comments to show. None if there are."""
    return (
        None
        if held_for(app, request)
        else "You have no pending comments here. To add a comment to your review, press ctrl+t while you write the comment."
    )


def held_for(app: Shell, request: RequestAtHand) -> tuple[OutboxEntry, ...]:
    """Return the pending comments of the review, in the order written."""
    return app.session.outbox.pending_comments(request.at) if request.space is not None and app.has_session else ()


def _mine(app: Shell, given: Sequence[Review]) -> Review | None:
    me = app.workspace.me
    return next((each for each in given if me and each.reviewer.id == me.id and not each.outdated), None)


def show_held(app: Shell, request: RequestAtHand) -> None:
    """List the pending comments, and show the chosen comment in its page."""
    from octavo.tui.review.held import HeldScreen  # lazy: the list of pending comments, rarely needed

    def chosen(entry: OutboxEntry | None) -> None:
        if entry is not None:
            request.show_held(app, entry)

    app.push_screen(HeldScreen(request.at, request.name, request.titles()), chosen)


def withdraw(app: Shell, request: RequestAtHand) -> None:
    """Ask whether to withdraw your review."""
    app.background(_ask_to_withdraw(app, request))


async def _ask_to_withdraw(app: Shell, request: RequestAtHand) -> None:
    from octavo.data.queries import reviews_of
    from octavo.data.writes.change_request_writes import withdraw_review_by_request
    from octavo.tui.widgets.confirm import ConfirmDialog

    at, name, live = request.at, request.name, app.session.live
    try:
        given = (await live.fetch(reviews_of(at))).items
    except ApiError as error:
        app.say(f"Could not load your review of {name}: {error}", tone="failed")
        return
    if (mine := _mine(app, given)) is None:
        app.say(f"You have not reviewed {name}, or your review is outdated.", tone="care")
        return

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.writes.send(
                f"withdraw your review of {name}",
                withdraw_review_by_request(live, at, mine),
                message=f"Withdrew your review of {name}",
                on_success=lambda _: request.view.refresh_data(),
            )

    given_as = f"You approved {name}." if mine.status == "approved" else f"You requested changes on {name}."
    again = f" {mine.requested_by.name}’s review request will stay open." if mine.requested_by is not None else ""
    after = f"Your review will be marked as outdated. Others can still see the review and its comments.{again}"
    dialog = ConfirmDialog(f"Withdraw your review of {name}?", verb="Withdraw", intro=given_as, after=after)
    app.push_screen(dialog, decided)


def review(app: Shell, request: RequestAtHand, status: Verdict) -> None:
    """Ask for the comment of a review, and submit the review with its pending comments."""
    from octavo.tui.comments.held_comments import told
    from octavo.tui.widgets.confirm import ConfirmDialog, Field

    change_request, at, name = request.about, request.at, request.name
    approves, held = status == "approved", held_for(app, request)
    draft = DialogDraft(app, f"review {at.space_id} {at.change_request_id} {status}")
    field = Field(
        "Comment" if approves else "What needs to change?",
        draft.text,
        lines=4,
        placeholder="optional" if approves or held else "",
        required_error="" if approves or held else "Describe what needs to change.",
        save_draft=draft.autosave,
        save_draft_now=draft.autosave_now,
    )
    dialog = ConfirmDialog(
        f"Approve {name} {change_request.title}?" if approves
        else f"Request changes on {name} {change_request.title}?",
        verb="Approve" if approves else "Request changes",
        field=field,
        intro="\n".join(told(held, request.titles())),
    )  # fmt: skip

    def submitted(_: object) -> None:
        draft.delete()
        request.view.refresh_data()

    def decided(answer: Confirmed | None) -> None:
        if answer is None:
            return
        from octavo.data.writes import change_request_writes

        doing = f"approve {name}" if approves else f"request changes on {name}"
        said = f"Approved {name}" if approves else f"Requested changes on {name}"
        if app.session.outbox.pending_comments(at):
            held_ones = plural(len(app.session.outbox.pending_comments(at)), "pending comment")
            place = f"review {at.space_id} {at.change_request_id} {status}"
            sending = change_request_writes.submit_review(
                app.session.live, at, status, change_request.revision, answer.text, action=doing, draft_key=place
            )
            app.writes.submit_review(doing, sending, message=f"Submitting your review of {name} with {held_ones}…")
            return
        app.writes.send(
            doing,
            change_request_writes.review(
                app.session.live, at, status, change_request.revision, answer.text, action=doing
            ),
            message=said,
            on_success=submitted,
            failure_hint=dialog_draft.DRAFT_SAVED if answer.text else "",
        )

    app.push_screen(dialog, decided)
