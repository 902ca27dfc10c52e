"""Random operations: spaces, change requests and comments follow the state tables of the specification.

A state machine sends random operations through the client and compares the platform with a small model.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from octavo.api import change_requests, collections, comments, content, spaces
from octavo.api.bodies import Markdown
from octavo.api.errors import Conflict, Invalid, NotFound
from octavo.api.operation import ChangeRequestRef, Discussion, SpaceRef
from tests.server.platform_model import (
    PICK,
    ChangeRequestModel,
    PlatformWithModel,
    SpaceModel,
    Texts,
    ThreadModel,
    pick_item,
)
from tests.server.small_platform import ACME
from tests.server.space_editor import insert, update


class RandomOperations(PlatformWithModel, RuleBasedStateMachine):
    """Random operations of an administrator."""

    def __init__(self) -> None:
        super().__init__()
        self.made = 0

    def word(self) -> str:
        self.made += 1
        return f"w{self.made}"

    @initialize()
    def begin(self) -> None:
        outer = self.ask(collections.Create(at=ACME, title="Outer"))
        inner = self.ask(collections.Create(at=ACME, title="Inner", parent=outer.id))
        self.rows = {None: [], outer.id: [], inner.id: []}
        self.create(0)
        self.create(1)

    # Spaces.

    @precondition(lambda self: len(self.places) < 6)
    @rule(where=PICK)
    def create(self, where: int) -> None:
        parent = pick_item(list(self.rows), where)
        title = self.word()
        made = self.ask(
            spaces.Create(at=ACME, title=title, parent=parent) if parent else spaces.Create(at=ACME, title=title)
        )
        assert made.revision
        self.add(SpaceModel(made.ref, title, made.revision, {made.revision: {"Untitled page": ""}}, parent))

    def add(self, place: SpaceModel) -> None:
        self.places.append(place)
        self.rows[place.parent].append(place)
        self.check(place)

    @precondition(lambda self: len(self.current_places) > 1)
    @rule(which=PICK)
    def delete(self, which: int) -> None:
        place = self.place(which)
        self.ask(spaces.Delete(at=place.at))
        place.deleted = self.clock()
        self.check(place)

    @precondition(lambda self: self.deleted)
    @rule(which=PICK)
    def delete_again(self, which: int) -> None:
        place = pick_item(self.deleted, which)
        self.ask(spaces.Delete(at=place.at))
        self.check(place)

    @precondition(lambda self: self.deleted)
    @rule(which=PICK)
    def restore(self, which: int) -> None:
        place = pick_item(self.deleted, which)
        if self.is_removed(place):
            self.assert_refused(spaces.Restore(at=place.at), NotFound)
        else:
            assert self.ask(spaces.Restore(at=place.at)).deleted_at is None
            place.deleted = None
        self.check(place)

    @rule(days=st.sampled_from([0.1, 3, 6.99, 7]), restarts=st.booleans())
    def wait(self, days: float, restarts: bool) -> None:
        self.clock.forward(days=days)
        if restarts:  # On a restart, the platform removes spaces that were deleted more than a week ago.
            self.close()
            self.open()
            for place in self.places:
                kept = self.context.store.find(f"/spaces/{place.at.space_id}") is not None
                assert kept is not self.is_removed(place)
        for place in self.deleted:
            self.check(place)

    @precondition(lambda self: len(self.places) < 6)
    @rule(which=PICK)
    def duplicate(self, which: int) -> None:
        place = self.place(which)
        made = self.ask(spaces.Duplicate(at=place.at))
        assert made.revision
        texts = {made.revision: dict(place.texts[place.main])}
        self.add(SpaceModel(made.ref, f"Copy of {place.title}"[:50], made.revision, texts, place.parent))
        self.check(place)

    @rule(which=PICK, where=PICK, beside=PICK, how=st.sampled_from(["parent", "before", "after"]))
    def move(self, which: int, where: int, beside: int, how: str) -> None:
        place, neighbour = self.place(which), pick_item(self.places, beside)
        pointer = spaces.SpacePointer(space=neighbour.at.space_id)
        if how == "parent":
            parent = pick_item(list(self.rows), where)
            moved = self.ask(spaces.Move(at=place.at, parent=parent))
            self.rows[place.parent].remove(place)
            self.rows[parent].append(place)
        else:
            op = spaces.Move(at=place.at, position=spaces.Position.model_validate({how: pointer}))
            if neighbour is place:
                return self.assert_refused(op, Invalid)
            if neighbour.deleted is not None:
                return self.assert_refused(op, NotFound)
            moved, parent = self.ask(op), neighbour.parent
            self.rows[place.parent].remove(place)
            self.rows[parent].insert(self.rows[parent].index(neighbour) + (how == "after"), place)
        assert moved.parent == parent
        place.parent = parent
        self.check(place)
        self.check_order()

    # Change requests.

    def proposal(self, which: int, pick: int) -> tuple[SpaceModel, ChangeRequestModel]:
        proposing = [place for place in self.current_places if place.proposals]
        place = pick_item(proposing, which)
        return place, pick_item(place.proposals, pick)

    @rule(which=PICK)
    def propose(self, which: int) -> None:
        place = self.place(which)
        made = self.ask(change_requests.Create(at=place.at, subject=self.word()))
        number = len(place.proposals) + 1
        place.proposals.append(
            ChangeRequestModel(made.ref(place.at), number, place.main, dict(place.texts[place.main]))
        )
        self.check(place)

    has_proposals = precondition(lambda self: any(place.proposals for place in self.current_places))

    @has_proposals
    @rule(which=PICK, pick=PICK, status=st.sampled_from(["draft", "open", "archived"]))
    def set_status(self, which: int, pick: int, status: Any) -> None:
        place, proposal = self.proposal(which, pick)
        op = change_requests.Update(at=proposal.at, status=status)
        if proposal.status == "merged":
            self.assert_refused(op, Invalid, "is merged, so its status cannot change")
        else:
            assert self.ask(op).status == status
            proposal.status = status
        self.check(place)

    @has_proposals
    @rule(which=PICK, pick=PICK, page=PICK, adds=st.booleans())
    def edit(self, which: int, pick: int, page: int, adds: bool) -> None:
        place, proposal = self.proposal(which, pick)
        word = self.word()
        if adds:
            title = f"Page {word}"
            change: content.ContentEdit = insert(f"{word}.", title=title)
        else:
            tree = self.ask(content.ListPages(at=proposal.at))
            edited = pick_item(tree.pages, page)
            title, change = edited.title, update(edited.id, f"{word}.")
        op = content.Edit(at=proposal.at, changes=(change,), compat=False)
        if proposal.is_closed:
            self.assert_refused(op, Conflict, proposal.status)
        else:
            self.ask(op)
            proposal.texts[title] = f"{word}."
        self.check(place)

    edit_more = edit

    @has_proposals
    @rule(which=PICK, pick=PICK)
    def merge(self, which: int, pick: int) -> None:
        place, proposal = self.proposal(which, pick)
        op = change_requests.Merge(at=proposal.at)
        if proposal.is_closed:
            self.assert_refused(op, Conflict, proposal.status)
        else:
            answer = self.ask(op)
            assert answer.revision
            place.texts[answer.revision] = self.expected_merge(place, proposal, answer.result, place.at)
            place.main = proposal.merged = answer.revision
            proposal.status = "merged"
        self.check(place)

    @has_proposals
    @rule(which=PICK, pick=PICK)
    def update_from_main(self, which: int, pick: int) -> None:
        place, proposal = self.proposal(which, pick)
        op = change_requests.UpdateFromMain(at=proposal.at)
        if proposal.is_closed:
            self.assert_refused(op, Conflict, proposal.status)
        else:
            answer = self.ask(op)
            proposal.texts = self.expected_merge(place, proposal, answer.result, proposal.at, "update")
            proposal.base = place.main
        self.check(place)

    def expected_merge(
        self,
        place: SpaceModel,
        proposal: ChangeRequestModel,
        result: str,
        at: SpaceRef | ChangeRequestRef,
        plain: str = "merge",
    ) -> Texts:
        """Return the expected pages of a merge. If both sides changed a page, nothing is lost."""
        base, main, proposed = place.texts[proposal.base], place.texts[place.main], proposal.texts
        found, conflicts = {}, False
        says = self.texts(at)
        for title in main | proposed:
            then, here, there = base.get(title), main.get(title), proposed.get(title)
            if here != there and then not in (here, there):
                conflicts = True
                assert (here or "") in says[title]
                assert (there or "") in says[title]
                found[title] = says[title]
            else:
                chosen = there if here == then else here
                assert chosen is not None
                found[title] = chosen
        assert result == ("conflicts" if conflicts else plain)
        return found

    # Comments, on the space or on a change request of it.

    def discussion(self, which: int, pick: int) -> tuple[SpaceModel, Discussion, list[ThreadModel]]:
        place = self.place(which)
        at: list[tuple[Discussion, list[ThreadModel]]] = [(place.at, place.threads)]
        at += [(each.at, each.threads) for each in place.proposals]
        return (place, *pick_item(at, pick))

    @rule(which=PICK, pick=PICK)
    def comment(self, which: int, pick: int) -> None:
        place, at, threads = self.discussion(which, pick)
        threads.append(ThreadModel(self.ask(comments.Create(at=at, body=Markdown(markdown=self.word()))).id))
        self.check(place, at, threads)

    @rule(
        which=PICK,
        pick=PICK,
        thread=PICK,
        action=st.sampled_from(["reply", "resolve", "reopen", "delete", "delete reply"]),
    )
    def discuss(self, which: int, pick: int, thread: int, action: str) -> None:
        place, at, threads = self.discussion(which, pick)
        if not threads:
            return
        chosen = pick_item(threads, thread)
        if action == "reply":
            body = Markdown(markdown=self.word())
            chosen.replies.append(self.ask(comments.CreateReply(at=at, comment_id=chosen.id, body=body)).id)
        elif action == "delete":
            self.ask(comments.Delete(at=at, comment_id=chosen.id))
            threads.remove(chosen)
            self.assert_refused(comments.Get(at=at, comment_id=chosen.id), NotFound)
            self.assert_refused(comments.Update(at=at, comment_id=chosen.id, resolved=False), NotFound)
        elif action == "delete reply":
            if chosen.replies:
                gone = chosen.replies.pop()
                self.ask(comments.DeleteReply(at=at, comment_id=chosen.id, comment_reply_id=gone))
        else:
            chosen.resolved = action == "resolve"
            shown = self.ask(comments.Update(at=at, comment_id=chosen.id, resolved=chosen.resolved))
            assert (shown.status == "resolved") is chosen.resolved
            assert (shown.resolved_at is not None, shown.resolved_by is not None) == (chosen.resolved, chosen.resolved)
        self.check(place, at, threads)

    discuss_more = discuss

    def teardown(self) -> None:
        try:
            self.check_everything()
        finally:
            self.close()
            self.runner.close()
            self.context.store.close()


def run_machine(examples: int, steps: int, *, derandomize: bool) -> None:
    unhurried = [HealthCheck.too_slow, HealthCheck.data_too_large]
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=derandomize,
        deadline=None,
        suppress_health_check=unhurried,
    )
    run_state_machine_as_test(RandomOperations, settings=chosen)


def test_random_operations_follow_the_state_tables() -> None:
    run_machine(4, 30, derandomize=True)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_random_operations_follow_the_state_tables_in_long_runs() -> None:
    run_machine(600, 60, derandomize=False)
