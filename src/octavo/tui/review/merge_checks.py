"""The checks before a merge: fresh facts, and the pages that may conflict."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from octavo.api import change_requests, content, organizations, spaces, users
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.api.folding import fold
from octavo.api.operation import ListPage
from octavo.api.organizations import Organization
from octavo.api.places import ChangeRequestRef, ContentRef, OrganizationRef, RevisionRef
from octavo.api.reviews import Review
from octavo.api.sites import Site
from octavo.api.spaces import Space
from octavo.data.live import Live
from octavo.data.merge_rules import MergeCandidate, inherits, requires_up_to_date, rules_for
from octavo.data.queries import open_threads_of, reviews_of
from octavo.data.writes.change_request_kinds import MergeBasis
from octavo.tui.review import merge_effects, merge_rule_facts
from octavo.tui.shell.page_queries import find_page, get_page_source, page_markdown
from octavo.tui.widgets import wording
from octavo.tui.widgets.text_widgets import Fact

if TYPE_CHECKING:
    from octavo.documents.merging.conflict_prediction import PredictedConflict
    from octavo.documents.page_trees import DuplicatePage

FORECAST_PAGES = 60
"""More pages than this are not read before a merge; the dialog says so."""
LONGEST_QUOTE = 240
"""Characters of a paragraph that was merged by words."""
MERGED_BY_WORDS = "merged text"
ALREADY_ON_MAIN = "Main already has these changes."
NO_CHANGES = "There are no changes to merge."
PRESS_L = "Press L to archive this change request."
NAMED_USERS = 8
"""People named by merge rules whose names are asked for; the others go by their ids."""


@dataclass(frozen=True)
class Checks:
    """The results of the merge checks, which started at `checked_at`."""

    change_request: ChangeRequest
    space: Space
    facts: tuple[Fact, ...]
    changes: tuple[content.Change, ...]
    conflicts: tuple[str, ...]
    """Titles of pages and names of files that may conflict with main."""
    marked: tuple[str, ...]
    """Pages with both sides of a conflict in their text."""
    live: str
    """Sentence that says where readers see the merge."""
    checked_at: datetime
    is_on_main: bool = False
    """Whether main has every change already."""
    must_be_current: bool = False
    """Whether a merge rule requires that the change request is up to date with main."""
    unlisted: int = 0
    """How many changes are not in `changes`."""
    will_have_markers: tuple[str, ...] = ()
    """What would have both sides of a conflict in its text, between conflict markers."""

    @property
    def basis(self) -> MergeBasis:
        """The change request and the revision of main that these checks are for."""
        return MergeBasis(self.change_request, self.space.revision)

    @property
    def why_idle(self) -> str:
        """Why a merge would change nothing, in a sentence. Empty if it would change something."""
        return ALREADY_ON_MAIN if self.is_on_main else "" if self.changes or self.unlisted else NO_CHANGES

    @property
    def can_merge(self) -> bool:
        return self.change_request.status in ("draft", "open") and self.space.permissions.merge

    @property
    def deleted(self) -> tuple[str, ...]:
        """The pages it deletes."""
        return tuple(name(each) for each in self.changes if each.type == "page_deleted")


async def check(live: Live, at: ChangeRequestRef) -> Checks:
    """Ask for everything a merge depends on. Raises ApiError when the facts cannot be had."""
    checked_at = wording.clock()
    change_request, space, given, said = await asyncio.gather(
        live.fetch(change_requests.Get(at=at)),
        live.fetch(spaces.Get(at=at.space)),
        live.fetch(reviews_of(at)),
        live.fetch(open_threads_of(at)),
    )
    # The changes are read after the change request: changes of an older revision would hide a conflict.
    changed = await live.fetch(content.ListChanges(at=at, limit=1000))
    counted = tuple(review for review in given.items if not review.outdated)
    foreseen, rules, effects = await asyncio.gather(
        forecast(live, at, change_request, changed, main=space.revision),
        _rules(live, space, change_request, counted),
        _effects(live, at, change_request, space, changed),
    )
    facts = [
        _state(change_request),
        *rules[0],
        currency(change_request),
        conflict_fact(change_request, foreseen),
        *words_facts(foreseen),
        *names_fact(change_request, foreseen.namesakes or effects.namesakes),
        *_approvals(change_request, counted),
        _threads(said),
        *effects.facts,
        _right(space),
    ]
    if changed.more:
        facts.append(Fact("care", "changes", f"{wording.plural(changed.more, 'change')} not listed by the server"))
    if changed.unreadable:
        facts.append(Fact("care", "changes", f"{wording.plural(changed.unreadable, 'change')} could not be read"))
    return Checks(
        change_request,
        space,
        tuple(facts),
        changed.changes,
        foreseen.names,
        effects.marked,
        merge_effects.goes_live(space, effects.on),
        checked_at,
        foreseen.is_on_main,
        rules[1],
        unlisted(changed),
        foreseen.will_have_markers,
    )


async def _rules(
    live: Live, space: Space, change_request: ChangeRequest, given: tuple[Review, ...]
) -> tuple[list[Fact], bool]:
    """Return the facts of the merge rules, and whether a rule requires an update from main."""
    organization: Organization | None = None
    if inherits(space) and space.organization is not None:
        try:
            organization = await live.fetch(organizations.Get(at=OrganizationRef(organization_id=space.organization)))
        except ApiError:
            organization = None
    rules = rules_for(space, organization)
    names = {review.reviewer.id: review.reviewer.name for review in given}
    if change_request.created_by is not None:
        names[change_request.created_by.id] = change_request.created_by.name
    for user in [user for user in rules.users if user not in names][:NAMED_USERS]:
        try:
            names[user] = (await live.cached_or_fetch(users.Get(user_id=user))).name
        except (ApiError, ValueError):
            continue  # its id has to do
    me = live.outbox.me.id if live.outbox.me is not None else None
    facts = merge_rule_facts.facts(rules, MergeCandidate(change_request, given, me, names))
    return list(facts), requires_up_to_date(rules, me)


@dataclass(frozen=True)
class _Effects:
    """What a merge does beside the pages it changes."""

    on: tuple[Site, ...] | None
    """The sites it goes live on, if they are known."""
    facts: tuple[Fact, ...]
    marked: tuple[str, ...] = ()
    """Pages with both sides of a conflict in their text."""
    namesakes: tuple[DuplicatePage, ...] = ()
    """The pages that come to stand beside others of the same name, where main did not move on."""


async def _effects(
    live: Live, at: ChangeRequestRef, change_request: ChangeRequest, space: Space, changed: content.Changes
) -> _Effects:
    on, both = await asyncio.gather(merge_effects.sites_with(live, space), _both(live, at, change_request))
    if both is None:
        said = "not checked: the base revision is not available"
        return _Effects(on, (Fact("care", "links", said), Fact("care", "redirects", said)))
    pages = tuple(merge_effects.page_ids(changed.changes))
    marked, broken, addresses, pictures, put_back = await asyncio.gather(
        merge_effects.marked(live, both, pages),
        merge_effects.in_time("links", merge_effects.links_broken(live, at, both, pages)),
        merge_effects.in_time("redirects", merge_effects.addresses(live, both, space, on)),
        merge_effects.in_time("images", merge_effects.pictures(live, both, pages)),
        merge_effects.in_time("reverts", merge_effects.puts_back(live, at, change_request, both, pages)),
    )
    facts = [*put_back, *broken, *addresses, *pictures]
    if titles := marked.titles:
        said = f"{merge_effects.some(titles)} still {'has' if len(titles) == 1 else 'have'} conflict markers"
        facts.insert(0, Fact("bad", "markers", f"{said} · press esc, then R to resolve the conflicts"))
    elif marked.unread:
        said = f"{wording.plural(marked.unread, 'page')} not checked for conflict markers"
        facts.insert(0, Fact("care", "markers", said))
    beside = () if change_request.outdated else await asyncio.to_thread(_beside, both)
    return _Effects(on, tuple(facts), titles, beside)


def _beside(both: merge_effects.PagesBeforeAndAfter) -> tuple[DuplicatePage, ...]:
    from octavo.documents.page_trees import find_duplicates

    return tuple(find_duplicates(both.tree_before.pages, both.tree_after.pages))


async def _both(
    live: Live, at: ChangeRequestRef, change_request: ChangeRequest
) -> merge_effects.PagesBeforeAndAfter | None:
    """The pages before and after. None where they cannot be seen."""
    if not (change_request.base and change_request.revision):
        return None
    before = RevisionRef(space_id=at.space_id, revision_id=change_request.base)
    after = RevisionRef(space_id=at.space_id, revision_id=change_request.revision)
    try:
        trees = await asyncio.gather(*(live.cached_or_fetch(content.ListPages(at=place)) for place in (before, after)))
    except ApiError:
        return None
    return merge_effects.PagesBeforeAndAfter(before, after, *trees)


@dataclass(frozen=True)
class Forecast:
    """What a merge may not be able to decide."""

    conflicts: tuple[PredictedConflict, ...] = ()
    unread: int = 0
    """How many pages that both sides changed were not read."""
    is_known: bool = True
    """Whether the revision that both sides come from could be seen."""
    namesakes: tuple[DuplicatePage, ...] = ()
    """The pages that come to stand beside others of the same name."""
    suggestions: tuple[PredictedConflict, ...] = ()
    """Paragraphs that will be merged by words."""
    is_on_main: bool = False
    """Whether main has every change already."""

    @property
    def names(self) -> tuple[str, ...]:
        """What they are about, each once: titles of pages, names of files."""
        return tuple({each.id: each.name for each in self.conflicts}.values())

    @property
    def will_have_markers(self) -> tuple[str, ...]:
        """Those of `names` where both sides of a conflict are kept, between conflict markers."""
        return tuple({each.id: each.name for each in self.conflicts if each.kind not in _KEPT}.values())


def unlisted(changed: content.Changes) -> int:
    """Return how many changes the server did not list, or listed so that they could not be read."""
    return changed.more + changed.unreadable


async def forecast(
    live: Live,
    at: ChangeRequestRef,
    change_request: ChangeRequest,
    changed: content.Changes,
    *,
    main: str | None = None,
) -> Forecast:
    """Return what a merge may not be able to resolve. Raises ApiError if the content cannot be loaded.

    `main` is the revision of main if that is known: revisions that are cached are not loaded again.
    """
    from octavo.documents.merging import conflict_prediction as merging
    from octavo.documents.page_trees import find_duplicates

    if not change_request.outdated:
        is_updated = change_request.revision_merged_ancestor is not None
        return Forecast(is_on_main=is_updated and not changed.changes and not unlisted(changed))
    if not change_request.base:
        return Forecast(is_known=False)
    sides = tuple(
        RevisionRef(space_id=at.space_id, revision_id=revision) if revision else place
        for revision, place in ((change_request.base, at.space), (main, at.space), (change_request.revision, at))
    )
    try:
        three = await asyncio.gather(*(_held(live, content.Get(at=place)) for place in sides))
    except (NotFound, Forbidden):
        return Forecast(is_known=False)
    touched = None if changed.more else {each.page.id for each in changed.changes if each.page}
    base, theirs, ours = three
    unsettled = await asyncio.to_thread(merging.pages_to_read, (base, theirs, ours), touched)
    texts = dict.fromkeys(unsettled, ("", "", ""))
    read = unsettled[:FORECAST_PAGES]
    texts.update(zip(read, await asyncio.gather(*(_texts(live, sides, page) for page in read)), strict=True))
    found = await asyncio.to_thread(merging.predict_merge, (base, theirs, ours), texts)
    beside = await asyncio.to_thread(find_duplicates, theirs.pages, found.pages)
    unread = len(unsettled) - len(read)
    is_on_main = found.is_on_main and not unread and bool(changed.changes) and not unlisted(changed)
    if is_on_main:
        is_on_main = await asyncio.to_thread(merging.shows_all_changes, changed.changes, (base, theirs, ours), texts)
    return Forecast(found.conflicts, unread, True, tuple(beside), () if is_on_main else found.suggestions, is_on_main)


@dataclass(frozen=True)
class MergePrediction:
    """What a list says about the merge of a change request."""

    conflicts: tuple[str, ...]
    """Names of the pages and files that may conflict, and of the pages with both sides of a conflict in their text."""
    is_on_main: bool
    """Whether main has every change already."""


async def predict(
    live: Live, at: ChangeRequestRef, change_request: ChangeRequest, *, main: str | None
) -> MergePrediction | None:
    """Return what a list says about a merge. None if the revision that both sides come from cannot be seen.

    Raises ApiError.
    """
    changed = await live.fetch(content.ListChanges(at=at, limit=1000))
    foreseen = await forecast(live, at, change_request, changed, main=main)
    if not foreseen.is_known:
        return None
    names = list(foreseen.names)
    if change_request.revision_merged_ancestor is not None:
        both = await _both(live, at, change_request)
        if both is None:
            return None
        pages = tuple(merge_effects.page_ids(changed.changes))
        names += (await merge_effects.marked(live, both, pages)).titles
    return MergePrediction(tuple(dict.fromkeys(names)), foreseen.is_on_main)


async def _held(live: Live, op: content.Get) -> content.Revision:
    revision: content.Revision = await (live.cached_or_fetch(op) if isinstance(op.at, RevisionRef) else live.fetch(op))
    return revision


async def _texts(live: Live, sides: tuple[ContentRef, ...], page_id: str) -> tuple[str, str, str]:
    old, theirs, ours = await asyncio.gather(*(find_page(live, get_page_source(place, page_id)) for place in sides))
    return page_markdown(old), page_markdown(theirs), page_markdown(ours)


def _state(change_request: ChangeRequest) -> Fact:
    if change_request.status in ("draft", "open"):
        return Fact("ok", "status", change_request.status)
    if change_request.status == "merged":
        return Fact("bad", "status", "this change request is already merged")
    return Fact("bad", "status", f"this change request is {change_request.status}, so it cannot be merged")


def currency(change_request: ChangeRequest) -> Fact:
    """Return whether main has changed since the start or the last update."""
    if change_request.outdated:
        return Fact("care", "outdated", "main has changed")
    return Fact("ok", "up to date", "with main")


_KEPT = {
    "deleted": "pages deleted on one side and edited on the other will be kept",
    "moved": "pages will stay where they are in main",
    "order": "pages will stay where they are in main",
    "variable": "variables will keep their values from main",
}


def conflict_fact(change_request: ChangeRequest, foreseen: Forecast) -> Fact:
    """Return what may conflict, and the side that a merge takes where it keeps no conflict markers."""
    if not foreseen.is_known:
        return Fact("care", "conflicts", "unknown: the base revision is not available")
    if names := foreseen.names:
        kept = "; ".join(dict.fromkeys(_KEPT[each.kind] for each in foreseen.conflicts if each.kind in _KEPT))
        then = f". If there are conflicts, {kept}" if kept else ""
        return Fact("bad", "conflicts", f"may conflict: {merge_effects.some(names)}{then}")
    if foreseen.unread:
        return Fact("care", "conflicts", f"none found, {wording.plural(foreseen.unread, 'page')} not checked")
    if foreseen.is_on_main:
        return Fact("ok", "conflicts", "none: main already has the same changes")
    if change_request.outdated:
        return Fact("ok", "conflicts", "none expected: main and this change request changed different parts")
    return Fact("ok", "conflicts", "none")


def words_facts(foreseen: Forecast) -> list[Fact]:
    """Return the paragraphs that will be merged by words: the text is shown, as a person has not read it yet."""
    facts = [
        Fact(
            "care",
            MERGED_BY_WORDS,
            f"{each.name}: “{_shortened(each.text)}” Check whether the merged text makes sense.",
        )
        for each in foreseen.suggestions[:3]
    ]
    if (more := len(foreseen.suggestions) - 3) > 0:
        facts.append(Fact("care", MERGED_BY_WORDS, f"{wording.plural(more, 'more paragraph')} to check"))
    return facts


def _shortened(text: str) -> str:
    said = " ".join(text.split())
    return said if len(said) <= LONGEST_QUOTE else f"{said[: LONGEST_QUOTE - 1]}…"


def names_fact(change_request: ChangeRequest, found: tuple[DuplicatePage, ...]) -> tuple[Fact, ...]:
    """Return the pages that would be beside a page of the same name, with the paths of both."""
    said = []
    for each in found[:3]:
        here = f"the page in #{change_request.number}"
        other = "the page in main" if each.is_other_in_main else "the other page"
        called = f"two pages are called “{each.titles[0]}”"
        if fold(each.titles[0]) != fold(each.titles[1]):
            called = f"“{each.titles[0]}” and “{each.titles[1]}” have the same path"
        said.append(f"{called}: at {each.paths[0]} in {other}, and at {each.paths[1]} in {here}")
    more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
    return (Fact("care", "names", "; ".join(said) + more),) if said else ()


def _approvals(change_request: ChangeRequest, given: tuple[Review, ...]) -> list[Fact]:
    refused = [review for review in given if review.status == "changes-requested"]
    approved = [review for review in given if review.status == "approved"]
    facts = [Fact("bad", "review", f"{review.reviewer.name} requested changes") for review in refused]
    for review in approved:
        if review.revision and review.revision != change_request.revision:
            facts.append(Fact("care", "approval", f"{review.reviewer.name} approved an earlier revision"))
        else:
            facts.append(Fact("ok", "approval", f"{review.reviewer.name} approved this revision"))
    return facts or [Fact("care", "approval", "not reviewed yet")]


def _threads(said: ListPage[Comment]) -> Fact:
    if number := sum(each.is_open_thread for each in said.items):
        more = "at least " if said.next is not None else ""
        return Fact("care", "threads", f"{more}{wording.plural(number, 'open thread')}")
    if said.next is not None:
        return Fact("care", "threads", "could not check all comments")
    return Fact("ok", "threads", "none open")


def _right(space: Space) -> Fact:
    if space.permissions.merge:
        return Fact("ok", "permission", f"you can merge into {space.title}")
    return Fact("bad", "permission", f"your role in {space.title} does not allow you to merge")


def goes_out(changes: tuple[content.Change, ...], limit: int = 4) -> str:
    """What a merge changes, in a line: `~ Webhooks  + Rotation  and 3 more`."""
    said = [f"{sign(change)} {name(change)}" for change in changes]
    return "   ".join(said[:limit]) + (f"   and {len(said) - limit} more" if len(said) > limit else "")


def sign(change: content.Change) -> str:
    """`+` made, `−` deleted, `~` edited, `→` moved."""
    kind = change.type.rpartition("_")[2]
    return {"created": "+", "deleted": "−", "moved": "→"}.get(kind, "~")


def name(change: content.Change) -> str:
    """What a change is about."""
    if change.page is not None:
        return change.page.title or "Untitled"
    if change.file is not None:
        return change.file.name
    if isinstance(change.reusable_content, dict):
        return str(change.reusable_content.get("title", "reusable content"))
    return "variables" if change.type == "variables_edited" else change.type.replace("_", " ")
