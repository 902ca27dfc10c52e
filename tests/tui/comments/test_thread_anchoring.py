"""The blocks that threads belong to on an edited page."""

from __future__ import annotations

from octavo.api.comments import Comment
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import ThreadAnchors, TwoVersionAnchors

BEFORE = "# Levels\n\nAt about 09:06 the water stood 3.412 m above chart datum.\n\nThe rest is as it was.\n"
AFTER = "# Levels\n\nAround 09:06 the water stood 3.412 m above the datum.\n\nThe rest is as it was.\n"


def thread(name: str, key: str, preview: str | None) -> Comment:
    target = {"page": {"id": "p"}, "node": {"id": key, "preview": preview} if key else None}
    return Comment.model_validate({"id": name, "target": target, "postedBy": {"id": "u", "displayName": "Ada"}})


def test_thread_on_edited_block_is_on_the_similar_block() -> None:
    before, after = parse(BEFORE), parse(AFTER)
    _, edited, same = before.blocks
    threads = [
        thread("edited", edited.key, edited.plain()),
        thread("same", same.key, same.plain()),
        thread("gone", "gone", "Nothing on this page says anything of the kind."),
        thread("page", "", None),
    ]
    anchors = ThreadAnchors(after)
    placed = {key: [each.id for each in found] for key, found in anchors.by_likely_block(threads).items()}
    assert placed == {after.blocks[1].key: ["edited"], after.blocks[2].key: ["same"], "": ["gone", "page"]}
    assert [anchors.block_change(each) for each in threads] == ["changed", "", "gone", ""]
    assert anchors.outdated_note(threads[0]) == "Outdated: the block was edited. Its text was:"
    assert {key: len(found) for key, found in anchors.by_exact_block(threads).items()} == {
        after.blocks[2].key: 1,
        "": 3,
    }


def test_block_missing_in_partial_document_is_not_deleted() -> None:
    lost = thread("edited", "gone", "At about 09:06 the water stood 3.412 m above chart datum.")
    anchors = ThreadAnchors(parse(AFTER), is_complete=False)
    assert anchors.block_change(lost) == ""
    assert list(anchors.by_likely_block([lost])) == [""]
    whole = anchors.for_document(anchors.document, is_complete=True)
    assert whole.block_change(lost) == "changed"
    assert whole.for_document(whole.document, is_complete=True) is whole


def test_edited_blocks_of_a_long_page_are_found_by_their_texts() -> None:
    document = parse("\n\n".join(f"Paragraph {number} says a little of what there is." for number in range(3000)))
    edited = [
        thread(f"{number}", "gone", f"Paragraph {number} said a little of what is.") for number in range(500, 520)
    ]
    same, whole = thread("same", document.blocks[5].key, document.blocks[5].plain()), thread("page", "", None)
    threads = [*edited, same, whole]
    by_key = {document.blocks[5].key: [same]}
    by_text = {document.blocks[int(each.id)].key: [each] for each in edited}
    anchors, both = ThreadAnchors(document), TwoVersionAnchors((parse(""), document))
    assert anchors.by_likely_block(threads) == both.by_block(threads) == {**by_key, **by_text, "": [whole]}


OLD = "# Retries\n\nThe schedule cannot be changed. See below.\n\nGone for good, whatever was said.\n\n| A | B |\n| - | - |\n| 1 | 2 |\n"
NEW = "# Retries\n\nThe schedule cannot be changed. See below, and above.\n\n| A | B |\n| - | - |\n| 1 | 3 |\n"


def key_of(document: str, words: str) -> str:
    return next(block.key for block in parse(document).walk() if block.plain() == words)


def with_outdated(each: Comment, value: bool) -> Comment:
    page = each.target.page
    assert page is not None
    target = each.target.model_copy(update={"page": page.model_copy(update={"outdated": value})})
    return each.model_copy(update={"target": target})


def test_thread_on_old_version_is_on_its_block_and_not_outdated() -> None:
    both = TwoVersionAnchors((parse(OLD), parse(NEW)))
    old, new = "The schedule cannot be changed. See below.", "The schedule cannot be changed. See below, and above."
    threads = {
        "old": thread("old", key_of(OLD, old), old),
        "new": thread("new", key_of(NEW, new), new),
        "gone": thread("gone", key_of(OLD, "Gone for good, whatever was said."), None),
        "row": thread("row", key_of(OLD, "1\n2"), "1\n2"),
    }
    placed = {each.id: key for key, found in both.by_block([*threads.values()]).items() for each in found}
    assert placed == {name: each.target.node.id for name, each in threads.items() if each.target.node}
    assert not any(both.is_outdated(each) for each in threads.values())
    assert both.is_outdated(with_outdated(threads["gone"], value=True)), (
        "a thread on the old side is outdated if the server says so and its block was removed later"
    )
    assert not both.is_outdated(with_outdated(threads["new"], value=True)), (
        "the server compares with the main content, so its answer does not apply to the new side"
    )
    lost = thread("lost", "elsewhere", "Nobody ever said this on either side.")
    assert both.is_outdated(lost)
    assert both.by_block([lost, thread("page", "", None)]).keys() == {""}
    assert not both.is_outdated(thread("page", "", None))
    edited = thread("edited", "before", "The schedule cannot be altered. See below, or above.")
    assert list(both.by_block([edited])) == [key_of(NEW, new)]
    assert both.is_outdated(edited)
    words = thread("words", "of another server", new)
    assert list(both.by_block([words])) == [key_of(NEW, new)]
    assert not both.is_outdated(words)


def test_word_change_says_changed_or_gone() -> None:
    both = TwoVersionAnchors((parse(OLD), parse(NEW)))
    old, new = "The schedule cannot be changed. See below.", "The schedule cannot be changed. See below, and above."
    cases = {
        "": [
            thread("new", key_of(NEW, new), new),
            thread("beginning", key_of(NEW, new), "The schedule cannot be"),
            thread("other marks", key_of(NEW, new), "The *schedule* cannot be changed…"),
            thread("on the old side", key_of(OLD, old), old),
            thread("pending-old-side", key_of(OLD, old), None),
            thread("on the page", "", None),
        ],
        "changed": [
            with_outdated(thread("edited", key_of(OLD, old), old), value=True),
            thread("pending-edited", key_of(OLD, old), old),
            thread("lasting key", key_of(NEW, new), "The schedule can be changed."),
        ],
        "gone": [
            with_outdated(thread("deleted", key_of(OLD, "Gone for good, whatever was said."), None), value=True),
            thread("pending-deleted", "elsewhere", "Nobody ever said this on either side."),
        ],
    }
    for expected, threads in cases.items():
        assert {each.id: both.word_change(each) for each in threads} == {each.id: expected for each in threads}
    assert [both.new_key(each) for each in cases["changed"]] == [key_of(NEW, new)] * 3


def test_short_words_are_not_found_inside_other_words() -> None:
    lost = thread("lost", "gone", "The rest")
    assert ThreadAnchors(parse(AFTER)).block_change(lost) == "gone"
    kept = thread("kept", "gone", "The rest is as it was.")
    assert ThreadAnchors(parse(AFTER)).block_change(kept) == ""
    same = thread("same", "gone", "The rest")
    assert ThreadAnchors(parse("The rest\n\n# Levels\n")).block_change(same) == ""
