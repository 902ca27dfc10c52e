"""What is said in the threads of the demo, as operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.operation import Operation
from octavo.api.places import Discussion
from octavo.server.demo import pages
from octavo.server.world import World


def posted(thread: Any, at: Discussion, world: World) -> Iterator[Operation[Any]]:
    """Start a thread on a place, on a page of it, or on the block that has the words `block`."""
    said = Markdown(markdown=thread["text"])
    if "page" not in thread:
        yield comments.Create(at=at, body=said)
        return
    page = pages.page_at(world, at, thread["page"])
    if "block" not in thread:
        yield comments.Create(at=at, body=said, page=page["id"])
        return
    yield comments.Create(at=at, body=said, page=page["id"], node=pages.block_at(world, page, thread["block"]))


def replied(reply: Any, at: Discussion, thread: str, world: World) -> Iterator[Operation[Any]]:
    """Answer in a thread."""
    yield comments.CreateReply(at=at, comment_id=thread, body=Markdown(markdown=reply["text"]))


def resolved(at: Discussion, thread: str, world: World) -> Iterator[Operation[Any]]:
    """Mark a thread as done."""
    yield comments.Update(at=at, comment_id=thread, resolved=True)


def reacted(at: Discussion, thread: str, reply: str | None, emoji: str, world: World) -> Iterator[Operation[Any]]:
    """React to a thread, or to a reply in it. Reactions travel as code points, such as `1f44d`."""
    added = ("-".join(f"{ord(letter):x}" for letter in emoji),)
    if reply is None:
        yield comments.Update(at=at, comment_id=thread, added_reactions=added)
    else:
        yield comments.UpdateReply(at=at, comment_id=thread, comment_reply_id=reply, added_reactions=added)
