"""What the demo is built with, as if in the past: a clock that is set, and ids that are given."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

from octavo.api import change_requests, comments, content, reviews
from octavo.api.bodies import Markdown
from octavo.api.content import DocumentBody
from octavo.api.operation import Operation
from octavo.api.places import ChangeRequestRef, ContentRef, Discussion, SpaceRef
from octavo.documents import trees
from octavo.documents.blocks import Document
from octavo.documents.markdown_to_json import json_document
from octavo.documents.parse import parse
from octavo.server.handlers import revisions
from octavo.server.store import Json
from octavo.server.world import World


@dataclass
class DemoClock:
    """Shows the moment that is told."""

    moment: datetime

    def __call__(self) -> datetime:
        return self.moment


@dataclass
class DemoIds:
    """Makes ids of the name of what is being made: `retries`, then `retries-2`, ..."""

    name: str = ""
    _made: Counter[str] = field(default_factory=Counter)

    def __call__(self) -> str:
        self._made[self.name] += 1
        number = self._made[self.name]
        return self.name if number == 1 else f"{self.name}-{number}"


def find_page(world: World, at: ContentRef, file: str) -> Json:
    """The page that was written in `file`, or whose slug that is if it came later. Raises LookupError for none."""
    found = [page for page in trees.walk(revisions.get_at(world, at)["pages"]) if _source_file(page) == file]
    if not found:
        raise LookupError(f"No page of {at} was written in {file}.")
    return found[0]


def find_block(world: World, page: Json, words: str) -> str:
    """The key of the smallest block of a page that has these words; in a table, the row. Raises LookupError for none."""
    found = [
        (len(says), place, block.key)
        for place, block in enumerate(_parse(world.store.text(page["text"])).walk())
        if block.kind != "cell" and words in " ".join((says := block.plain()).split())
    ]
    if not found:
        raise LookupError(f"“{words}” is not on the page “{page['title']}”.")
    return min(found)[2]


def pages_in_folder(world: World, at: ContentRef, folder: str) -> Iterator[Json]:
    """The pages that were written in a folder, in the order of the tree."""
    return (page for page in trees.walk(revisions.get_at(world, at)["pages"]) if _source_file(page).startswith(folder))


def position_after(world: World, at: ContentRef, file: str) -> int:
    """The place right after a page, among those it stands with."""
    tree = revisions.get_at(world, at)["pages"]
    return trees.place(tree, find_page(world, at, file)["id"])[1] + 1


def replace_once(text: str, words: str, others: str) -> str:
    """`text` with `others` in place of `words`. Raises LookupError unless they are there exactly once."""
    if text.count(words) != 1:
        raise LookupError(f"“{words[:60]}” is there {text.count(words)} times, not once.")
    return text.replace(words, others)


@lru_cache(maxsize=64)
def _parse(text: str) -> Document:
    return parse(text)


def _source_file(page: Json) -> str:
    """The file a page was written in, or the slug of one that a change request made."""
    return str(page.get("git", {}).get("path") or page.get("slug", ""))


StepOperations = Callable[[Any, ChangeRequestRef, World], Iterable[Operation[Any]]]

_CHANGE_LIMIT = 50
"""The most changes one edit may have."""


def start_change(change: Any, at: ChangeRequestRef, world: World) -> Iterator[Operation[Any]]:
    """Open a draft, with a description if there is one."""
    yield change_requests.Create(at=SpaceRef(space_id=at.space_id), subject=change["subject"])
    if "about" in change:
        yield change_requests.Update(at=at, description=json_document(change["about"]))


def _edit(step: Any, at: ChangeRequestRef, world: World) -> Iterator[Operation[Any]]:
    """All edits of a step at once. Those of one page are made one after the other in its text."""
    changes: list[content.ContentEdit] = []
    texts: dict[str, str] = {}
    for edit in step["edit"]:
        if "new" in edit:
            changes.append(_insert(edit, at, world))
        elif "move" in edit:
            changes.append(_move(edit, at, world))
        elif "delete" in edit:
            changes.append(content.DeletePage(page=find_page(world, at, edit["delete"])["id"]))
        else:
            page = find_page(world, at, edit["page"])
            text = texts.get(page["id"]) or revisions.page_text(world, page)
            texts[page["id"]] = replace_once(text, edit["find"], edit["put"])
    changes += [content.UpdatePage(page=page, document=DocumentBody(markdown=text)) for page, text in texts.items()]
    yield content.Edit(at=at, changes=tuple(changes), compat=False)


def _insert(edit: Any, at: ChangeRequestRef, world: World) -> content.InsertPage:
    return content.InsertPage(
        document=DocumentBody(markdown=edit["put"]),
        slug=edit["new"],
        into=find_page(world, at, edit["below"])["id"],
        at=position_after(world, at, edit["after"]),
    )


def _move(edit: Any, at: ChangeRequestRef, world: World) -> content.UpdatePage:
    return content.UpdatePage(
        page=find_page(world, at, edit["move"])["id"],
        into=find_page(world, at, edit["below"])["id"],
        at=0,
        title=edit["title"],
    )


def _rename(step: Any, at: ChangeRequestRef, world: World) -> Iterator[Operation[Any]]:
    """One name for another on every page of a folder that has it, in its text and its description."""

    def renamed(says: str) -> str:
        return says.replace(step["find"], step["put"])

    changes = [
        content.UpdatePage(page=page["id"], document=DocumentBody(markdown=renamed(text)), description=renamed(about))
        for page in pages_in_folder(world, at, step["under"])
        if step["find"] in (text := revisions.page_text(world, page)) and (about := page["description"])
    ]
    for place in range(0, len(changes), _CHANGE_LIMIT):
        yield content.Edit(at=at, changes=tuple(changes[place : place + _CHANGE_LIMIT]), compat=False)


def _status(
    status: Literal["open", "archived"], step: Any, at: ChangeRequestRef, world: World
) -> Iterator[Operation[Any]]:
    yield change_requests.Update(at=at, status=status)


def _request_review(step: Any, at: ChangeRequestRef, world: World) -> Iterator[Operation[Any]]:
    yield reviews.Request(at=at, users=tuple(step["whom"]))


def _review(
    status: Literal["approved", "changes-requested"], step: Any, at: ChangeRequestRef, world: World
) -> Iterator[Operation[Any]]:
    said = Markdown(markdown=step["text"]) if "text" in step else None
    yield reviews.Submit(at=at, status=status, comment=said) if said else reviews.Submit(at=at, status=status)


def _merge(step: Any, at: ChangeRequestRef, world: World) -> Iterator[Operation[Any]]:
    yield change_requests.Merge(at=at)


STEPS: dict[str, StepOperations] = {
    "edit": _edit,
    "rename": _rename,
    "open": partial(_status, "open"),
    "archive": partial(_status, "archived"),
    "ask": _request_review,
    "approve": partial(_review, "approved"),
    "refuse": partial(_review, "changes-requested"),
    "merge": _merge,
}


def post_thread(thread: Any, at: Discussion, world: World) -> Iterator[Operation[Any]]:
    """Start a thread on a place, on a page of it, or on the block that has the words `block`."""
    said = Markdown(markdown=thread["text"])
    if "page" not in thread:
        yield comments.Create(at=at, body=said)
        return
    page = find_page(world, at, thread["page"])
    if "block" not in thread:
        yield comments.Create(at=at, body=said, page=page["id"])
        return
    yield comments.Create(at=at, body=said, page=page["id"], node=find_block(world, page, thread["block"]))


def post_reply(reply: Any, at: Discussion, thread: str, world: World) -> Iterator[Operation[Any]]:
    """Answer in a thread."""
    yield comments.CreateReply(at=at, comment_id=thread, body=Markdown(markdown=reply["text"]))


def resolve_thread(at: Discussion, thread: str, world: World) -> Iterator[Operation[Any]]:
    """Mark a thread as done."""
    yield comments.Update(at=at, comment_id=thread, resolved=True)


def react(at: Discussion, thread: str, reply: str | None, emoji: str, world: World) -> Iterator[Operation[Any]]:
    """React to a thread, or to a reply in it. Reactions travel as code points, such as `1f44d`."""
    added = ("-".join(f"{ord(letter):x}" for letter in emoji),)
    if reply is None:
        yield comments.Update(at=at, comment_id=thread, added_reactions=added)
    else:
        yield comments.UpdateReply(at=at, comment_id=thread, comment_reply_id=reply, added_reactions=added)


_FOLDER = Path(__file__).parent
_AGE = re.compile(r"(?:(\d+)d)? ?(?:(\d+)h)? ?(?:(\d+)m)?")


@dataclass(frozen=True)
class PastAction:
    """Something a person did, how long ago, and what the ids are called that it makes."""

    ago: timedelta
    by: str
    name: str
    asks: Callable[[World], Iterable[Operation[Any]]] = field(compare=False)
    """The operations, found when their time has come, since they speak of what is there by then."""


def list_actions() -> list[PastAction]:
    """All that was done, from the first to the last."""
    found = [deed for change in _read_files("change") for deed in _change_actions(change)]
    found += [
        deed for number, thread in enumerate(_read_files("thread"), 1) for deed in _thread_actions(thread, f"t{number}")
    ]
    return sorted(found, key=lambda deed: deed.ago, reverse=True)


def _read_files(kind: str) -> Iterator[Any]:
    """The changes or threads of all files. What a file says at its top holds for all that is in it."""
    for path in sorted((_FOLDER / f"{kind}s").glob("*.toml")):
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        for each in read.pop(kind):
            yield {**read, **each}


def _change_actions(change: Any) -> Iterator[PastAction]:
    at = ChangeRequestRef(space_id=change["space"], change_request_id=change["id"])
    yield PastAction(_parse_age(change["ago"]), change["by"], change["id"], partial(start_change, change, at))
    for step in change["step"]:
        asks = partial(STEPS[step["do"]], step, at)
        yield PastAction(_parse_age(step["ago"]), step.get("by", change["by"]), f"{change['id']}-{step['do']}", asks)


def _thread_actions(thread: Any, name: str) -> Iterator[PastAction]:
    at: Discussion = SpaceRef(space_id=thread["space"])
    if "change" in thread:
        at = ChangeRequestRef(space_id=thread["space"], change_request_id=thread["change"])
    yield PastAction(_parse_age(thread["ago"]), thread["by"], name, partial(post_thread, thread, at))
    yield from _reaction_actions(thread, partial(react, at, name, None))
    for number, reply in enumerate(thread.get("replies", ()), 1):
        asks = partial(post_reply, reply, at, name)
        yield PastAction(_parse_age(reply["ago"]), reply["by"], f"{name}-{number}", asks)
        yield from _reaction_actions(reply, partial(react, at, name, f"{name}-{number}"))
    if "resolved" in thread:
        asks = partial(resolve_thread, at, name)
        yield PastAction(_parse_age(thread["resolved"]["ago"]), thread["resolved"]["by"], name, asks)


def _reaction_actions(message: Any, reacted: Callable[[str, World], Iterable[Operation[Any]]]) -> Iterator[PastAction]:
    """A reaction comes a minute after the one before it, and the first a minute after the message."""
    minutes = 0
    for emoji, people in message.get("reactions", {}).items():
        for person in people:
            minutes += 1
            yield PastAction(
                _parse_age(message["ago"]) - timedelta(minutes=minutes), person, "", partial(reacted, emoji)
            )


def _parse_age(text: str) -> timedelta:
    found = _AGE.fullmatch(text)
    if not text or not found:
        raise ValueError(f"“{text}” is no age such as “3d 4h”.")
    days, hours, minutes = (int(each or 0) for each in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes)
