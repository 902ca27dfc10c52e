"""The steps of a change request of the demo, as operations. Each takes what its file says, the place and the world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Literal

from octavo.api import change_requests, content, reviews
from octavo.api.bodies import Markdown
from octavo.api.content import DocumentBody
from octavo.api.operation import Operation
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.documents.markdown_to_json import to_json_document
from octavo.server.behaviour import revisions
from octavo.server.demo import pages
from octavo.server.world import World

Step = Callable[[Any, ChangeRequestRef, World], Iterable[Operation[Any]]]

_MOST_CHANGES = 50
"""The most changes one edit may have."""


def started(change: Any, at: ChangeRequestRef, world: World) -> Iterator[Operation[Any]]:
    """Open a draft, with a description if there is one."""
    yield change_requests.Create(at=SpaceRef(space_id=at.space_id), subject=change["subject"])
    if "about" in change:
        yield change_requests.Update(at=at, description=to_json_document(change["about"]))


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
            changes.append(content.DeletePage(page=pages.page_at(world, at, edit["delete"])["id"]))
        else:
            page = pages.page_at(world, at, edit["page"])
            text = texts.get(page["id"]) or revisions.text(world, page)
            texts[page["id"]] = pages.replaced(text, edit["find"], edit["put"])
    changes += [content.UpdatePage(page=page, document=DocumentBody(markdown=text)) for page, text in texts.items()]
    yield content.Edit(at=at, changes=tuple(changes), compat=False)


def _insert(edit: Any, at: ChangeRequestRef, world: World) -> content.InsertPage:
    return content.InsertPage(
        document=DocumentBody(markdown=edit["put"]),
        slug=edit["new"],
        into=pages.page_at(world, at, edit["below"])["id"],
        at=pages.place_after(world, at, edit["after"]),
    )


def _move(edit: Any, at: ChangeRequestRef, world: World) -> content.UpdatePage:
    return content.UpdatePage(
        page=pages.page_at(world, at, edit["move"])["id"],
        into=pages.page_at(world, at, edit["below"])["id"],
        at=0,
        title=edit["title"],
    )


def _rename(step: Any, at: ChangeRequestRef, world: World) -> Iterator[Operation[Any]]:
    """One name for another on every page of a folder that has it, in its text and its description."""

    def renamed(says: str) -> str:
        return says.replace(step["find"], step["put"])

    changes = [
        content.UpdatePage(page=page["id"], document=DocumentBody(markdown=renamed(text)), description=renamed(about))
        for page in pages.pages_below(world, at, step["under"])
        if step["find"] in (text := revisions.text(world, page)) and (about := page["description"])
    ]
    for place in range(0, len(changes), _MOST_CHANGES):
        yield content.Edit(at=at, changes=tuple(changes[place : place + _MOST_CHANGES]), compat=False)


def _status(
    status: Literal["open", "archived"], step: Any, at: ChangeRequestRef, world: World
) -> Iterator[Operation[Any]]:
    yield change_requests.Update(at=at, status=status)


def _ask(step: Any, at: ChangeRequestRef, world: World) -> Iterator[Operation[Any]]:
    yield reviews.Request(at=at, users=tuple(step["whom"]))


def _review(
    status: Literal["approved", "changes-requested"], step: Any, at: ChangeRequestRef, world: World
) -> Iterator[Operation[Any]]:
    said = Markdown(markdown=step["text"]) if "text" in step else None
    yield reviews.Submit(at=at, status=status, comment=said) if said else reviews.Submit(at=at, status=status)


def _merge(step: Any, at: ChangeRequestRef, world: World) -> Iterator[Operation[Any]]:
    yield change_requests.Merge(at=at)


STEPS: dict[str, Step] = {
    "edit": _edit,
    "rename": _rename,
    "open": partial(_status, "open"),
    "archive": partial(_status, "archived"),
    "ask": _ask,
    "approve": partial(_review, "approved"),
    "refuse": partial(_review, "changes-requested"),
    "merge": _merge,
}
