"""Where threads hang on a page that was edited since."""

from __future__ import annotations

import time

from octavo.api.comments import Comment
from octavo.documents.parse import parse
from octavo.tui.hanging import Hanging

BEFORE = "# Levels\n\nAt about 09:06 the water stood 3.412 m above chart datum.\n\nThe rest is as it was.\n"
AFTER = "# Levels\n\nAround 09:06 the water stood 3.412 m above the datum.\n\nThe rest is as it was.\n"


def thread(name: str, key: str, preview: str | None) -> Comment:
    target = {"page": {"id": "p"}, "node": {"id": key, "preview": preview} if key else None}
    return Comment.model_validate({"id": name, "target": target, "postedBy": {"id": "u", "displayName": "Ada"}})


def test_a_thread_on_what_was_edited_hangs_on_what_it_became_and_says_so() -> None:
    before, after = parse(BEFORE), parse(AFTER)
    _, edited, same = before.blocks
    threads = [
        thread("edited", edited.key, edited.plain()),
        thread("same", same.key, same.plain()),
        thread("gone", "gone", "Nothing on this page says anything of the kind."),
        thread("page", "", None),
    ]
    hanging = Hanging(after)
    hung = {key: [each.id for each in found] for key, found in hanging.likely(threads).items()}
    assert hung == {after.blocks[1].key: ["edited"], after.blocks[2].key: ["same"], "": ["gone", "page"]}
    assert [hanging.since(each) for each in threads] == ["changed", "", "gone", ""]
    assert hanging.said_since(threads[0]) == "What this is about was changed since. It said:"
    assert {key: len(found) for key, found in hanging.exact(threads).items()} == {after.blocks[2].key: 1, "": 3}


def test_what_is_not_read_yet_is_not_taken_for_gone() -> None:
    lost = thread("edited", "gone", "At about 09:06 the water stood 3.412 m above chart datum.")
    hanging = Hanging(parse(AFTER), whole=False)
    assert hanging.since(lost) == ""
    assert list(hanging.likely([lost])) == [""]
    whole = hanging.on(hanging.document, whole=True)
    assert whole.since(lost) == "changed"
    assert whole.on(whole.document, whole=True) is whole


def test_to_look_for_many_threads_goes_through_a_page_once() -> None:
    document = parse("\n\n".join(f"Paragraph {number} says a little of what there is." for number in range(3000)))
    hanging = Hanging(document)
    threads = [thread(f"t{number}", "gone", f"Nobody has written words number {number} here.") for number in range(10)]
    assert list(hanging.likely(threads)) == [""]
    began = time.perf_counter()
    for _ in range(200):
        hanging.likely(threads)
    assert time.perf_counter() - began < 0.2
