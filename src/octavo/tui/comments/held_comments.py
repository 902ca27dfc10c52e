"""Comments that are held for a review: what becomes of them until the verdict takes them along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from octavo.api.bodies import Markdown
from octavo.api.places import ChangeRequestRef
from octavo.data.entry import Entry
from octavo.data.send_once import Sent
from octavo.data.state import NotSaved
from octavo.tui.shell.dialog_draft import DialogDraft
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

MOST_NAMED = 8
"""Held comments that a dialog names; of more it says how many."""


def page_of(entry: Entry) -> str:
    """The id of the page a held comment is about. Empty: the whole change request, or a thread that is answered."""
    return entry.facts.page


def named(entry: Entry, titles: Mapping[str, str]) -> str:
    """What a held comment is about."""
    if entry.facts.thread:
        return f"Reply: {entry.about}" if entry.about else "Reply"
    return titles.get(page_of(entry)) or entry.about or ("A page" if page_of(entry) else "The whole change request")


def told(held: tuple[Entry, ...], titles: Mapping[str, str]) -> list[str]:
    """What goes out with a verdict, line by line."""
    if not held:
        return []
    lines = [f"With it {'goes' if len(held) == 1 else 'go'} {plural(len(held), 'held comment')}:"]
    for entry in held[:MOST_NAMED]:
        words = " ".join(entry.words.split())
        lines.append(f"• {named(entry, titles)}: {words if len(words) <= 60 else words[:59] + '…'}")
    if len(held) > MOST_NAMED:
        lines.append(f"and {len(held) - MOST_NAMED} more: H shows them all.")
    return lines


def edit_held(app: Shell, entry: Entry) -> None:
    """Change the words of a held comment; it stays held."""
    from octavo.tui.comments.composer import Composer
    from octavo.tui.comments.people import People
    from octavo.tui.reader.markdown_preview import preview

    place = f"held {entry.id}"
    kept = DialogDraft(app, place, entry.words)

    def written(text: str | None) -> None:
        if text:
            op = entry.op.model_copy(update={"body": Markdown(markdown=text)})
            app.writes.change(
                "change the comment", app.session.outbox.reword(entry.id, op, place), "Changed. It is held."
            )

    assert isinstance(entry.at, ChangeRequestRef)
    composer = Composer(
        "Edit a held comment",
        draft=kept.text,
        save_draft=kept.save,
        save_draft_now=kept.save_now,
        is_saved=kept.is_saved,
        trouble=lambda: kept.trouble,
        verb="keep it held",
        preview=preview,
        editing_folder=app.settings.state_folder / "editing",
        people=People(app, entry.at),
        replies=app.settings.quick_replies,
    )
    app.push_screen(composer, written)


def drop_held(app: Shell, entry: Entry) -> None:
    """Hold a comment no more, once the person said yes."""
    from octavo.tui.widgets.confirm import Confirm

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.writes.change(
                "drop the comment", app.session.outbox.discard(entry.id), "Dropped. Its words are a draft."
            )

    words = " ".join(entry.words.split())
    said = f"“{words if len(words) <= 240 else words[:239] + '…'}”"
    after = "Nobody saw it. Its words stay as a draft where you wrote them: c there brings them back."
    app.push_screen(Confirm("Drop this held comment?", verb="Drop it", intro=said, after=after), decided)


def send_held(app: Shell, at: ChangeRequestRef, name: str) -> None:
    """Send what is held without a verdict."""

    async def let_go() -> Sent[tuple[Entry, ...]]:
        try:
            return Sent("done", answer=await app.session.outbox.let_go(at))
        except NotSaved as error:
            return Sent("refused", str(error))

    number = len(app.session.outbox.gathered(at))
    them = plural(number, "held comment")
    app.writes.review(f"send the {them} of {name}", let_go(), said=f"{them} of {name} sent, without a verdict")
