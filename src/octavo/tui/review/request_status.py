"""The status of change requests: the values, short texts, and the loader for lists."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from textual.content import Content

from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.errors import ApiError
from octavo.api.operation import ChangeRequestRef, Listing, ListPage, SpaceRef
from octavo.api.reviews import RequestedReviewer, Review
from octavo.api.safety import safe_line
from octavo.api.users import Contributor
from octavo.concurrency import gather_bounded
from octavo.data.live import Snapshot
from octavo.data.queries import UNDECIDED, open_threads_of, requested_reviewers_of, reviews_of
from octavo.tui.review.merge_checks import ListPrediction, predict_for_list
from octavo.tui.widgets.short_texts import first_few, long_age, plural, short_age

if TYPE_CHECKING:
    from octavo.tui.core.view import View

StatusFact = Literal["reviews", "requested", "conflicts"]
"""Part of a status that needs its own API request."""
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
    """Names of the pages and files that may conflict with main or have conflict markers."""
    threads: int = 0
    """Number of open threads."""
    loaded: frozenset[StatusFact] = frozenset(STATUS_FACTS)
    load_errors: Mapping[StatusFact, str] = field(default_factory=dict)
    """Reasons why facts could not be loaded, by fact."""
    is_on_main: bool = False
    """True if main already has all changes."""


def request_status(
    change_request: ChangeRequest,
    threads: int,
    reviews: Sequence[Review] | None,
    requested: Sequence[RequestedReviewer] | None,
    conflicts: Sequence[str] | None,
    me: str,
    load_errors: Mapping[StatusFact, str] = MappingProxyType({}),
    *,
    is_on_main: bool = False,
) -> RequestStatus:
    """Return the status of a change request. `reviews`, `requested` and `conflicts` are None until loaded."""
    current = [each for each in reviews or () if not each.outdated]
    approvals = [each for each in current if each.status == "approved"]
    head = (None, change_request.revision)
    facts: dict[StatusFact, object] = {"reviews": reviews, "requested": requested, "conflicts": conflicts}
    return RequestStatus(
        approved=tuple(each.reviewer.name for each in approvals if each.revision in head),
        outdated_approvals=tuple(each.reviewer.name for each in approvals if each.revision not in head),
        changes_requested=tuple(each.reviewer.name for each in current if each.status == "changes-requested"),
        is_requested_from_me=any(each.user is not None and each.user.id == me for each in requested or ()),
        outdated=change_request.outdated and change_request.status in UNDECIDED,
        conflicts=tuple(conflicts or ()),
        threads=threads,
        loaded=frozenset(fact for fact, value in facts.items() if value is not None),
        load_errors=load_errors,
        is_on_main=is_on_main,
    )


def needs_prediction(change_request: ChangeRequest) -> bool:
    """Return True if main changed after an open or draft change request was created. Others have no conflicts."""
    return change_request.status in UNDECIDED and (
        change_request.outdated or change_request.revision_merged_ancestor is not None
    )


def status_line(status: RequestStatus, labels: Sequence[str], width: int) -> Content:
    """Return a line with the labels and the facts of the status. To fit in `width` cells, facts are shortened first."""
    facts, labels = status_facts(status), [each for each in labels if each]
    levels = [0] * len(facts)

    def draw() -> Content:
        parts = [Content(each) for each in labels]
        parts += [Content.styled(words[level], style) for (words, style), level in zip(facts, levels, strict=True)]
        return Content(" · ").join(parts)

    order = list(reversed(range(len(facts))))
    if status.is_requested_from_me:
        # This fact is shortened second, because the icon also shows it.
        order.insert(1, order.pop())
    for level in (1, 2):
        for index in order:
            if draw().cell_length <= width:
                return draw()
            levels[index] = level
    while labels and draw().cell_length > width:
        labels.pop(0)
    return draw().truncate(width, ellipsis=True)


def status_facts(status: RequestStatus) -> list[tuple[tuple[str, str, str], str]]:
    """Return three texts and the style of each fact, such as `● 2 open threads`, `● 2 threads`, `● 2`."""
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
    if status.load_errors:
        facts.append((("partly loaded", "partly loaded", "?"), "$warning"))
    if status.threads:
        count = status.threads
        facts.append(
            ((f"● {plural(count, 'open thread')}", f"● {plural(count, 'thread')}", f"● {count}"), "$octavo-note")
        )
    return facts


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(first_few(names, 2))


def _first_names(names: Sequence[str]) -> str:
    """Return names such as `Noor, Ada and 2 more`."""
    return _join_names([name.split()[0] if name.split() else name for name in names])


def merged_by(change_request: ChangeRequest) -> str:
    """Return the user and time of a merge, such as `Merged by Noor 2 days ago`."""
    by = f" by {change_request.merged_by.name}" if change_request.merged_by is not None else ""
    return f"Merged{by} {long_age(change_request.merged_at or change_request.updated_at)}".strip()


def first_line(change_request: ChangeRequest, space: str, signs: Sequence[tuple[str, str]], width: int) -> Content:
    """Return the first line of a change request. `width` is in cells."""
    done = merged_by(change_request) if change_request.status == "merged" else short_age(change_request.updated_at)
    facts = " · ".join(each for each in (space, change_request.author_name, done) if each)
    title = Content.assemble((f" #{change_request.number} ", "$octavo-muted"), (change_request.title, "bold"))
    state = Content.assemble("  ", *signs)
    free_width = width - state.cell_length
    subtitles = [Content.styled(f"  {each}", "$octavo-muted") for each in (facts, done)]
    subtitle = next((each for each in subtitles if title.cell_length + each.cell_length <= free_width), subtitles[0])
    if title.cell_length + subtitle.cell_length > free_width:
        return (title.truncate(max(free_width, 12), ellipsis=True) + state).truncate(width, ellipsis=True)
    return title + subtitle + state


def status_signs(
    change_request: ChangeRequest,
    reviews: Sequence[Review],
    *,
    open_threads: int,
    conflicts: int,
    unresolved: int,
    pending: int,
    proposed: int,
    is_on_main: bool,
) -> list[tuple[str, str]]:
    """Return the signs in the first line of a change request, such as `✓ 2 approved`, each with its style. `conflicts`
    counts pages that may conflict with main, `unresolved` counts pages with conflict markers."""
    signs: list[tuple[str, str]] = [(f" {change_request.status} ", "bold $foreground on $panel")]
    approved = [review for review in reviews if not review.outdated and review.status == "approved"]
    rejections = [review for review in reviews if not review.outdated and review.status != "approved"]
    if approved:
        note = _outdated_note(change_request, approved)
        signs.append((f"  ✓ {len(approved)} approved{note}", "$warning" if note else "$success"))
    if rejections:
        reviewer = rejections[0].reviewer.name if len(rejections) == 1 else f"{len(rejections)} reviewers"
        signs.append((f"  ✗ {reviewer} requested changes{_outdated_note(change_request, rejections)}", "$error"))
    if open_threads:
        signs.append((f"  ● {plural(open_threads, 'open thread')}", "$octavo-note"))
    if pending:
        signs.append((f"  ◌ {plural(pending, 'pending comment')}", "$octavo-note"))
    if proposed:
        signs.append((f"  ◌ {plural(proposed, 'proposed note')} (press H)", "$octavo-note"))
    if is_on_main and change_request.status in UNDECIDED:
        signs.append(("  ✓ already in main (press L to archive)", "$success"))
    elif change_request.outdated and change_request.status in UNDECIDED:
        signs.append(("  ✗ outdated", "$warning"))
    if unresolved:
        signs.append((f"  ✗ {plural(unresolved, 'page')} with conflicts (press R)", "$error"))
    if conflicts:
        signs.append((f"  ⚠ {plural(conflicts, 'possible conflict')}", "$warning"))
    return signs


def _outdated_note(change_request: ChangeRequest, reviews: Sequence[Review]) -> str:
    """Return a note such as ` (outdated)`, or empty."""
    outdated = sum(review.revision not in (None, change_request.revision) for review in reviews)
    if outdated == len(reviews):
        return " (outdated)"
    return f" ({outdated} outdated)" if outdated else ""


def reviewer_list(
    change_request: ChangeRequest,
    reviews: Sequence[Review],
    requested: Sequence[RequestedReviewer],
    contributors: Sequence[Contributor],
    changed_since: Mapping[str, int],
    me: str,
) -> Content:
    """Return the reviews, the requested reviewers, the contributors and the description. `changed_since` has numbers of
    changed pages by reviewed revision."""
    lines = [_review_line(change_request, review, changed_since, me) for review in reviews if not review.outdated]
    parts = [_under_heading("REVIEWERS", lines)] if lines else []
    requested_lines: list[Content] = []
    for each in requested:
        you = " (you)" if each.user is not None and each.user.id == me else ""
        if name := f"{each.user.name}{you}" if each.user else f"team {safe_line(each.team.id)}" if each.team else "":
            requested_lines.append(Content.assemble(("○ ", "$octavo-muted"), name))
    if requested_lines:
        parts.append(_under_heading("REVIEW REQUESTED", requested_lines))
    others = [
        each.user.name
        for each in contributors
        if each.user.id != change_request.author_id and each.action_type != "comment"
    ]
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


MAX_FOLLOWED = 60
"""Maximum number of change requests whose status is kept up to date."""
MAX_PARALLEL = 4
"""Maximum number of change requests whose facts `load` loads in parallel."""
_LOAD_GROUP = "all of a list"


@dataclass
class _LoadedFacts:
    """Loaded facts of a change request. None while a fact is not loaded."""

    reviews: tuple[Review, ...] | None = None
    requested: tuple[RequestedReviewer, ...] | None = None
    predicted: ListPrediction | None = None
    predicted_for: tuple[str | None, ...] = ()
    """Revisions that `predicted` is for: base, change request and main."""
    current_revisions: tuple[str | None, ...] = ()
    """Current revisions of the base, the change request and main. Empty before the change request was visible."""
    current_since: datetime | None = None
    """Time when `current_revisions` were first seen."""
    load_errors: dict[StatusFact, str] = field(default_factory=dict)
    """Reasons why facts could not be loaded, by fact."""


class StatusLoader:
    """Loads and caches the status of change requests. Calls `on_change` with an ID after each change."""

    def __init__(self, view: View, on_change: Callable[[str], None]) -> None:
        self._view, self._on_change = view, on_change
        self._facts: dict[str, _LoadedFacts] = {}
        """Loaded facts by ID of the change request."""
        self._followed: OrderedDict[str, ChangeRequest] = OrderedDict()
        self._prediction_lock = asyncio.Lock()
        self._unpredicted: list[ChangeRequest] = []
        """Visible change requests that wait for their prediction."""
        self._is_predicting = False
        self._loading: set[str] = set()
        """IDs of the change requests whose facts `load` is loading."""

    def clear(self) -> None:
        """Drop the status of all change requests after a change of the organization."""
        for each in tuple(self._followed):
            self._unfollow(each)
        self.stop_loading()
        self._unpredicted = []
        self._facts.clear()

    def status_of(self, change_request: ChangeRequest) -> RequestStatus:
        """Return the status of a change request, as far as it is loaded."""
        workspace, facts = self._view.shell.workspace, self._facts.get(change_request.id) or _LoadedFacts()
        me, threads = workspace.my_id, workspace.open_thread_count(change_request)
        if change_request.status not in UNDECIDED:
            return request_status(change_request, threads, (), (), (), me)
        predicted: ListPrediction | None = ListPrediction((), is_on_main=False)
        if needs_prediction(change_request):
            predicted = facts.predicted if facts.predicted_for == self._revisions_of(change_request) else None
        return request_status(
            change_request,
            threads,
            facts.reviews,
            facts.requested,
            predicted.conflicts if predicted is not None else None,
            me,
            dict(facts.load_errors),
            is_on_main=predicted is not None and predicted.is_on_main,
        )

    def follow_visible(self, shown: Iterable[ChangeRequest]) -> None:
        """Load the status of the `shown` change requests, and keep it up to date."""
        followed = [each for each in shown if each.space is not None and (each.status in UNDECIDED or each.comments)]
        for change_request in followed:
            self._follow(change_request)
        shown_ids = {each.id for each in followed}
        for each in tuple(self._followed):
            if len(self._followed) > MAX_FOLLOWED and each not in shown_ids:
                self._unfollow(each)
        self._unpredicted = [each for each in followed if self._lacks_prediction(each)]
        if self._unpredicted and not self._is_predicting:
            # A restarted worker would send the requests of its prediction again.
            self._is_predicting = True
            self._view.run_worker(self._predict_listed())

    def load(self, change_requests: Iterable[ChangeRequest], facts: Collection[StatusFact]) -> None:
        """Load those of `facts` that are missing, for all `change_requests`."""
        missing = [each for each in change_requests if each.id not in self._loading and each.space is not None]
        if missing:
            self._loading |= {each.id for each in missing}
            self._view.run_worker(self._load_all(missing, facts), group=_LOAD_GROUP)

    def stop_loading(self) -> None:
        self._view.workers.cancel_group(self._view, _LOAD_GROUP)
        self._loading.clear()

    def drop_outdated(self) -> None:
        """Drop failed predictions and the facts of change requests out of view, so that they are loaded again."""
        for name in [each for each in self._facts if each not in self._followed]:
            del self._facts[name]
        for facts in self._facts.values():
            if facts.load_errors.pop("conflicts", None):
                facts.predicted_for = ()

    # Following the rows on the screen

    def _follow(self, change_request: ChangeRequest) -> None:
        at, view, request_id = _ref_of(change_request), self._view, change_request.id
        self._followed[request_id] = change_request
        self._followed.move_to_end(request_id)
        if change_request.status in UNDECIDED:
            # The preview may have loaded the same lists a moment ago.
            view.follow(
                f"reviews of {request_id}", reviews_of(at), partial(self._show_reviews, request_id), refetch=False
            )
            view.follow(
                f"asked of {request_id}",
                requested_reviewers_of(at),
                partial(self._show_requested, request_id),
                refetch=False,
            )
        self._follow_threads(request_id)

    def _follow_threads(self, request_id: str) -> None:
        change_request, facts = self._followed[request_id], self._facts.get(request_id)
        counts_threads = change_request.status not in UNDECIDED or any(
            each.comment is not None and each.comment.is_open for each in (facts and facts.reviews) or ()
        )
        op = open_threads_of(_ref_of(change_request)) if counts_threads and change_request.comments else None
        show = partial(self._show_threads, request_id) if op is not None else None
        self._view.follow(f"threads of {request_id}", op, show, refetch=False)

    def _unfollow(self, request_id: str) -> None:
        del self._followed[request_id]
        for fact in ("reviews", "asked", "threads"):
            self._view.follow(f"{fact} of {request_id}", None)

    def _show_reviews(self, request_id: str, snapshot: Snapshot[ListPage[Review]]) -> None:
        facts = self._facts.setdefault(request_id, _LoadedFacts())
        facts.reviews = self._loaded_items(facts, "reviews", snapshot, facts.reviews)
        if request_id in self._followed:
            self._follow_threads(request_id)
        self._on_change(request_id)

    def _show_requested(self, request_id: str, snapshot: Snapshot[ListPage[RequestedReviewer]]) -> None:
        facts = self._facts.setdefault(request_id, _LoadedFacts())
        facts.requested = self._loaded_items(facts, "requested", snapshot, facts.requested)
        self._on_change(request_id)

    def _show_threads(self, request_id: str, snapshot: Snapshot[ListPage[Comment]]) -> None:
        if snapshot.value is not None and request_id in self._followed:
            self._view.shell.workspace.count_review_summaries(
                request_id, snapshot.value, self._followed[request_id].comments
            )
            self._on_change(request_id)

    def _loaded_items(
        self, facts: _LoadedFacts, fact: StatusFact, snapshot: Snapshot[ListPage[Any]], previous: tuple[Any, ...] | None
    ) -> tuple[Any, ...] | None:
        if snapshot.error is not None and snapshot.value is None:
            facts.load_errors[fact] = str(snapshot.error)
        else:
            facts.load_errors.pop(fact, None)
        return snapshot.value.items if snapshot.value is not None else previous

    # Conflicts

    def _revisions_of(self, change_request: ChangeRequest) -> tuple[str | None, ...]:
        space = self._view.shell.workspace.space(change_request.space or "")
        main = space.revision if space is not None and change_request.outdated else None
        return change_request.base, change_request.revision, main

    def _lacks_prediction(self, change_request: ChangeRequest) -> bool:
        facts, sides = self._facts.setdefault(change_request.id, _LoadedFacts()), self._revisions_of(change_request)
        if facts.current_since is None or facts.current_revisions != sides:
            facts.current_revisions, facts.current_since = sides, self._view.live.now()
        return needs_prediction(change_request) and facts.predicted_for != sides

    async def _predict_listed(self) -> None:
        try:
            while self._unpredicted:
                await self._predict(self._unpredicted.pop(0))
        finally:
            self._is_predicting = False

    async def _predict(self, change_request: ChangeRequest) -> None:
        async with self._prediction_lock:
            if not self._lacks_prediction(change_request):
                return
            facts = self._facts[change_request.id]
            sides, since = facts.current_revisions, facts.current_since
            assert since is not None, "the revisions have been seen"
            try:
                predicted = await predict_for_list(
                    self._view.live, _ref_of(change_request), change_request, main=sides[-1], since=since
                )
                facts.load_errors.pop("conflicts", None)
                if predicted is None:
                    facts.load_errors["conflicts"] = "the base revision is not available"
            except ApiError as error:
                predicted = None
                facts.load_errors["conflicts"] = str(error)
            facts.predicted, facts.predicted_for = predicted, sides
        self._on_change(change_request.id)

    # Loading for the whole list

    async def _load_all(self, change_requests: Sequence[ChangeRequest], facts: Collection[StatusFact]) -> None:
        async def load_facts(change_request: ChangeRequest) -> None:
            for fact in facts:
                if fact not in self.status_of(change_request).loaded:
                    await self._load_fact(change_request, fact)
            self._loading.discard(change_request.id)

        await gather_bounded(load_facts, change_requests, MAX_PARALLEL)

    async def _load_fact(self, change_request: ChangeRequest, fact: StatusFact) -> None:
        if fact == "conflicts":
            await self._predict(change_request)
            return
        facts = self._facts.setdefault(change_request.id, _LoadedFacts())
        op: Listing[Any] = (
            reviews_of(_ref_of(change_request))
            if fact == "reviews"
            else requested_reviewers_of(_ref_of(change_request))
        )
        try:
            items = (await self._view.live.fetch(op)).items
        except ApiError as error:
            facts.load_errors[fact] = str(error)
        else:
            facts.load_errors.pop(fact, None)
            setattr(facts, fact, items)
        self._on_change(change_request.id)


def _ref_of(change_request: ChangeRequest) -> ChangeRequestRef:
    return change_request.ref(SpaceRef(space_id=change_request.space or ""))
