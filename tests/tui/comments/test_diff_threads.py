"""The summaries of threads that a diff shows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from octavo.api.bodies import Body
from octavo.api.comments import Comment, Reply, Target, TargetNode, TargetPage
from octavo.api.operation import ListPage, SpaceRef
from octavo.api.users import User
from octavo.data.drafts import UnsentIndex
from octavo.data.live import Snapshot
from octavo.tui.comments.diff_threads import DiffThreads

ADA = User(id="ada")


def diff_threads(sending_status: dict[str, str]) -> DiffThreads:
    """Return threads of a space without unsent drafts. `sending_status` has the status of messages by their ID."""
    workspace = SimpleNamespace(
        sending_status=lambda id: sending_status.get(id, ""), unsent=SimpleNamespace(index=UnsentIndex())
    )
    view: Any = SimpleNamespace(shell=SimpleNamespace(workspace=workspace))
    return DiffThreads(view, SpaceRef(space_id="s"), lambda: None)


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
    outdated = diff_threads({}).summaries(
        threads_by_block, lambda thread: "changed" if thread.id == "t4" else "", lambda thread: ""
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
    threads = diff_threads({"r4": "on its way"})
    threads._show_replies("t", Snapshot(ListPage(items=tuple(replies))))
    (line,) = threads.summaries({"b": [comment("t", Target(), 5)]}, lambda thread: "", lambda thread: "")["b"]
    assert [answer.text for answer in line.shown_replies] == ["Reply 2", "Reply 3", "Reply 4"]
    assert (line.reply_count, line.shown_replies[-1].age) == (5, "on its way")
