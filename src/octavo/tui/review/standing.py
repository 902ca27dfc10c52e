"""How a change request stands, in words and signs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.content import Content

from octavo.api.change_requests import ChangeRequest, Contributor
from octavo.api.reviews import RequestedReviewer, Review
from octavo.tui.ages import plural, short_age


def head(
    about: ChangeRequest,
    space: str,
    reviews: Sequence[Review],
    open_threads: int,
    width: int,
    conflicts: int = 0,
    undecided: int = 0,
    held: int = 0,
) -> Content:
    """One line: number and subject, where and whose it is, its state, what reviewers said. `conflicts` says how many
    pages may conflict with the primary content, `undecided` how many hold both sides of a conflict, `held` how many
    comments of one's own wait for the verdict.

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
    if held:
        signs.append((f"  ◌ {held} held", "$octavo-note"))
    if about.outdated and about.status in ("open", "draft"):
        signs.append(("  ✗ outdated", "$warning"))
    if undecided:
        signs.append((f"  ✗ {plural(undecided, 'page')} in conflict, R resolves", "$error"))
    if conflicts:
        signs.append((f"  ⚠ {conflicts} may conflict", "$warning"))
    name_of_it = Content.assemble((f" #{about.number} ", "$octavo-muted"), (about.title, "bold"))
    where, state = Content.styled(f"  {facts}", "$octavo-muted"), Content.assemble("  ", *signs)
    room = width - state.cell_length
    if name_of_it.cell_length + where.cell_length > room:
        return (name_of_it.truncate(max(room, 12), ellipsis=True) + state).truncate(width, ellipsis=True)
    return name_of_it + where + state


def reviewers(
    about: ChangeRequest,
    reviews: Sequence[Review],
    requested: Sequence[RequestedReviewer],
    contributors: Sequence[Contributor],
    newer: Mapping[str, int],
) -> Content:
    """Who reviewed it and whether that still holds, who is still asked, who worked on it, and what it is about.

    `newer` says how many pages changed since a revision, as far as that is known.
    """
    parts: list[Content] = []
    lines: list[Content] = []
    for review in reviews:
        if review.outdated:
            continue
        good = review.status == "approved"
        stale = review.revision is not None and review.revision != about.revision
        said = ""
        if stale:
            pages = newer.get(review.revision or "")
            said = f" · stale by {plural(pages, 'page')}" if pages is not None else " · an earlier revision"
        mark = ("✓ ", "$success") if good else ("✗ ", "$error")
        lines.append(Content.assemble(mark, review.reviewer.name, (said, "$warning")))
    for asked in requested:
        if asked.user is not None:
            lines.append(Content.assemble(("○ ", "$octavo-muted"), asked.user.name, (" · asked", "$octavo-muted")))
        elif asked.team is not None:
            lines.append(
                Content.assemble(("○ ", "$octavo-muted"), f"team {asked.team.id}", (" · asked", "$octavo-muted"))
            )
    if lines:
        parts.append(Content("\n").join([Content.styled("REVIEWERS", "bold $octavo-muted"), *lines]))
    author = about.created_by.id if about.created_by else ""
    others = [each.user.name for each in contributors if each.user.id != author and each.action_type != "comment"]
    if others:
        said = ", ".join(dict.fromkeys(others))
        parts.append(Content.assemble(("WORKED ON BY\n", "bold $octavo-muted"), said))
    if about.about:
        parts.append(Content(about.about))
    return Content("\n\n").join(parts)
