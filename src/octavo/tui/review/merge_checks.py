"""The checks before a merge, such as reviews, merge rules, predicted conflicts and broken links. `run_checks` runs all
checks. The lists of change requests use only the predictions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from octavo.api import change_requests, content, organizations, spaces, users
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.api.folding import fold
from octavo.api.merge_rules import MergeCandidate, MergeRules, bypasses, inherits, requires_up_to_date, rules_for
from octavo.api.operation import ChangeRequestRef, ContentRef, ListPage, OrganizationRef, RevisionRef
from octavo.api.organizations import Organization
from octavo.api.reviews import Review
from octavo.api.safety import safe_line
from octavo.api.sites import Site
from octavo.api.spaces import Space
from octavo.data.live import Live
from octavo.data.queries import UNDECIDED, open_threads_op, reviews_op
from octavo.data.writes.change_request_kinds import MergeState
from octavo.documents.page_trees import DuplicatePage, find_duplicates, title_of
from octavo.lazy_import import lazy
from octavo.settings.programs import Linter
from octavo.tui.review import merge_effects
from octavo.tui.widgets import short_texts
from octavo.tui.widgets.short_texts import InfoRow, Mark

if TYPE_CHECKING:
    from octavo.documents.merging.revision_merge import PredictedConflict

_check_findings = lazy("octavo.tui.review.request_findings:check_findings")
_check_linters = lazy("octavo.tui.review.request_findings:check_linters")
_pages_to_read = lazy("octavo.documents.merging.revision_merge:pages_to_read")
_predict_merge = lazy("octavo.documents.merging.revision_merge:predict_merge")
_has_all_changes = lazy("octavo.documents.merging.revision_merge:has_all_changes")

MAX_PREDICTED_PAGES = 60
"""Maximum number of pages that are loaded to predict conflicts. The dialog shows how many were not loaded."""
MAX_QUOTE_LENGTH = 240
"""Maximum number of characters of a merged paragraph that the dialog quotes."""
MAX_CHANGES_IN_LINE = 4
MERGED_TEXT_LABEL = "merged text"
LINTERS_LABEL = "linters"
"""Label of the row about linters that block merges."""
ALREADY_ON_MAIN = "Main already has these changes."
NO_CHANGES = "There are no changes to merge."
ARCHIVE_HINT = "Press L to archive this change request."
MAX_NAMED_USERS = 8
"""Maximum number of users in merge rules whose names are loaded."""


@dataclass(frozen=True)
class Checks:
    """Results of the merge checks of a change request."""

    change_request: ChangeRequest
    space: Space
    info_rows: tuple[InfoRow, ...]
    changes: tuple[content.Change, ...]
    conflicts: tuple[str, ...]
    """Names of the pages and other items that may conflict with main."""
    pages_with_new_markers: tuple[str, ...]
    """Titles of the pages to which the change request adds conflict markers."""
    publication_sentence: str
    """Sentence that says where readers will see the merged content."""
    is_on_main: bool = False
    """True if main already has all changes of the change request."""
    must_be_up_to_date: bool = False
    """True if a merge rule blocks outdated change requests."""
    unlisted_count: int = 0
    """Number of changes that are missing from `changes`: the server did not list them, or they could not be read."""
    names_with_markers: tuple[str, ...] = ()
    """Names of the pages and other items that would have conflict markers after the merge."""

    @property
    def merge_state(self) -> MergeState:
        """The change request and the revision of main for which the checks ran."""
        return MergeState(self.change_request, self.space.revision)

    @property
    def why_no_effect(self) -> str:
        """Sentence that says why a merge would change nothing. Empty if the merge may change something."""
        return ALREADY_ON_MAIN if self.is_on_main else "" if self.changes or self.unlisted_count else NO_CHANGES

    @property
    def can_merge(self) -> bool:
        return self.change_request.status in UNDECIDED and self.space.permissions.merge

    @property
    def deleted_titles(self) -> tuple[str, ...]:
        """Titles of the pages that the change request deletes."""
        return tuple(title_of(each) for each in self.changes if each.type == "page_deleted")


def why_blocked(checks: Checks) -> str:
    """Return why the change request cannot be merged, or why a merge would have no effect. Otherwise empty."""
    if not checks.can_merge:
        reasons = (
            info_row.text
            for info_row in checks.info_rows
            if info_row.mark == "bad" and info_row.label in ("status", "permission")
        )
        reason = str(next(reasons, "the server does not allow this merge"))
        return f"{reason[:1].upper()}{reason[1:]}."
    return checks.why_no_effect


def why_number_required(checks: Checks) -> str:
    """Return why you must type the number of the change request to merge it. Empty if pressing `y` is enough."""
    if checks.conflicts:
        return "Pages may conflict"
    if checks.pages_with_new_markers:
        return "Readers would see conflict markers"
    if checks.deleted_titles:
        return f"This change request deletes {short_texts.plural(len(checks.deleted_titles), 'page')}"
    if any(info_row.label == LINTERS_LABEL and info_row.mark == "bad" for info_row in checks.info_rows):
        return "Linters block the merge"
    return ""


async def run_checks(live: Live, at: ChangeRequestRef, linters: Sequence[Linter] = ()) -> Checks:
    """Load the change request and run all merge checks. Linters run only if they can block a merge. Raises ApiError."""
    change_request, space, reviews, threads = await asyncio.gather(
        live.fetch(change_requests.Get(at=at)),
        live.fetch(spaces.Get(at=at.space)),
        live.fetch(reviews_op(at)),
        live.fetch(open_threads_op(at)),
    )
    # Load the changes last: a list that is older than the change request's revision could hide a conflict.
    changes = await live.fetch(content.ListChanges(at=at, limit=1000))
    current_reviews = tuple(review for review in reviews.items if not review.outdated)
    prediction, rules, effects = await asyncio.gather(
        predict_conflicts(live, at, change_request, changes, main=space.revision),
        _load_rules(live, space, change_request, current_reviews),
        _load_effects(live, at, change_request, space, changes, linters),
    )
    info_rows = [
        _status_row(change_request),
        *rules[0],
        outdated_row(change_request),
        conflict_row(change_request, prediction),
        *merged_text_rows(prediction),
        *same_name_rows(change_request, prediction.duplicates or effects.duplicates),
        *approval_rows(change_request, current_reviews),
        _threads_row(threads),
        *effects.info_rows,
        _permission_row(space),
    ]
    if changes.more:
        info_rows.append(
            InfoRow("care", "changes", f"{short_texts.plural(changes.more, 'change')} not listed by the server")
        )
    if changes.unreadable:
        info_rows.append(
            InfoRow("care", "changes", f"{short_texts.plural(changes.unreadable, 'change')} could not be read")
        )
    return Checks(
        change_request,
        space,
        tuple(info_rows),
        changes.changes,
        prediction.names,
        effects.pages_with_new_markers,
        merge_effects.publication_sentence(space, effects.sites),
        prediction.is_on_main,
        rules[1],
        changes.missing_count,
        prediction.names_with_markers,
    )


async def _load_rules(
    live: Live, space: Space, change_request: ChangeRequest, reviews: tuple[Review, ...]
) -> tuple[list[InfoRow], bool]:
    """Return the rows about the merge rules, and whether a rule forbids the user to merge outdated change requests."""
    organization: Organization | None = None
    if inherits(space) and space.organization is not None:
        try:
            organization = await live.fetch(organizations.Get(at=OrganizationRef(organization_id=space.organization)))
        except ApiError:
            organization = None
    rules = rules_for(space, organization)
    names = {review.reviewer.id: review.reviewer.name for review in reviews}
    if change_request.created_by is not None:
        names[change_request.created_by.id] = change_request.created_by.name
    for user_id in [user_id for user_id in rules.users if user_id not in names][:MAX_NAMED_USERS]:
        try:
            names[user_id] = (await live.cached_or_fetch(users.Get(user_id=user_id))).name
        except (ApiError, ValueError):
            continue  # The dialog shows the ID of the user instead.
    me = live.outbox.me.id if live.outbox.me is not None else None
    info_rows = rule_rows(rules, MergeCandidate(change_request, reviews, me, names))
    return list(info_rows), requires_up_to_date(rules, me)


@dataclass(frozen=True)
class _MergeEffects:
    """Effects of a merge on links, images and published sites."""

    sites: tuple[Site, ...] | None
    """Sites that publish the space. None if they are unknown."""
    info_rows: tuple[InfoRow, ...]
    pages_with_new_markers: tuple[str, ...] = ()
    """Titles of the pages to which the change request adds conflict markers."""
    duplicates: tuple[DuplicatePage, ...] = ()
    """Pages that would have the same name as a sibling. Empty if the change request is outdated."""


async def _load_effects(
    live: Live,
    at: ChangeRequestRef,
    change_request: ChangeRequest,
    space: Space,
    changes: content.Changes,
    linters: Sequence[Linter],
) -> _MergeEffects:
    blocking_linters = [each for each in linters if each.is_blocking]
    sites, trees = await asyncio.gather(
        merge_effects.published_sites(live, space), _load_trees(live, at, change_request)
    )
    if trees is None:
        note = "not checked: the base revision is not available"
        labels: list[tuple[Mark, str]] = [("care", "links"), ("care", "redirects")]
        labels += [("bad", LINTERS_LABEL)] if blocking_linters else []
        return _MergeEffects(sites, tuple(InfoRow(mark, label, note) for mark, label in labels))
    page_ids = merge_effects.changed_page_ids(changes.changes)
    markers, link_rows, redirect_rows, image_rows, revert_rows, finding_rows, linter_rows = await asyncio.gather(
        merge_effects.find_pages_with_markers(live, trees, page_ids),
        merge_effects.run_with_timeout("links", merge_effects.check_links(live, at, trees, page_ids)),
        merge_effects.run_with_timeout("redirects", merge_effects.check_redirects(live, trees, space, sites)),
        merge_effects.run_with_timeout("images", merge_effects.check_images(live, trees, page_ids)),
        merge_effects.run_with_timeout(
            "reverts", merge_effects.check_reverts(live, at, change_request, trees, page_ids)
        ),
        merge_effects.run_with_timeout("findings", _check_findings(live, trees, page_ids)),
        _check_linters(live, trees, page_ids, space, blocking_linters),
    )
    info_rows = [*revert_rows, *link_rows, *redirect_rows, *image_rows, *finding_rows, *linter_rows]
    if titles := markers.titles:
        note = (
            f"{merge_effects.list_first_names(titles)} still {'has' if len(titles) == 1 else 'have'} conflict markers"
        )
        info_rows.insert(0, InfoRow("bad", "markers", f"{note} · press esc, then R to resolve the conflicts"))
    elif markers.skipped_count:
        note = f"{short_texts.plural(markers.skipped_count, 'page')} not checked for conflict markers"
        info_rows.insert(0, InfoRow("care", "markers", note))
    duplicates: tuple[DuplicatePage, ...] = ()
    if not change_request.outdated:
        duplicates = tuple(await asyncio.to_thread(find_duplicates, trees.old_tree.pages, trees.new_tree.pages))
    return _MergeEffects(sites, tuple(info_rows), titles, duplicates)


async def _load_trees(
    live: Live, at: ChangeRequestRef, change_request: ChangeRequest
) -> merge_effects.MergeTrees | None:
    if not (change_request.base and change_request.revision):
        return None
    refs = at.revision_ref(change_request.base), at.revision_ref(change_request.revision)
    try:
        trees = await asyncio.gather(*(live.cached_or_fetch(content.ListPages(at=ref)) for ref in refs))
    except ApiError:
        return None
    return merge_effects.MergeTrees(*refs, *trees)


@dataclass(frozen=True)
class ConflictPrediction:
    """Conflicts that a merge of a change request with main would probably cause."""

    conflicts: tuple[PredictedConflict, ...] = ()
    skipped_count: int = 0
    """Number of pages that changed in main and in the change request but were not loaded."""
    is_known: bool = True
    """False if a required revision could not be read. Nothing is predicted then."""
    duplicates: tuple[DuplicatePage, ...] = ()
    """Pages that would have the same name as a sibling."""
    word_merges: tuple[PredictedConflict, ...] = ()
    """Paragraphs that both main and the change request changed, and that the merge would combine word by word."""
    is_on_main: bool = False
    """True if main already has all changes of the change request."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the pages and other items that may conflict. Each item is listed once."""
        return tuple({each.id: each.name for each in self.conflicts}.values())

    @property
    def names_with_markers(self) -> tuple[str, ...]:
        """Names of the pages and other items that would have conflict markers after the merge."""
        return tuple(
            {each.id: each.name for each in self.conflicts if each.kind not in _OUTCOMES_WITHOUT_MARKERS}.values()
        )


async def predict_conflicts(
    live: Live,
    at: ChangeRequestRef,
    change_request: ChangeRequest,
    changes: content.Changes,
    *,
    main: str | None = None,
) -> ConflictPrediction:
    """Predict the conflicts of a merge with the revision `main` (an ID, None for the current one). If a revision is
    missing or hidden, `is_known` is False. Raises ApiError for other errors."""
    if not change_request.outdated:
        is_updated = change_request.revision_merged_ancestor is not None
        return ConflictPrediction(is_on_main=is_updated and not changes.changes and not changes.missing_count)
    if not change_request.base:
        return ConflictPrediction(is_known=False)
    refs = tuple(
        at.revision_ref(revision) if revision else ref
        for revision, ref in ((change_request.base, at.space), (main, at.space), (change_request.revision, at))
    )
    try:
        revisions = await asyncio.gather(*(load_revision(live, ref) for ref in refs))
    except (NotFound, Forbidden):
        return ConflictPrediction(is_known=False)
    changed_ids = None if changes.missing_count else {each.page.id for each in changes.changes if each.page}
    base, main_tree, own_tree = revisions
    candidates = await asyncio.to_thread(_pages_to_read, (base, main_tree, own_tree), changed_ids)
    texts = dict.fromkeys(candidates, ("", "", ""))
    read_ids = candidates[:MAX_PREDICTED_PAGES]
    base_texts, main_texts, own_texts = await asyncio.gather(
        *(merge_effects.load_texts(live, ref, read_ids) for ref in refs)
    )
    texts |= {page: (base_texts.get(page, ""), main_texts.get(page, ""), own_texts.get(page, "")) for page in read_ids}
    merged = await asyncio.to_thread(_predict_merge, (base, main_tree, own_tree), texts)
    duplicates = await asyncio.to_thread(find_duplicates, main_tree.pages, merged.pages)
    skipped_count = len(candidates) - len(read_ids)
    is_on_main = merged.is_on_main and not skipped_count and bool(changes.changes) and not changes.missing_count
    if is_on_main:
        is_on_main = await asyncio.to_thread(_has_all_changes, changes.changes, (base, main_tree, own_tree), texts)
    return ConflictPrediction(
        merged.conflicts, skipped_count, True, tuple(duplicates), () if is_on_main else merged.word_merges, is_on_main
    )


@dataclass(frozen=True)
class ListPrediction:
    """Predicted result of a merge, for a row in the list of change requests."""

    conflicts: tuple[str, ...]
    """Names of the pages and other items with a predicted conflict or with new conflict markers."""
    is_on_main: bool
    """True if main already has all changes of the change request."""


async def predict_for_list(
    live: Live, at: ChangeRequestRef, change_request: ChangeRequest, *, main: str | None, since: datetime
) -> ListPrediction | None:
    """Predict the merge of a change request in a list. `main` is the ID of a revision, or None for the current one.
    Load changes again that were loaded before `since`. Return None if a revision cannot be read. Raises ApiError."""
    changes = await live.fetch(content.ListChanges(at=at, limit=1000), since=since)
    prediction = await predict_conflicts(live, at, change_request, changes, main=main)
    if not prediction.is_known:
        return None
    names = list(prediction.names)
    if change_request.revision_merged_ancestor is not None:
        trees = await _load_trees(live, at, change_request)
        if trees is None:
            return None
        page_ids = merge_effects.changed_page_ids(changes.changes)
        names += (await merge_effects.find_pages_with_markers(live, trees, page_ids)).titles
    return ListPrediction(tuple(dict.fromkeys(names)), prediction.is_on_main)


async def load_revision(live: Live, at: ContentRef) -> content.Revision:
    """Return the revision that `at` refers to. The result is cached if `at` is a `RevisionRef`. Raises ApiError."""
    op = content.Get(at=at)
    revision: content.Revision = await (live.cached_or_fetch(op) if isinstance(at, RevisionRef) else live.fetch(op))
    return revision


def _status_row(change_request: ChangeRequest) -> InfoRow:
    if change_request.status in UNDECIDED:
        return InfoRow("ok", "status", change_request.status)
    if change_request.status == "merged":
        return InfoRow("bad", "status", "this change request is already merged")
    return InfoRow("bad", "status", f"this change request is {change_request.status}, so it cannot be merged")


def outdated_row(change_request: ChangeRequest) -> InfoRow:
    """Return the row that says whether the change request is up to date with main."""
    if change_request.outdated:
        return InfoRow("care", "outdated", "main has changed")
    return InfoRow("ok", "up to date", "with main")


_OUTCOMES_WITHOUT_MARKERS = {
    "deleted": "pages deleted on one side and edited on the other will be kept",
    "moved": "pages will stay where they are in main",
    "order": "pages will stay where they are in main",
    "variable": "variables will keep their values from main",
}
"""How a merge resolves the conflicts that get no conflict markers, by kind of conflict."""


def conflict_row(change_request: ChangeRequest, prediction: ConflictPrediction) -> InfoRow:
    """Return the row about the predicted conflicts. It also says how a merge resolves conflicts without markers."""
    if not prediction.is_known:
        return InfoRow("care", "conflicts", "unknown: the base revision is not available")
    if names := prediction.names:
        outcomes_text = "; ".join(
            dict.fromkeys(
                _OUTCOMES_WITHOUT_MARKERS[each.kind]
                for each in prediction.conflicts
                if each.kind in _OUTCOMES_WITHOUT_MARKERS
            )
        )
        resolution_note = f". If there are conflicts, {outcomes_text}" if outcomes_text else ""
        return InfoRow("bad", "conflicts", f"may conflict: {merge_effects.list_first_names(names)}{resolution_note}")
    if prediction.skipped_count:
        return InfoRow(
            "care", "conflicts", f"none found, {short_texts.plural(prediction.skipped_count, 'page')} not checked"
        )
    if prediction.is_on_main:
        return InfoRow("ok", "conflicts", "none: main already has the same changes")
    if change_request.outdated:
        return InfoRow("ok", "conflicts", "none expected: main and this change request changed different parts")
    return InfoRow("ok", "conflicts", "none")


def merged_text_rows(prediction: ConflictPrediction) -> list[InfoRow]:
    """Return rows that quote the first 3 paragraphs that the merge would combine word by word, and count the others."""
    quotes = [
        f"{each.name}: “{short_texts.shorten(' '.join(each.text.split()), MAX_QUOTE_LENGTH)}”"
        for each in prediction.word_merges[:3]
    ]
    info_rows = [
        InfoRow("care", MERGED_TEXT_LABEL, f"{quote} Check whether the merged text makes sense.") for quote in quotes
    ]
    if (more := len(prediction.word_merges) - 3) > 0:
        info_rows.append(InfoRow("care", MERGED_TEXT_LABEL, f"{short_texts.plural(more, 'more paragraph')} to check"))
    return info_rows


def same_name_rows(change_request: ChangeRequest, duplicates: tuple[DuplicatePage, ...]) -> tuple[InfoRow, ...]:
    """Return a row about pages that would have the title or path of a sibling. Empty without such pages."""
    sentences = []
    for each in duplicates:
        own_location = f"{each.paths[1]} in the page in #{change_request.number}"
        other_location = f"{each.paths[0]} in {'the page in main' if each.is_other_in_main else 'the other page'}"
        conflict_text = f"two pages are called “{each.titles[0]}”"
        if fold(each.titles[0]) != fold(each.titles[1]):
            conflict_text = f"“{each.titles[0]}” and “{each.titles[1]}” have the same path"
        sentences.append(f"{conflict_text}: at {other_location}, and at {own_location}")
    return (InfoRow("care", "names", "; ".join(short_texts.first_few(sentences, 3))),) if sentences else ()


def approval_rows(change_request: ChangeRequest, reviews: tuple[Review, ...]) -> list[InfoRow]:
    """Return a row for each review, or else the row “not reviewed yet”. Reviews that requested changes come first."""
    rejections = [review for review in reviews if review.status == "changes-requested"]
    approvals = [review for review in reviews if review.status == "approved"]
    info_rows: list[InfoRow] = []
    for review in rejections:
        note = " (outdated)" if review.is_of_other_revision(change_request.revision) else ""
        info_rows.append(InfoRow("bad", "review", f"{review.reviewer.name} requested changes{note}"))
    for review in approvals:
        if review.is_of_other_revision(change_request.revision):
            info_rows.append(InfoRow("care", "approval", f"{review.reviewer.name} approved an earlier revision"))
        else:
            info_rows.append(InfoRow("ok", "approval", f"{review.reviewer.name} approved this revision"))
    return info_rows or [InfoRow("care", "approval", "not reviewed yet")]


def _threads_row(threads: ListPage[Comment]) -> InfoRow:
    if count := sum(each.is_open_thread for each in threads.items):
        at_least = "at least " if threads.next is not None else ""
        return InfoRow("care", "threads", f"{at_least}{short_texts.plural(count, 'open thread')}")
    if threads.next is not None:
        return InfoRow("care", "threads", "could not check all comments")
    return InfoRow("ok", "threads", "none open")


def _permission_row(space: Space) -> InfoRow:
    if space.permissions.merge:
        return InfoRow("ok", "permission", f"you can merge into {space.title}")
    return InfoRow("bad", "permission", f"your role in {space.title} does not allow you to merge")


def change_line(changes: tuple[content.Change, ...]) -> str:
    """Return one line about the changes, such as `~ Webhooks  + Rotation  and 3 more`."""
    change_texts = [f"{sign_of(change)} {title_of(change)}" for change in changes]
    return "   ".join(short_texts.first_few(change_texts, MAX_CHANGES_IN_LINE))


def sign_of(change: content.Change) -> str:
    """Return the sign of a change: `+` for created, `−` for deleted, `~` for edited, or `→` for moved."""
    kind = change.type.rpartition("_")[2]
    return {"created": "+", "deleted": "−", "moved": "→"}.get(kind, "~")


def rule_rows(rules: MergeRules, candidate: MergeCandidate) -> Iterator[InfoRow]:
    """Yield a row with the number of met merge rules, and a row for each rule that is unmet or was not checked."""
    if not rules.is_known:
        yield InfoRow("care", "merge rules", "unknown: the server will check the rules when you merge")
        return
    required = [rule for rule in rules.rules if rule.get("rule") != "allow_bypass"]
    if not required:
        yield InfoRow("ok", "merge rules", "none set")
        return
    can_bypass = bypasses(rules, candidate.me)
    checks = [(rule, *candidate.check(rule)) for rule in required]
    unmet = [(rule, reason) for rule, state, reason in checks if state == "unmet"]
    unchecked_rules = [(rule, reason) for rule, state, reason in checks if state == "unchecked"]
    met = len(required) - len(unmet) - len(unchecked_rules)
    summary = f"{met} of {len(required)} met (rules set for the {rules.source})"
    if can_bypass and (unmet or unchecked_rules):
        summary += ", but you can bypass the rules"
    mark: Literal["ok", "care", "bad"] = "ok" if met == len(required) else "bad" if unmet and not can_bypass else "care"
    yield InfoRow(mark, "merge rules", summary)
    for rule, reason in unmet:
        yield InfoRow("care" if can_bypass else "bad", "", _with_message(rule, reason))
    for rule, reason in unchecked_rules:
        yield InfoRow("care", "", _with_message(rule, reason))


def _with_message(rule: Mapping[str, Any], reason: str) -> str:
    message = rule.get("message")
    return f"{reason} · {safe_line(message)}" if isinstance(message, str) and message.strip() else reason
