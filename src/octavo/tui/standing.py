"""How a change request stands, in words and signs. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Change
from octavo.api.reviews import RequestedReviewer, Review
from octavo.tui.ages import short_age
from octavo.tui.checks import name


def head(about: ChangeRequest, space: str, reviews: Sequence[Review], open_threads: int, width: int) -> Content:
    """One line: number and subject, where and whose it is, its state, what reviewers said.

    Where there is little room the facts go first, then the end of the subject: how it stands is always to be seen.
    """
    author = about.created_by.name if about.created_by else ""
    facts = " · ".join(each for each in (space, author, short_age(about.updated_at)) if each)
    signs: list[tuple[str, str]] = [(f" {about.status} ", "bold $foreground on $panel")]
    approved = [review for review in reviews if not review.outdated and review.status == "approved"]
    refused = [review for review in reviews if not review.outdated and review.status != "approved"]
    if approved:
        stale = all(review.revision != about.revision for review in approved)
        said = f"  ✓ {len(approved)} approved{' (stale)' if stale else ''}"
        signs.append((said, "$warning" if stale else "$success"))
    if refused:
        signs.append((f"  ✗ {refused[0].reviewer.name} asks for changes", "$error"))
    if open_threads:
        signs.append((f"  ● {open_threads} open", "$octavo-note"))
    if about.outdated and about.status in ("open", "draft"):
        signs.append(("  ✗ outdated", "$warning"))
    name_of_it = Content.assemble((f" #{about.number} ", "$octavo-muted"), (about.title, "bold"))
    where, state = Content.styled(f"  {facts}", "$octavo-muted"), Content.assemble("  ", *signs)
    room = width - state.cell_length
    if name_of_it.cell_length + where.cell_length > room:
        return (name_of_it.truncate(max(room, 12), ellipsis=True) + state).truncate(width, ellipsis=True)
    return name_of_it + where + state


def reviewers(about: ChangeRequest, reviews: Sequence[Review], requested: Sequence[RequestedReviewer]) -> Content:
    """What it is about, who reviewed it, and who is still asked."""
    lines: list[Content] = []
    if about.about:
        lines += [Content(about.about), Content("")]
    current = [review for review in reviews if not review.outdated]
    if current or requested:
        lines.append(Content.styled("REVIEWERS", "bold $octavo-muted"))
    for review in current:
        good = review.status == "approved"
        stale = review.revision is not None and review.revision != about.revision
        lines.append(
            Content.assemble(
                ("✓ " if good else "✗ ", "$success" if good else "$error"),
                review.reviewer.name,
                (" · an earlier revision" if stale else "", "$warning"),
            )
        )
    for asked in requested:
        if asked.user is not None:
            lines.append(Content.assemble(("○ ", "$octavo-muted"), asked.user.name, (" · asked", "$octavo-muted")))
    return Content("\n").join(lines)


def key_of(change: Change) -> str:
    """What tells a change from the others of a change request."""
    about = change.page or change.file
    return f"{change.type} {about.id if about else name(change)}"


def in_words(change: Change) -> str:
    """What a change without a diff does, a sentence or a value on each line."""
    lines: list[str] = []
    if change.parent is not None:
        places = (change.parent.before, change.parent.after)
        before, after = (place.title if place else "the top" for place in places)
        lines.append(f"Moved from {before} to {after}.")
    for values in (change.attributes, change.variables):
        for what, sides in values.items() if isinstance(values, dict) else ():
            if isinstance(sides, dict) and what != "document":
                lines.append(f"{what}: {sides.get('before', '–')} → {sides.get('after', '–')}")
    if change.file is not None:
        lines.append(f"{change.file.name} · {change.file.content_type}")
    return "\n".join(lines) or change.type.replace("_", " ").capitalize() + "."
