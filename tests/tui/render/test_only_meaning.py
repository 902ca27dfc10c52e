"""Diffs that hide the changes after which a page says the same, and say how many they hide."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from octavo.documents.blocks import Document
from octavo.documents.change_kinds import ChangeKinds, may_affect_meaning
from octavo.documents.diff import diff
from octavo.tui.render.comparison import PageComparison, compare
from octavo.tui.render.diff_chunks import ContextSize, DiffChunks
from octavo.tui.render.diff_sequence import build_diff
from octavo.tui.render.threads import ThreadSummary
from tests.documents.block_trees import pairs

HARBOUR = "The first paragraph is about the harbour and about all the ships that come here in the summer."
KEEPER = "The second paragraph tells how the keeper of the light counts the ships and writes them down."


def chunks_of(compared: PageComparison, *, only_meaning: bool = True, split: bool = False) -> DiffChunks:
    return build_diff(
        compared.diff, ContextSize(), {}, side_by_side=split, kinds=compared.change_kinds, only_meaning=only_meaning
    ).complete()


def hidden_lines(chunks: DiffChunks) -> list[str]:
    return [chunk.text for chunk in chunks.chunks if chunk.kind == "label" and chunk.text]


def test_moved_and_reformatted_blocks_are_hidden_and_counted() -> None:
    rest = "The boats that are left over have a berth of their own behind the pier, near the shop."
    before, after = f"{HARBOUR}\n\n# Now\n\n{rest}\n\n**{KEEPER}**\n", f"# Now\n\n{rest}\n\n{KEEPER}\n\n{HARBOUR}\n"
    chunks = chunks_of(compare(before, after))
    assert chunks.change_count == 0
    assert chunks.hidden_counts == {"move": 1, "formatting": 1}
    assert hidden_lines(chunks) == [
        "1 move hidden",
        "1 move, 1 formatting hidden",
    ]


def test_moved_block_with_changed_number_is_shown() -> None:
    text = f"{HARBOUR} They are 30 in number, or a few more."
    compared = compare(f"{text}\n\n{KEEPER}\n\n# End\n", f"{KEEPER}\n\n# End\n\n{text.replace('30', '80')}\n")
    shown = [chunk for chunk in chunks_of(compared).chunks if chunk.change_number >= 0]
    assert [(chunk.block.plain() if chunk.block else "") for chunk in shown] == [text.replace("30", "80")]
    assert "number" in shown[0].kinds


def test_container_around_unchanged_blocks_is_hidden_and_its_edits_are_not() -> None:
    before, after = f"{HARBOUR}\n\n{KEEPER}\n", f"> {HARBOUR}\n>\n> {KEEPER.replace('light', 'lamp')}\n"
    chunks = chunks_of(compare(before, after))
    assert set(chunks.hidden_counts) == {"formatting"}
    assert [chunk.kinds for chunk in chunks.chunks if chunk.change_number >= 0] == [{"wording"}]


def test_page_settings_are_never_hidden() -> None:
    chunks = chunks_of(compare("---\ndescription: Old\n---\n\nText.\n", "---\ndescription: New\n---\n\nText.\n"))
    assert (chunks.change_count, chunks.hidden_counts) == (1, Counter())


def test_threads_on_hidden_changes_are_shown() -> None:
    compared = compare(f"{HARBOUR}\n\n**{KEEPER}**\n\n# End\n", f"{KEEPER}\n\n# End\n\n{HARBOUR}\n")
    keys = [block.key for block in compared.new.walk() if block.kind == "paragraph"]
    threads = {key: (ThreadSummary("Yuki", "1d", "Why?", key=key),) for key in keys}
    built = build_diff(compared.diff, ContextSize(), threads, kinds=compared.change_kinds, only_meaning=True).complete()
    assert {summary.key for chunk in built.chunks for summary, _ in chunk.threads} == set(keys)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pairs(), st.booleans())
def test_no_change_with_meaning_is_hidden(pair: tuple[Document, Document], split: bool) -> None:
    old, new = pair
    changed = diff(old, new)
    compared = PageComparison(changed, old, new, change_kinds=ChangeKinds(changed.entries))
    everything, some = (chunks_of(compared, only_meaning=each, split=split) for each in (False, True))
    assert all(chunk.kinds for chunk in everything.chunks if chunk.change_number >= 0)
    shown, rest = (
        [
            (chunk.kind, chunk.entry)
            for chunk in chunks.chunks
            if chunk.change_number >= 0 and may_affect_meaning(chunk.kinds)
        ]
        for chunks in (everything, some)
    )
    assert shown == rest
    assert some.change_count == len(rest)
    assert bool(hidden_lines(some)) >= (everything.change_count > some.change_count)
