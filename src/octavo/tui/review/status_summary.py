"""How a change request stands, in words and signs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from textual.content import Content

from octavo.api.change_requests import ChangeRequest
from octavo.api.reviews import RequestedReviewer, Review
from octavo.api.safety import line as line_of
from octavo.api.users import Contributor
from octavo.tui.shell.permissions import UNDECIDED
from octavo.tui.widgets.wording import long_age, plural, short_age

Fact = Literal["reviews", "requested", "conflicts"]
"""What of it the server is asked for by itself."""
FACTS: tuple[Fact, ...] = ("reviews", "requested", "conflicts")


@dataclass(frozen=True)
class RequestStatus:
    """How one stands, as far as that is known."""

    approved: tuple[str, ...] = ()
    """Who approved what it is now."""
    stale: tuple[str, ...] = ()
    """Who approved what it was before the last edit."""
    refused: tuple[str, ...] = ()
    """Who asks for changes."""
    asks_me: bool = False
    """Whether my review is asked."""
    outdated: bool = False
    conflicts: tuple[str, ...] = ()
    """The pages that conflict, or may."""
    threads: int = 0
    """Those that wait for somebody."""
    known: frozenset[Fact] = frozenset(FACTS)
    """What of it is known."""
    unread: Mapping[Fact, str] = field(default_factory=dict)
    """What did not load, with the cause."""
    is_on_main: bool = False
    """Whether main has every change already."""

    @property
    def is_reviewed(self) -> bool:
        return bool(self.approved or self.stale or self.refused)


def standing(
    about: ChangeRequest,
    threads: int,
    reviews: Sequence[Review] | None,
    requested: Sequence[RequestedReviewer] | None,
    conflicts: Sequence[str] | None,
    me: str,
    unread: Mapping[Fact, str] = MappingProxyType({}),
    *,
    is_on_main: bool = False,
) -> RequestStatus:
    """How `about` stands. What is None is not known; of what is decided nothing is asked."""
    given = [each for each in reviews or () if not each.outdated]
    approvals = [each for each in given if each.status == "approved"]
    fresh = [each.revision is None or each.revision == about.revision for each in approvals]
    known: dict[Fact, bool] = {
        "reviews": reviews is not None,
        "requested": requested is not None,
        "conflicts": conflicts is not None,
    }
    return RequestStatus(
        approved=tuple(each.reviewer.name for each, is_fresh in zip(approvals, fresh, strict=True) if is_fresh),
        stale=tuple(each.reviewer.name for each, is_fresh in zip(approvals, fresh, strict=True) if not is_fresh),
        refused=tuple(each.reviewer.name for each in given if each.status == "changes-requested"),
        asks_me=any(each.user is not None and each.user.id == me for each in requested or ()),
        outdated=about.outdated and about.status in UNDECIDED,
        conflicts=tuple(conflicts or ()),
        threads=threads,
        known=frozenset(fact for fact, is_known in known.items() if is_known),
        unread=unread,
        is_on_main=is_on_main,
    )


def is_predicted(about: ChangeRequest) -> bool:
    """Return whether the merge has to be predicted. Without changes of main since the start there is no conflict, and
    main has none of the changes."""
    return about.status in UNDECIDED and (about.outdated or about.revision_merged_ancestor is not None)


def line(stands: RequestStatus, before: Sequence[str], room: int) -> Content:
    """How it stands, in one line of `room` cells, behind what it is `before`: where it is, its author. Where there is little
    room the words get shorter, those at the end first, then what stands before goes; each fact stays."""
    facts, ahead = said(stands), [each for each in before if each]
    levels = [0] * len(facts)

    def drawn() -> Content:
        parts = [Content(each) for each in ahead]
        parts += [Content.styled(words[level], style) for (words, style), level in zip(facts, levels, strict=True)]
        return Content(" · ").join(parts)

    order = list(reversed(range(len(facts))))
    if stands.asks_me:
        order.insert(1, order.pop())  # who is asked need not be told that they are in so many words
    for level in (1, 2):
        for place in order:
            if drawn().cell_length <= room:
                return drawn()
            levels[place] = level
    while ahead and drawn().cell_length > room:
        ahead.pop(0)
    return drawn().truncate(room, ellipsis=True)


def said(stands: RequestStatus) -> list[tuple[tuple[str, str, str], str]]:
    """Each fact in words that get shorter, and its style. What is nothing to tell of is left out."""
    facts: list[tuple[tuple[str, str, str], str]] = []
    if stands.asks_me:
        facts.append((("○ your review requested", "○ review requested", "○ review"), "$primary"))
    if names := stands.refused:
        by = _some(names)
        requested = f"✗ {_firsts(names)} requested changes"
        facts.append(((f"✗ {by} requested changes", requested, "✗ changes requested"), "$error"))
    if names := stands.approved:
        facts.append(((f"✓ {_some(names)}", f"✓ {_firsts(names)}", f"✓ {len(names)}"), "$success"))
    if names := stands.stale:
        shorter = (f"✓ {_firsts(names)} (outdated)", f"✓ {len(names)} outdated")
        facts.append(((f"✓ {_some(names)} (outdated)", *shorter), "$warning"))
    if stands.conflicts:
        facts.append(((f"✗ may conflict: {_some(stands.conflicts)}", "✗ may conflict", "✗ conflict"), "$error"))
    if stands.is_on_main:
        facts.append((("✓ already in main", "✓ already in main", "✓ in main"), "$success"))
    elif stands.outdated:
        facts.append((("outdated", "outdated", "outdated"), "$warning"))
    if stands.unread:
        facts.append((("partly loaded", "partly loaded", "?"), "$warning"))
    if stands.threads:
        facts.append(
            (
                (
                    f"● {plural(stands.threads, 'open thread')}",
                    f"● {plural(stands.threads, 'thread')}",
                    f"● {stands.threads}",
                ),
                "$octavo-note",
            )
        )
    return facts


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:2]) + (f", and {len(names) - 2} more" if len(names) > 2 else "")


def _firsts(names: Sequence[str]) -> str:
    """The first names of people."""
    return _some([name.split()[0] if name.split() else name for name in names])


def merged_by(about: ChangeRequest) -> str:
    """Return who merged a change request, and when, such as `Merged by Noor 2 days ago`."""
    by = f" by {about.merged_by.name}" if about.merged_by is not None else ""
    return f"Merged{by} {long_age(about.merged_at or about.updated_at)}".strip()


def head(
    about: ChangeRequest,
    space: str,
    reviews: Sequence[Review],
    open_threads: int,
    width: int,
    conflicts: int = 0,
    undecided: int = 0,
    held: int = 0,
    *,
    is_on_main: bool = False,
) -> Content:
    """One line: number and subject, where and whose it is, its state, what reviewers said. `conflicts` says how many
    pages may conflict with main, `undecided` how many have conflict markers, `held` how many of your comments are
    pending. `is_on_main`: a merge would change nothing.

    In a narrow line the facts are left away first, then the end of the subject: the status is always shown.
    """
    author = about.created_by.name if about.created_by else ""
    done = merged_by(about) if about.status == "merged" else short_age(about.updated_at)
    facts = " · ".join(each for each in (space, author, done) if each)
    signs: list[tuple[str, str]] = [(f" {about.status} ", "bold $foreground on $panel")]
    approved = [review for review in reviews if not review.outdated and review.status == "approved"]
    refused = [review for review in reviews if not review.outdated and review.status != "approved"]
    if approved:
        stale = all(review.revision != about.revision for review in approved)
        said = f"  ✓ {len(approved)} approved{' (outdated)' if stale else ''}"
        signs.append((said, "$warning" if stale else "$success"))
    if refused:
        signs.append((f"  ✗ {refused[0].reviewer.name} requested changes", "$error"))
    if open_threads:
        signs.append((f"  ● {plural(open_threads, 'open thread')}", "$octavo-note"))
    if held:
        signs.append((f"  ◌ {plural(held, 'pending comment')}", "$octavo-note"))
    if is_on_main and about.status in ("open", "draft"):
        signs.append(("  ✓ already in main (press L to archive)", "$success"))
    elif about.outdated and about.status in ("open", "draft"):
        signs.append(("  ✗ outdated", "$warning"))
    if undecided:
        signs.append((f"  ✗ {plural(undecided, 'page')} with conflicts (press R)", "$error"))
    if conflicts:
        signs.append((f"  ⚠ {plural(conflicts, 'possible conflict')}", "$warning"))
    name_of_it = Content.assemble((f" #{about.number} ", "$octavo-muted"), (about.title, "bold"))
    state = Content.assemble("  ", *signs)
    room = width - state.cell_length
    wheres = [Content.styled(f"  {each}", "$octavo-muted") for each in (facts, done)]
    where = next((each for each in wheres if name_of_it.cell_length + each.cell_length <= room), wheres[0])
    if name_of_it.cell_length + where.cell_length > room:
        return (name_of_it.truncate(max(room, 12), ellipsis=True) + state).truncate(width, ellipsis=True)
    return name_of_it + where + state


def reviewers(
    about: ChangeRequest,
    reviews: Sequence[Review],
    requested: Sequence[RequestedReviewer],
    contributors: Sequence[Contributor],
    newer: Mapping[str, int],
    me: str,
) -> Content:
    """Return the reviewers with their reviews, the requested reviewers, the contributors and the description.

    `me` is the id of the user, who is marked with “(you)”.
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
            said = f" · outdated ({plural(pages, 'page')} changed)" if pages else " · outdated"
        mark = ("✓ ", "$success") if good else ("✗ ", "$error")
        you = " (you)" if review.reviewer.id == me else ""
        lines.append(Content.assemble(mark, f"{review.reviewer.name}{you}", (said, "$warning")))
    if lines:
        parts.append(Content("\n").join([Content.styled("REVIEWERS", "bold $octavo-muted"), *lines]))
    waiting: list[Content] = []
    for each in requested:
        you = " (you)" if each.user is not None and each.user.id == me else ""
        if name := f"{each.user.name}{you}" if each.user else f"team {line_of(each.team.id)}" if each.team else "":
            waiting.append(Content.assemble(("○ ", "$octavo-muted"), name))
    if waiting:
        parts.append(Content("\n").join([Content.styled("REVIEW REQUESTED", "bold $octavo-muted"), *waiting]))
    author = about.created_by.id if about.created_by else ""
    others = [each.user.name for each in contributors if each.user.id != author and each.action_type != "comment"]
    if others:
        said = ", ".join(dict.fromkeys(others))
        parts.append(Content.assemble(("CONTRIBUTORS\n", "bold $octavo-muted"), said))
    if about.description_text:
        parts.append(Content.assemble(("DESCRIPTION\n", "bold $octavo-muted"), about.description_text))
    return Content("\n\n").join(parts)
