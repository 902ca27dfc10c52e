"""The status of a change request, and short texts about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from textual.content import Content

from octavo.api.change_requests import ChangeRequest
from octavo.api.reviews import RequestedReviewer, Review
from octavo.api.safety import safe_line
from octavo.api.users import Contributor
from octavo.tui.core.permissions import UNDECIDED
from octavo.tui.widgets.short_texts import long_age, plural, short_age

if TYPE_CHECKING:
    pass


StatusFact = Literal["reviews", "requested", "conflicts"]
"""Facts of a status that Octavo loads with separate requests to the server."""
STATUS_FACTS: tuple[StatusFact, ...] = ("reviews", "requested", "conflicts")


@dataclass(frozen=True)
class RequestStatus:
    """Review and merge status of a change request, as far as it is loaded."""

    approved: tuple[str, ...] = ()
    """Names of the reviewers who approved the current revision."""
    outdated_approvals: tuple[str, ...] = ()
    """Names of the reviewers who approved an earlier revision."""
    changes_requested: tuple[str, ...] = ()
    """Names of the reviewers who requested changes."""
    is_requested_from_me: bool = False
    outdated: bool = False
    conflicts: tuple[str, ...] = ()
    """Titles of the pages that conflict or may conflict with main."""
    threads: int = 0
    """Number of open threads."""
    known: frozenset[StatusFact] = frozenset(STATUS_FACTS)
    """Facts that are loaded."""
    unread: Mapping[StatusFact, str] = field(default_factory=dict)
    """Reasons why facts could not be loaded, by fact."""
    is_on_main: bool = False
    """True if main already has all changes."""

    @property
    def is_reviewed(self) -> bool:
        return bool(self.approved or self.outdated_approvals or self.changes_requested)


def request_status(
    change_request: ChangeRequest,
    threads: int,
    reviews: Sequence[Review] | None,
    requested: Sequence[RequestedReviewer] | None,
    conflicts: Sequence[str] | None,
    me: str,
    unread: Mapping[StatusFact, str] = MappingProxyType({}),
    *,
    is_on_main: bool = False,
) -> RequestStatus:
    """Return the status of a change request. `reviews`, `requested` and `conflicts` are None while they are not
    loaded."""
    given = [each for each in reviews or () if not each.outdated]
    approvals = [each for each in given if each.status == "approved"]
    fresh = [each.revision is None or each.revision == change_request.revision for each in approvals]
    facts: dict[StatusFact, object] = {"reviews": reviews, "requested": requested, "conflicts": conflicts}
    return RequestStatus(
        approved=tuple(each.reviewer.name for each, is_fresh in zip(approvals, fresh, strict=True) if is_fresh),
        outdated_approvals=tuple(
            each.reviewer.name for each, is_fresh in zip(approvals, fresh, strict=True) if not is_fresh
        ),
        changes_requested=tuple(each.reviewer.name for each in given if each.status == "changes-requested"),
        is_requested_from_me=any(each.user is not None and each.user.id == me for each in requested or ()),
        outdated=change_request.outdated and change_request.status in UNDECIDED,
        conflicts=tuple(conflicts or ()),
        threads=threads,
        known=frozenset(fact for fact, value in facts.items() if value is not None),
        unread=unread,
        is_on_main=is_on_main,
    )


def is_predicted(change_request: ChangeRequest) -> bool:
    """Return True if Octavo has to predict the merge. If main has not changed since the change request was created,
    there are no conflicts, and main has none of the changes. A merged or archived change request needs no
    prediction."""
    return change_request.status in UNDECIDED and (
        change_request.outdated or change_request.revision_merged_ancestor is not None
    )


def status_line(status: RequestStatus, labels: Sequence[str], width: int) -> Content:
    """Return a line of at most `width` cells: the labels, such as the space and the author, then the facts of the
    status. If the line is too long, facts are shortened from the last to the first. Then labels are omitted from the
    first to the last. No fact is omitted."""
    facts, labels = status_facts(status), [each for each in labels if each]
    levels = [0] * len(facts)

    def draw() -> Content:
        parts = [Content(each) for each in labels]
        parts += [Content.styled(words[level], style) for (words, style), level in zip(facts, levels, strict=True)]
        return Content(" · ").join(parts)

    order = list(reversed(range(len(facts))))
    if status.is_requested_from_me:
        # The icon already tells you that your review is requested, so this fact is shortened early.
        order.insert(1, order.pop())
    for level in (1, 2):
        for place in order:
            if draw().cell_length <= width:
                return draw()
            levels[place] = level
    while labels and draw().cell_length > width:
        labels.pop(0)
    return draw().truncate(width, ellipsis=True)


def status_facts(status: RequestStatus) -> list[tuple[tuple[str, str, str], str]]:
    """Return the facts to show, each as three texts of decreasing length with a style."""
    facts: list[tuple[tuple[str, str, str], str]] = []
    if status.is_requested_from_me:
        facts.append((("○ your review requested", "○ review requested", "○ review"), "$primary"))
    if names := status.changes_requested:
        by = _join_names(names)
        requested = f"✗ {_first_names(names)} requested changes"
        facts.append(((f"✗ {by} requested changes", requested, "✗ changes requested"), "$error"))
    if names := status.approved:
        facts.append(((f"✓ {_join_names(names)}", f"✓ {_first_names(names)}", f"✓ {len(names)}"), "$success"))
    if names := status.outdated_approvals:
        shorter = (f"✓ {_first_names(names)} (outdated)", f"✓ {len(names)} outdated")
        facts.append(((f"✓ {_join_names(names)} (outdated)", *shorter), "$warning"))
    if status.conflicts:
        facts.append(((f"✗ may conflict: {_join_names(status.conflicts)}", "✗ may conflict", "✗ conflict"), "$error"))
    if status.is_on_main:
        facts.append((("✓ already in main", "✓ already in main", "✓ in main"), "$success"))
    elif status.outdated:
        facts.append((("outdated", "outdated", "outdated"), "$warning"))
    if status.unread:
        facts.append((("partly loaded", "partly loaded", "?"), "$warning"))
    if status.threads:
        count = status.threads
        facts.append(
            ((f"● {plural(count, 'open thread')}", f"● {plural(count, 'thread')}", f"● {count}"), "$octavo-note")
        )
    return facts


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names[:2]) + (f", and {len(names) - 2} more" if len(names) > 2 else "")


def _first_names(names: Sequence[str]) -> str:
    """Return the given names of the first two people, and the number of the others."""
    return _join_names([name.split()[0] if name.split() else name for name in names])


def merged_by(change_request: ChangeRequest) -> str:
    """Return the user and time of a merge, such as `Merged by Noor 2 days ago`."""
    by = f" by {change_request.merged_by.name}" if change_request.merged_by is not None else ""
    return f"Merged{by} {long_age(change_request.merged_at or change_request.updated_at)}".strip()


def first_line(
    change_request: ChangeRequest,
    space: str,
    reviews: Sequence[Review],
    open_threads: int,
    width: int,
    conflicts: int = 0,
    unresolved: int = 0,
    pending: int = 0,
    proposed: int = 0,
    *,
    is_on_main: bool = False,
) -> Content:
    """Return the first line of a change request: number, title, space, author, status and reviews.

    `conflicts` is the number of pages that may conflict with main, `unresolved` the number of pages with conflict markers,
    `pending` the number of your pending comments, and `proposed` the number of notes that programs propose. With
    `is_on_main` a merge would change nothing. A narrow line omits the facts, then truncates the title. The status is always
    shown."""
    author = change_request.created_by.name if change_request.created_by else ""
    done = merged_by(change_request) if change_request.status == "merged" else short_age(change_request.updated_at)
    facts = " · ".join(each for each in (space, author, done) if each)
    counts = open_threads, conflicts, unresolved, pending, proposed
    signs = _status_signs(change_request, reviews, *counts, is_on_main=is_on_main)
    title = Content.assemble((f" #{change_request.number} ", "$octavo-muted"), (change_request.title, "bold"))
    state = Content.assemble("  ", *signs)
    free_width = width - state.cell_length
    subtitles = [Content.styled(f"  {each}", "$octavo-muted") for each in (facts, done)]
    subtitle = next((each for each in subtitles if title.cell_length + each.cell_length <= free_width), subtitles[0])
    if title.cell_length + subtitle.cell_length > free_width:
        return (title.truncate(max(free_width, 12), ellipsis=True) + state).truncate(width, ellipsis=True)
    return title + subtitle + state


def _status_signs(
    change_request: ChangeRequest,
    reviews: Sequence[Review],
    open_threads: int,
    conflicts: int,
    unresolved: int,
    pending: int,
    proposed: int,
    *,
    is_on_main: bool,
) -> list[tuple[str, str]]:
    """Return the texts and styles of the signs in the first line. The parameters are those of `first_line`."""
    signs: list[tuple[str, str]] = [(f" {change_request.status} ", "bold $foreground on $panel")]
    approved = [review for review in reviews if not review.outdated and review.status == "approved"]
    rejections = [review for review in reviews if not review.outdated and review.status != "approved"]
    if approved:
        is_outdated = all(review.revision != change_request.revision for review in approved)
        note = f"  ✓ {len(approved)} approved{' (outdated)' if is_outdated else ''}"
        signs.append((note, "$warning" if is_outdated else "$success"))
    if rejections:
        signs.append((f"  ✗ {rejections[0].reviewer.name} requested changes", "$error"))
    if open_threads:
        signs.append((f"  ● {plural(open_threads, 'open thread')}", "$octavo-note"))
    if pending:
        signs.append((f"  ◌ {plural(pending, 'pending comment')}", "$octavo-note"))
    if proposed:
        signs.append((f"  ◌ {plural(proposed, 'proposed note')} (press H)", "$octavo-note"))
    if is_on_main and change_request.status in ("open", "draft"):
        signs.append(("  ✓ already in main (press L to archive)", "$success"))
    elif change_request.outdated and change_request.status in ("open", "draft"):
        signs.append(("  ✗ outdated", "$warning"))
    if unresolved:
        signs.append((f"  ✗ {plural(unresolved, 'page')} with conflicts (press R)", "$error"))
    if conflicts:
        signs.append((f"  ⚠ {plural(conflicts, 'possible conflict')}", "$warning"))
    return signs


def reviewer_list(
    change_request: ChangeRequest,
    reviews: Sequence[Review],
    requested: Sequence[RequestedReviewer],
    contributors: Sequence[Contributor],
    changed_since: Mapping[str, int],
    me: str,
) -> Content:
    """Return the reviewers with their reviews, the requested reviewers, the contributors and the description. `me` is
    the ID of the user, who is marked with “(you)”. `changed_since` has the number of pages that changed since a
    revision, as far as it is loaded."""
    lines = [_review_line(change_request, review, changed_since, me) for review in reviews if not review.outdated]
    parts = [_under_heading("REVIEWERS", lines)] if lines else []
    requested_lines: list[Content] = []
    for each in requested:
        you = " (you)" if each.user is not None and each.user.id == me else ""
        if name := f"{each.user.name}{you}" if each.user else f"team {safe_line(each.team.id)}" if each.team else "":
            requested_lines.append(Content.assemble(("○ ", "$octavo-muted"), name))
    if requested_lines:
        parts.append(_under_heading("REVIEW REQUESTED", requested_lines))
    author = change_request.created_by.id if change_request.created_by else ""
    others = [each.user.name for each in contributors if each.user.id != author and each.action_type != "comment"]
    if others:
        names = ", ".join(dict.fromkeys(others))
        parts.append(Content.assemble(("CONTRIBUTORS\n", "bold $octavo-muted"), names))
    if change_request.description_text:
        parts.append(Content.assemble(("DESCRIPTION\n", "bold $octavo-muted"), change_request.description_text))
    return Content("\n\n").join(parts)


def _review_line(change_request: ChangeRequest, review: Review, changed_since: Mapping[str, int], me: str) -> Content:
    is_outdated = review.revision is not None and review.revision != change_request.revision
    note = ""
    if is_outdated:
        pages = changed_since.get(review.revision or "")
        note = f" · outdated ({plural(pages, 'page')} changed)" if pages else " · outdated"
    mark = ("✓ ", "$success") if review.status == "approved" else ("✗ ", "$error")
    you = " (you)" if review.reviewer.id == me else ""
    return Content.assemble(mark, f"{review.reviewer.name}{you}", (note, "$warning"))


def _under_heading(heading: str, lines: Sequence[Content]) -> Content:
    return Content("\n").join([Content.styled(heading, "bold $octavo-muted"), *lines])
