"""The review and merge status of change requests: the values, the texts that show them, and the loader for lists."""

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
from octavo.data.queries import UNDECIDED, open_threads_op, requested_reviewers_op, reviews_op
from octavo.tui.review.merge_checks import ListPrediction, predict_for_list
from octavo.tui.widgets.short_texts import first_few, long_age, plural, short_age

if TYPE_CHECKING:
    from octavo.tui.core.view import View

StatusField = Literal["reviews", "requested", "conflicts"]
"""Part of a status that is loaded separately: reviews, requested reviewers or predicted conflicts."""
STATUS_FIELDS: tuple[StatusField, ...] = ("reviews", "requested", "conflicts")


@dataclass(frozen=True)
class RequestStatus:
    """Review and merge status of a change request, as far as it is loaded."""

    approved: tuple[str, ...] = ()
    """Names of the reviewers who approved the current revision, or whose approval has no revision."""
    outdated_approvals: tuple[str, ...] = ()
    """Names of the reviewers who approved an earlier revision."""
    changes_requested: tuple[str, ...] = ()
    """Names of the reviewers who requested changes."""
    is_requested_from_me: bool = False
    is_outdated: bool = False
    conflicts: tuple[str, ...] = ()
    """Names of the pages and other items that may conflict with main or have conflict markers."""
    open_thread_count: int = 0
    loaded_fields: frozenset[StatusField] = frozenset(STATUS_FIELDS)
    load_errors: Mapping[StatusField, str] = field(default_factory=dict)
    """Reasons why status fields could not be loaded."""
    is_on_main: bool = False
    """True if main already has all changes of the change request."""


def request_status(
    change_request: ChangeRequest,
    open_thread_count: int,
    reviews: Sequence[Review] | None,
    requested_reviewers: Sequence[RequestedReviewer] | None,
    conflicts: Sequence[str] | None,
    me: str,
    load_errors: Mapping[StatusField, str] = MappingProxyType({}),
    *,
    is_on_main: bool = False,
) -> RequestStatus:
    """Return the status of a change request. `me` is your user ID. Arguments that are not loaded yet are None."""
    current_reviews = [each for each in reviews or () if not each.outdated]
    approvals = [each for each in current_reviews if each.status == "approved"]
    current_revisions = (None, change_request.revision)
    fields: dict[StatusField, object] = {"reviews": reviews, "requested": requested_reviewers, "conflicts": conflicts}
    return RequestStatus(
        approved=tuple(each.reviewer.name for each in approvals if each.revision in current_revisions),
        outdated_approvals=tuple(each.reviewer.name for each in approvals if each.revision not in current_revisions),
        changes_requested=tuple(each.reviewer.name for each in current_reviews if each.status == "changes-requested"),
        is_requested_from_me=any(each.user is not None and each.user.id == me for each in requested_reviewers or ()),
        is_outdated=change_request.outdated and change_request.status in UNDECIDED,
        conflicts=tuple(conflicts or ()),
        open_thread_count=open_thread_count,
        loaded_fields=frozenset(name for name, value in fields.items() if value is not None),
        load_errors=load_errors,
        is_on_main=is_on_main,
    )


def needs_prediction(change_request: ChangeRequest) -> bool:
    """Return True if an open or draft change request can have conflicts, because main changed after its creation."""
    return change_request.status in UNDECIDED and (
        change_request.outdated or change_request.revision_merged_ancestor is not None
    )


def status_line(status: RequestStatus, labels: Sequence[str], width: int) -> Content:
    """Return a line with `labels` and the status. To fit `width`, shorten the status, then drop the first labels."""
    texts, labels = status_texts(status), [each for each in labels if each]
    levels = [0] * len(texts)

    def draw() -> Content:
        parts = [Content(each) for each in labels]
        parts += [Content.styled(words[level], style) for (words, style), level in zip(texts, levels, strict=True)]
        return Content(" · ").join(parts)

    indexes = list(reversed(range(len(texts))))
    if status.is_requested_from_me:
        # Shorten “your review requested” as the second text, because the icon shows the same.
        indexes.insert(1, indexes.pop())
    for level in (1, 2):
        for index in indexes:
            if draw().cell_length <= width:
                return draw()
            levels[index] = level
    while labels and draw().cell_length > width:
        labels.pop(0)
    return draw().truncate(width, ellipsis=True)


def status_texts(status: RequestStatus) -> list[tuple[tuple[str, str, str], str]]:
    """Return the texts of a status with their styles. Each has a long, medium and short form, such as
    `● 2 open threads`, `● 2 threads` and `● 2`."""
    texts: list[tuple[tuple[str, str, str], str]] = []
    if status.is_requested_from_me:
        texts.append((("○ your review requested", "○ review requested", "○ review"), "$primary"))
    if names := status.changes_requested:
        names_text = _join_names(names)
        short_text = f"✗ {_given_names(names)} requested changes"
        texts.append(((f"✗ {names_text} requested changes", short_text, "✗ changes requested"), "$error"))
    if names := status.approved:
        texts.append(((f"✓ {_join_names(names)}", f"✓ {_given_names(names)}", f"✓ {len(names)}"), "$success"))
    if names := status.outdated_approvals:
        short_forms = (f"✓ {_given_names(names)} (outdated)", f"✓ {len(names)} outdated")
        texts.append(((f"✓ {_join_names(names)} (outdated)", *short_forms), "$warning"))
    if status.conflicts:
        texts.append(((f"✗ may conflict: {_join_names(status.conflicts)}", "✗ may conflict", "✗ conflict"), "$error"))
    if status.is_on_main:
        texts.append((("✓ already in main", "✓ already in main", "✓ in main"), "$success"))
    elif status.is_outdated:
        texts.append((("outdated", "outdated", "outdated"), "$warning"))
    if status.load_errors:
        texts.append((("partly loaded", "partly loaded", "partial"), "$warning"))
    if status.open_thread_count:
        count = status.open_thread_count
        texts.append(
            ((f"● {plural(count, 'open thread')}", f"● {plural(count, 'thread')}", f"● {count}"), "$octavo-note")
        )
    return texts


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(first_few(names, 2))


def _given_names(names: Sequence[str]) -> str:
    """Return the given names of the first two people, and how many more there are, such as `Noor, Ada, and 2 more`."""
    return _join_names([name.split()[0] if name.split() else name for name in names])


def merged_text(change_request: ChangeRequest) -> str:
    """Return who merged a change request and when, such as `Merged by Noor 2 days ago`."""
    by_name = f" by {change_request.merged_by.name}" if change_request.merged_by is not None else ""
    return f"Merged{by_name} {long_age(change_request.merged_at or change_request.updated_at)}".strip()


def first_line(
    change_request: ChangeRequest, space_title: str, signs: Sequence[tuple[str, str]], width: int
) -> Content:
    """Return the first line in the view of a change request: number, title, `space_title`, author, age and `signs`. If
    `width` is too small, leave out the space and the author, then also the age, then cut the title."""
    age_text = (
        merged_text(change_request) if change_request.status == "merged" else short_age(change_request.updated_at)
    )
    details_text = " · ".join(each for each in (space_title, change_request.author_name, age_text) if each)
    title = Content.assemble((f" #{change_request.number} ", "$octavo-muted"), (change_request.title, "bold"))
    signs_text = Content.assemble("  ", *signs)
    free_width = width - signs_text.cell_length
    subtitles = [Content.styled(f"  {each}", "$octavo-muted") for each in (details_text, age_text)]
    subtitle = next((each for each in subtitles if title.cell_length + each.cell_length <= free_width), subtitles[0])
    if title.cell_length + subtitle.cell_length > free_width:
        return (title.truncate(max(free_width, 12), ellipsis=True) + signs_text).truncate(width, ellipsis=True)
    return title + subtitle + signs_text


def status_signs(
    change_request: ChangeRequest,
    reviews: Sequence[Review],
    *,
    open_thread_count: int,
    conflict_count: int,
    unresolved_count: int,
    pending_count: int,
    proposed_count: int,
    is_on_main: bool,
) -> list[tuple[str, str]]:
    """Return the status texts for the first line of a change request, such as `✓ 2 approved`, each with its style.
    `conflict_count` counts items that may conflict with main, `unresolved_count` pages with conflict markers,
    `pending_count` your pending comments, and `proposed_count` the notes that programs proposed."""
    signs: list[tuple[str, str]] = [(f" {change_request.status} ", "bold $foreground on $panel")]
    approvals = [review for review in reviews if not review.outdated and review.status == "approved"]
    rejections = [review for review in reviews if not review.outdated and review.status != "approved"]
    if approvals:
        note = _outdated_note(change_request, approvals)
        signs.append((f"  ✓ {len(approvals)} approved{note}", "$warning" if note else "$success"))
    if rejections:
        reviewer_text = rejections[0].reviewer.name if len(rejections) == 1 else f"{len(rejections)} reviewers"
        signs.append((f"  ✗ {reviewer_text} requested changes{_outdated_note(change_request, rejections)}", "$error"))
    if open_thread_count:
        signs.append((f"  ● {plural(open_thread_count, 'open thread')}", "$octavo-note"))
    if pending_count:
        signs.append((f"  ◌ {plural(pending_count, 'pending comment')}", "$octavo-note"))
    if proposed_count:
        signs.append((f"  ◌ {plural(proposed_count, 'proposed note')} (press H)", "$octavo-note"))
    if is_on_main and change_request.status in UNDECIDED:
        signs.append(("  ✓ already in main (press L to archive)", "$success"))
    elif change_request.outdated and change_request.status in UNDECIDED:
        signs.append(("  ✗ outdated", "$warning"))
    if unresolved_count:
        signs.append((f"  ✗ {plural(unresolved_count, 'page')} with conflicts (press R)", "$error"))
    if conflict_count:
        signs.append((f"  ⚠ {plural(conflict_count, 'possible conflict')}", "$warning"))
    return signs


def _outdated_note(change_request: ChangeRequest, reviews: Sequence[Review]) -> str:
    """Return ` (outdated)` if all reviews are outdated, else a count such as ` (1 outdated)`. Empty if none is."""
    outdated_count = sum(review.is_of_other_revision(change_request.revision) for review in reviews)
    if outdated_count == len(reviews):
        return " (outdated)"
    return f" ({outdated_count} outdated)" if outdated_count else ""


def review_details(
    change_request: ChangeRequest,
    reviews: Sequence[Review],
    requested_reviewers: Sequence[RequestedReviewer],
    contributors: Sequence[Contributor],
    changed_since: Mapping[str, int],
    me: str,
) -> Content:
    """Return the current reviews, the requested reviewers, the contributors and the description as one text.
    `changed_since` has the number of pages that changed after each reviewed revision. `me` is the user's ID."""
    lines = [_review_line(change_request, review, changed_since, me) for review in reviews if not review.outdated]
    sections = [_under_heading("REVIEWERS", lines)] if lines else []
    requested_lines: list[Content] = []
    for each in requested_reviewers:
        you = " (you)" if each.user is not None and each.user.id == me else ""
        if name := f"{each.user.name}{you}" if each.user else f"team {safe_line(each.team.id)}" if each.team else "":
            requested_lines.append(Content.assemble(("○ ", "$octavo-muted"), name))
    if requested_lines:
        sections.append(_under_heading("REVIEW REQUESTED", requested_lines))
    contributor_names = [
        each.user.name
        for each in contributors
        if each.user.id != change_request.author_id and each.action_type != "comment"
    ]
    if contributor_names:
        sections.append(_under_heading("CONTRIBUTORS", [Content(", ".join(dict.fromkeys(contributor_names)))]))
    if change_request.description_text:
        sections.append(_under_heading("DESCRIPTION", [Content(change_request.description_text)]))
    return Content("\n\n").join(sections)


def _review_line(change_request: ChangeRequest, review: Review, changed_since: Mapping[str, int], me: str) -> Content:
    note = ""
    if review.is_of_other_revision(change_request.revision):
        page_count = changed_since.get(review.revision or "")
        note = f" · outdated ({plural(page_count, 'page')} changed)" if page_count else " · outdated"
    sign = ("✓ ", "$success") if review.status == "approved" else ("✗ ", "$error")
    you = " (you)" if review.reviewer.id == me else ""
    return Content.assemble(sign, f"{review.reviewer.name}{you}", (note, "$warning"))


def _under_heading(heading: str, lines: Sequence[Content]) -> Content:
    return Content("\n").join([Content.styled(heading, "bold $octavo-muted"), *lines])


MAX_FOLLOWED = 60
"""Maximum number of change requests whose status is kept up to date."""
MAX_PARALLEL = 4
"""Maximum number of change requests whose status `load` loads in parallel."""
_LOAD_GROUP = "all of a list"
_LISTS: Mapping[StatusField, Callable[[ChangeRequestRef], Listing[Any]]] = {
    "reviews": reviews_op,
    "requested": requested_reviewers_op,
}
"""Functions that return the operation to load a status field, for fields that are lists."""


@dataclass
class _LoadedStatus:
    """Status data of a change request. None stands for data that is not loaded."""

    reviews: tuple[Review, ...] | None = None
    requested: tuple[RequestedReviewer, ...] | None = None
    predicted: ListPrediction | None = None
    predicted_for: tuple[str | None, ...] = ()
    """Revisions for which `predicted` was computed: base, change request and main."""
    current_revisions: tuple[str | None, ...] = ()
    """Current revisions of the base, the change request and main. Empty until the change request is first visible."""
    current_since: datetime | None = None
    """Time when `current_revisions` were first seen."""
    load_errors: dict[StatusField, str] = field(default_factory=dict)
    """Reasons why status fields could not be loaded."""


class StatusLoader:
    """Loads and caches the status of change requests. Calls `on_change` with the request ID when a status changes."""

    def __init__(self, view: View, on_change: Callable[[str], None]) -> None:
        self._view, self._on_change = view, on_change
        self._loaded: dict[str, _LoadedStatus] = {}
        """Loaded status data by change request ID."""
        self._followed: OrderedDict[str, ChangeRequest] = OrderedDict()
        self._prediction_lock = asyncio.Lock()
        self._unpredicted: list[ChangeRequest] = []
        """Visible change requests that wait for the prediction of their conflicts."""
        self._is_predicting = False
        self._loading: set[str] = set()
        """IDs of the change requests whose status `load` is loading."""

    def clear(self) -> None:
        """Drop the status of all change requests and stop loading, because the organization changed."""
        for each in tuple(self._followed):
            self._unfollow(each)
        self.stop_loading()
        self._unpredicted = []
        self._loaded.clear()

    def status_of(self, change_request: ChangeRequest) -> RequestStatus:
        """Return the status of a change request, as far as it is loaded."""
        workspace, loaded = self._view.shell.workspace, self._loaded.get(change_request.id) or _LoadedStatus()
        me, threads = workspace.my_id, workspace.open_thread_count(change_request)
        if change_request.status not in UNDECIDED:
            return request_status(change_request, threads, (), (), (), me)
        predicted: ListPrediction | None = ListPrediction((), is_on_main=False)
        if needs_prediction(change_request):
            predicted = loaded.predicted if loaded.predicted_for == self._revisions_of(change_request) else None
        return request_status(
            change_request,
            threads,
            loaded.reviews,
            loaded.requested,
            predicted.conflicts if predicted is not None else None,
            me,
            dict(loaded.load_errors),
            is_on_main=predicted is not None and predicted.is_on_main,
        )

    def follow_visible(self, shown: Iterable[ChangeRequest]) -> None:
        """Load and follow the status of the `shown` change requests. Unfollow others, down to `MAX_FOLLOWED`."""
        followed = [each for each in shown if each.space is not None and (each.status in UNDECIDED or each.comments)]
        for change_request in followed:
            self._follow(change_request)
        shown_ids = {each.id for each in followed}
        for each in tuple(self._followed):
            if len(self._followed) > MAX_FOLLOWED and each not in shown_ids:
                self._unfollow(each)
        self._unpredicted = [each for each in followed if self._lacks_prediction(each)]
        if self._unpredicted and not self._is_predicting:
            # Start only one worker: a second would send the requests of the running prediction again.
            self._is_predicting = True
            self._view.run_worker(self._predict_listed())

    def load(self, change_requests: Iterable[ChangeRequest], fields: Collection[StatusField]) -> None:
        """Load the missing status `fields` of the `change_requests` that have a space and are not loading already."""
        unloaded = [each for each in change_requests if each.id not in self._loading and each.space is not None]
        if unloaded:
            self._loading |= {each.id for each in unloaded}
            self._view.run_worker(self._load_all(unloaded, fields), group=_LOAD_GROUP)

    def stop_loading(self) -> None:
        self._view.workers.cancel_group(self._view, _LOAD_GROUP)
        self._loading.clear()

    def drop_for_reload(self) -> None:
        """Drop failed predictions, and the status of change requests that are not followed. Both will load again."""
        for name in [each for each in self._loaded if each not in self._followed]:
            del self._loaded[name]
        for loaded in self._loaded.values():
            if loaded.load_errors.pop("conflicts", None):
                loaded.predicted_for = ()

    def _follow(self, change_request: ChangeRequest) -> None:
        at, view, request_id = _ref_of(change_request), self._view, change_request.id
        self._followed[request_id] = change_request
        self._followed.move_to_end(request_id)
        if change_request.status in UNDECIDED:
            # Fetch nothing that is cached, because the preview may have loaded the same lists a moment ago.
            for name, list_op in _LISTS.items():
                view.follow(
                    f"{name} of {request_id}", list_op(at), partial(self._show_list, request_id, name), refetch=False
                )
        self._follow_threads(request_id)

    def _follow_threads(self, request_id: str) -> None:
        change_request, loaded = self._followed[request_id], self._loaded.get(request_id)
        counts_threads = change_request.status not in UNDECIDED or any(
            each.comment is not None and each.comment.is_open for each in (loaded and loaded.reviews) or ()
        )
        op = open_threads_op(_ref_of(change_request)) if counts_threads and change_request.comments else None
        show = partial(self._show_threads, request_id) if op is not None else None
        self._view.follow(f"threads of {request_id}", op, show, refetch=False)

    def _unfollow(self, request_id: str) -> None:
        del self._followed[request_id]
        for name in (*_LISTS, "threads"):
            self._view.follow(f"{name} of {request_id}", None)

    def _show_list(self, request_id: str, field_name: StatusField, snapshot: Snapshot[ListPage[Any]]) -> None:
        """Store the reviews or the requested reviewers of a change request, or why they could not be loaded."""
        loaded = self._loaded.setdefault(request_id, _LoadedStatus())
        if snapshot.value is not None:
            setattr(loaded, field_name, snapshot.value.items)
        if snapshot.value is None and snapshot.error is not None:
            loaded.load_errors[field_name] = str(snapshot.error)
        else:
            loaded.load_errors.pop(field_name, None)
        if request_id in self._followed:
            self._follow_threads(request_id)
        self._on_change(request_id)

    def _show_threads(self, request_id: str, snapshot: Snapshot[ListPage[Comment]]) -> None:
        if snapshot.value is not None and request_id in self._followed:
            self._view.shell.workspace.count_review_summaries(
                request_id, snapshot.value, self._followed[request_id].comments
            )
            self._on_change(request_id)

    def _revisions_of(self, change_request: ChangeRequest) -> tuple[str | None, ...]:
        space = self._view.shell.workspace.space(change_request.space or "")
        main = space.revision if space is not None and change_request.outdated else None
        return change_request.base, change_request.revision, main

    def _lacks_prediction(self, change_request: ChangeRequest) -> bool:
        loaded, sides = self._loaded.setdefault(change_request.id, _LoadedStatus()), self._revisions_of(change_request)
        if loaded.current_since is None or loaded.current_revisions != sides:
            loaded.current_revisions, loaded.current_since = sides, self._view.live.now()
        return needs_prediction(change_request) and loaded.predicted_for != sides

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
            loaded = self._loaded[change_request.id]
            revision_ids, since = loaded.current_revisions, loaded.current_since
            assert since is not None, "the revisions have been seen"
            try:
                predicted = await predict_for_list(
                    self._view.live, _ref_of(change_request), change_request, main=revision_ids[-1], since=since
                )
                loaded.load_errors.pop("conflicts", None)
                if predicted is None:
                    loaded.load_errors["conflicts"] = "the base revision is not available"
            except ApiError as error:
                predicted = None
                loaded.load_errors["conflicts"] = str(error)
            loaded.predicted, loaded.predicted_for = predicted, revision_ids
        self._on_change(change_request.id)

    async def _load_all(self, change_requests: Sequence[ChangeRequest], fields: Collection[StatusField]) -> None:
        async def load_fields(change_request: ChangeRequest) -> None:
            for each in fields:
                if each in self.status_of(change_request).loaded_fields:
                    continue
                if each == "conflicts":
                    await self._predict(change_request)
                else:
                    await self._load_list(change_request, each)
            self._loading.discard(change_request.id)

        await gather_bounded(load_fields, change_requests, MAX_PARALLEL)

    async def _load_list(self, change_request: ChangeRequest, field_name: StatusField) -> None:
        op = _LISTS[field_name](_ref_of(change_request))
        try:
            list_page = await self._view.live.fetch(op)
        except ApiError as error:
            self._show_list(change_request.id, field_name, Snapshot(error=error))
        else:
            self._show_list(change_request.id, field_name, Snapshot(list_page))


def _ref_of(change_request: ChangeRequest) -> ChangeRequestRef:
    return change_request.ref(SpaceRef(space_id=change_request.space or ""))
