"""The summaries of threads that a diff shows."""

from __future__ import annotations

from octavo.api.bodies import Body
from octavo.api.comments import Comment, Reply, Target, TargetNode, TargetPage
from octavo.api.users import User
from octavo.tui.comments.diff_threads import thread_summaries

ADA = User(id="ada")


def comment(key: str, target: Target, replies: int = 0) -> Comment:
    return Comment(id=key, body=Body(markdown=f"About {key}"), posted_by=ADA, replies=replies, target=target)


def test_thread_on_deleted_block_is_outdated_and_quotes_the_block() -> None:
    page, node = TargetPage(id="p"), TargetNode(id="gone", preview="words that\nwere here")
    threads_by_block = {
        "": [comment("t1", Target(page=page, node=node)), comment("t2", Target(page=page))],
        "b": [
            comment("t3", Target(page=page, node=TargetNode(id="b", preview="still here"))),
            comment("t4", Target(page=TargetPage(id="p", outdated=True), node=TargetNode(id="b"))),
        ],
    }
    outdated = thread_summaries(
        threads_by_block, lambda id: "", word_change=lambda thread: "changed" if thread.id == "t4" else ""
    )
    lines = [line for each in outdated.values() for line in each]
    shown = {line.key: (line.word_change, line.quote) for line in lines}
    assert shown == {
        "t1": ("gone", "words that were here"),
        "t2": ("", ""),
        "t3": ("", ""),
        "t4": ("changed", ""),
    }


def test_newest_replies_are_shown_and_all_are_counted() -> None:
    replies = [Reply(id=f"r{number}", body=Body(markdown=f"Reply {number}"), posted_by=ADA) for number in range(5)]
    (line,) = thread_summaries(
        {"b": [comment("t", Target(), 5)]}, lambda id: "on its way" * (id == "r4"), {"t": replies}
    )["b"]
    assert [answer.text for answer in line.shown_replies] == ["Reply 2", "Reply 3", "Reply 4"]
    assert (line.reply_count, line.shown_replies[-1].age) == (5, "on its way")
