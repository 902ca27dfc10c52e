"""The people and the past of the demo: who did what and when.

TOML files in `changes/` and `threads/` describe change requests and threads. `list_actions` returns the actions that
create them. `DemoClock` and `DemoIds` give the created resources dates in the past and readable IDs.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, lru_cache, partial
from pathlib import Path
from random import Random
from typing import Any, Literal

from octavo.api import change_requests, comments, content, permissions, reviews, teams
from octavo.api.bodies import Markdown
from octavo.api.content import DocumentBody
from octavo.api.operation import (
    ChangeRequestRef,
    CollectionRef,
    ContentRef,
    Discussion,
    Operation,
    OrganizationRef,
    SpaceRef,
)
from octavo.documents import page_trees
from octavo.documents.blocks import Document
from octavo.documents.markdown_to_json import to_json_document
from octavo.documents.source_reader import parse
from octavo.server.app import run_operation
from octavo.server.handlers.spaces import get_revision_at, page_text
from octavo.server.rest import RequestContext, iso
from octavo.server.store import Json


@dataclass
class DemoClock:
    """A clock for `RequestContext` that stands still at `moment`, until the caller sets another `moment`."""

    moment: datetime

    def __call__(self) -> datetime:
        return self.moment


@dataclass
class DemoIds:
    """Creates IDs for `RequestContext` from `name`. For the name `retries`: `retries`, `retries-2`, `retries-3`."""

    name: str = ""
    _counts: Counter[str] = field(default_factory=Counter)

    def __call__(self) -> str:
        self._counts[self.name] += 1
        number = self._counts[self.name]
        return self.name if number == 1 else f"{self.name}-{number}"


def find_page(context: RequestContext, at: ContentRef, file_name: str) -> Json:
    """Return the page that was loaded from the file `file_name`. For a page that a change request added, `file_name` is
    its slug. Raises LookupError if there is no such page."""
    pages = [page for page in page_trees.walk(get_revision_at(context, at)["pages"]) if _source_file(page) == file_name]
    if not pages:
        raise LookupError(f"No page of {at} was written in {file_name}.")
    return pages[0]


def find_block(context: RequestContext, page: Json, words: str) -> str:
    """Return the key of the smallest block that contains `words`. Raises LookupError if no block does."""
    blocks = [
        (len(block_text), index, block.key)
        for index, block in enumerate(_parse(context.store.text(page["text"])).walk())
        if block.kind != "cell" and words in " ".join((block_text := block.plain()).split())
    ]
    if not blocks:
        raise LookupError(f"“{words}” is not on the page “{page['title']}”.")
    return min(blocks)[2]


def replace_once(text: str, words: str, replacement: str) -> str:
    """Return `text` with `replacement` in place of `words`. Raises LookupError unless `words` occurs exactly once."""
    if text.count(words) != 1:
        raise LookupError(f"“{words[:60]}” is there {text.count(words)} times, not once.")
    return text.replace(words, replacement)


@lru_cache(maxsize=64)
def _parse(text: str) -> Document:
    return parse(text)


def _source_file(page: Json) -> str:
    return str(page.get("git", {}).get("path") or page.get("slug", ""))


StepOperations = Callable[[Any, ChangeRequestRef, RequestContext], Iterable[Operation[Any]]]
"""A function that returns the operations for one step in the TOML file of a change request, such as an edit."""

_CHANGE_LIMIT = 50
"""Maximum number of changes in one request of `content.Edit`."""


def _edit(step: Any, at: ChangeRequestRef, context: RequestContext) -> Iterator[Operation[Any]]:
    changes: list[content.ContentEdit] = []
    texts: dict[str, str] = {}
    for edit in step["edit"]:
        if "new" in edit:
            changes.append(_insert(edit, at, context))
        elif "move" in edit:
            changes.append(_move(edit, at, context))
        elif "delete" in edit:
            changes.append(content.DeletePage(page=find_page(context, at, edit["delete"])["id"]))
        else:
            page = find_page(context, at, edit["page"])
            text = texts.get(page["id"]) or page_text(context, page)
            texts[page["id"]] = replace_once(text, edit["find"], edit["put"])
    changes += [content.UpdatePage(page=page, document=DocumentBody(markdown=text)) for page, text in texts.items()]
    yield content.Edit(at=at, changes=tuple(changes), compat=False)


def _insert(edit: Any, at: ChangeRequestRef, context: RequestContext) -> content.InsertPage:
    _, position = page_trees.position_of(
        get_revision_at(context, at)["pages"], find_page(context, at, edit["after"])["id"]
    )
    return content.InsertPage(
        document=DocumentBody(markdown=edit["put"]),
        slug=edit["new"],
        into=find_page(context, at, edit["below"])["id"],
        at=position + 1,
    )


def _move(edit: Any, at: ChangeRequestRef, context: RequestContext) -> content.UpdatePage:
    return content.UpdatePage(
        page=find_page(context, at, edit["move"])["id"],
        into=find_page(context, at, edit["below"])["id"],
        at=0,
        title=edit["title"],
    )


def _rename(step: Any, at: ChangeRequestRef, context: RequestContext) -> Iterator[Operation[Any]]:
    def rename_in(block_text: str) -> str:
        return block_text.replace(step["find"], step["put"])

    changes = [
        content.UpdatePage(
            page=page["id"], document=DocumentBody(markdown=rename_in(text)), description=rename_in(page["description"])
        )
        for page in page_trees.walk(get_revision_at(context, at)["pages"])
        if _source_file(page).startswith(step["under"]) and step["find"] in (text := page_text(context, page))
    ]
    for start in range(0, len(changes), _CHANGE_LIMIT):
        yield content.Edit(at=at, changes=tuple(changes[start : start + _CHANGE_LIMIT]), compat=False)


def _review(
    status: Literal["approved", "changes-requested"], step: Any, at: ChangeRequestRef, context: RequestContext
) -> Iterator[Operation[Any]]:
    body = Markdown(markdown=step["text"]) if "text" in step else None
    yield reviews.Submit(at=at, status=status, comment=body) if body else reviews.Submit(at=at, status=status)


STEPS: dict[str, StepOperations] = {
    "edit": _edit,
    "rename": _rename,
    "open": lambda step, at, context: [change_requests.Update(at=at, status="open")],
    "archive": lambda step, at, context: [change_requests.Update(at=at, status="archived")],
    "ask": lambda step, at, context: [reviews.Request(at=at, users=tuple(step["whom"]))],
    "approve": partial(_review, "approved"),
    "refuse": partial(_review, "changes-requested"),
    "merge": lambda step, at, context: [change_requests.Merge(at=at)],
}


def _post_thread(thread: Any, at: Discussion, context: RequestContext) -> Iterator[Operation[Any]]:
    target: dict[str, Any] = {}
    if "page" in thread:
        page = find_page(context, at, thread["page"])
        target["page"] = page["id"]
        if "block" in thread:
            target["node"] = find_block(context, page, thread["block"])
    yield comments.Create(at=at, body=Markdown(markdown=thread["text"]), **target)


def _react(at: Discussion, thread_id: str, reply_id: str | None, emoji: str) -> Operation[Any]:
    """Return the operation that adds an emoji, such as 👍, to a reply. If `reply_id` is None, to the comment itself."""
    added_reactions = ("-".join(f"{ord(letter):x}" for letter in emoji),)
    if reply_id is None:
        return comments.Update(at=at, comment_id=thread_id, added_reactions=added_reactions)
    return comments.UpdateReply(at=at, comment_id=thread_id, comment_reply_id=reply_id, added_reactions=added_reactions)


_FOLDER = Path(__file__).parent
_AGE = re.compile(r"(?:(\d+)d)? ?(?:(\d+)h)? ?(?:(\d+)m)?")


@dataclass(frozen=True)
class PastAction:
    """An action of a user, `age` before the date of the demo. The IDs of created resources begin with `id_prefix`."""

    age: timedelta
    user_id: str
    id_prefix: str
    make_operations: Callable[[RequestContext], Iterable[Operation[Any]]] = field(compare=False)
    """Function that returns the operations. They may depend on results of earlier actions, so these must run first."""


def list_actions() -> list[PastAction]:
    """Return all actions in the demo, oldest first."""
    actions = [action for change in _read_files("change") for action in _change_request_actions(change)]
    actions += [
        action
        for number, thread in enumerate(_read_files("thread"), 1)
        for action in _thread_actions(thread, f"t{number}")
    ]
    return sorted(actions, key=lambda action: action.age, reverse=True)


def _read_files(kind: str) -> Iterator[Any]:
    """Yield the TOML tables of all change requests (`kind` is `change`) or threads (`kind` is `thread`). The top-level
    keys of a file are added to each of its tables."""
    for path in sorted((_FOLDER / f"{kind}s").glob("*.toml")):
        toml_document = tomllib.loads(path.read_text(encoding="utf-8"))
        for each in toml_document.pop(kind):
            yield {**toml_document, **each}


def _change_request_actions(change: Any) -> Iterator[PastAction]:
    at = ChangeRequestRef(space_id=change["space"], change_request_id=change["id"])
    first_operations: list[Operation[Any]] = [
        change_requests.Create(at=SpaceRef(space_id=at.space_id), subject=change["subject"])
    ]
    if "about" in change:
        first_operations.append(change_requests.Update(at=at, description=to_json_document(change["about"])))
    yield PastAction(_parse_age(change["ago"]), change["by"], change["id"], lambda _: first_operations)
    for step in change["step"]:
        operations = partial(STEPS[step["do"]], step, at)
        yield PastAction(
            _parse_age(step["ago"]), step.get("by", change["by"]), f"{change['id']}-{step['do']}", operations
        )


def _thread_actions(thread: Any, name: str) -> Iterator[PastAction]:
    at: Discussion = SpaceRef(space_id=thread["space"])
    if "change" in thread:
        at = ChangeRequestRef(space_id=thread["space"], change_request_id=thread["change"])
    yield PastAction(_parse_age(thread["ago"]), thread["by"], name, partial(_post_thread, thread, at))
    yield from _reaction_actions(thread, partial(_react, at, name, None))
    for number, reply in enumerate(thread.get("replies", ()), 1):
        create_reply = comments.CreateReply(at=at, comment_id=name, body=Markdown(markdown=reply["text"]))
        yield PastAction(_parse_age(reply["ago"]), reply["by"], f"{name}-{number}", _always(create_reply))
        yield from _reaction_actions(reply, partial(_react, at, name, f"{name}-{number}"))
    if "resolved" in thread:
        resolve_thread = comments.Update(at=at, comment_id=name, resolved=True)
        yield PastAction(_parse_age(thread["resolved"]["ago"]), thread["resolved"]["by"], name, _always(resolve_thread))


def _reaction_actions(message: Any, add_reaction: Callable[[str], Operation[Any]]) -> Iterator[PastAction]:
    minutes = 0
    for emoji, people in message.get("reactions", {}).items():
        for person in people:
            minutes += 1
            age = _parse_age(message["ago"]) - timedelta(minutes=minutes)
            yield PastAction(age, person, "", _always(add_reaction(emoji)))


def _always(*operations: Operation[Any]) -> Callable[[RequestContext], Iterable[Operation[Any]]]:
    return lambda _: operations


def _parse_age(text: str) -> timedelta:
    match = _AGE.fullmatch(text)
    if not text or not match:
        raise ValueError(f"“{text}” is no age such as “3d 4h”.")
    days, hours, minutes = (int(group or 0) for group in match.groups())
    return timedelta(days=days, hours=hours, minutes=minutes)


ORGANIZATION = "saltmarsh"
MEMBER_COUNT = 300
NEVER_DISABLED_COUNT = 21
"""Number of people at the start of `members()` whose accounts are never disabled."""


@dataclass(frozen=True)
class DemoPerson:
    """A person in the demo organization. `role` is None for a guest."""

    id: str
    name: str
    role: str | None

    @property
    def email(self) -> str:
        return f"{self.id.replace('-', '.')}@saltmarsh.example"


PEOPLE = (
    DemoPerson("noor-haddad", "Noor Haddad", "admin"),
    DemoPerson("mara-lindqvist", "Mara Lindqvist", "create"),
    DemoPerson("tomas-okafor", "Tomás Okafor", "review"),
    DemoPerson("yuki-tanabe", "Yuki Tanabe", "edit"),
    DemoPerson("sipho-dlamini", "Sipho Dlamini", "comment"),
    DemoPerson("elin-brandt", "Elin Brandt", "read"),
)
"""The people as whom you can open the demo, from the highest role to the lowest."""

DEFAULT_PERSON = PEOPLE[1]
"""The person as whom the demo opens by default. She can review and merge, but not administer."""


def members() -> list[DemoPerson]:
    """Return the members who are not in `PEOPLE`, in the order in which they joined."""
    names = tomllib.loads((_FOLDER / "names.toml").read_text(encoding="utf-8"))
    people = [
        DemoPerson(_person_id(name, index), name, role) for index, (name, role) in enumerate(names["named"].items())
    ]
    first_names, last_names = names["lists"]["first"], names["lists"]["last"]
    rng, used_ids = Random("members"), {person.id for person in (*PEOPLE, *people)}
    while len(people) < MEMBER_COUNT:
        name = f"{rng.choice(first_names)} {rng.choice(last_names)}"
        role = rng.choices(("read", "comment", "edit", "review", None), weights=(66, 24, 6, 2, 2))[0]
        if _person_id(name, 0) not in used_ids:
            used_ids.add(_person_id(name, 0))
            people.append(DemoPerson(_person_id(name, 0), name, role))
    return people


def add_people(context: RequestContext, today: datetime) -> None:
    """Add all people to the organization, with various joining dates before `today`."""
    rng = Random("days")
    for person in PEOPLE:
        joined_at = today - timedelta(days=rng.randrange(200, 4000))
        _save_person(context, person, {"joinedAt": iso(joined_at), "lastSeenAt": iso(today)})
    for index, person in enumerate(members()):
        joined_at = today - timedelta(days=4400 * (1 - index / MEMBER_COUNT) + 3, minutes=rng.randrange(1440))
        member: Json = {"joinedAt": iso(joined_at)}
        if rng.random() < 0.94:
            member["lastSeenAt"] = iso(joined_at + (today - joined_at) * rng.random() ** 0.1)
        member["disabled"] = rng.random() < 0.02 and index >= NEVER_DISABLED_COUNT
        _save_person(context, person, member)


def _save_person(context: RequestContext, person: DemoPerson, member: Json) -> None:
    user: Json = {"id": person.id, "displayName": person.name, "email": person.email}
    context.store.put(f"/users/{person.id}", user)
    context.store.put(f"/orgs/{ORGANIZATION}/members/{person.id}", {"id": person.id, "role": person.role, **member})


def _person_id(name: str, index: int) -> str:
    """Return an ID such as `mara-lindqvist`. For a name without Latin letters, return `member-` and `index`."""
    plain = unicodedata.normalize("NFKD", name.lower().translate(_TRANSLITERATION))
    letters = "".join(letter if letter.isascii() and letter.isalpha() else " " * letter.isspace() for letter in plain)
    return "-".join(letters.replace("-", " ").split()) or f"member-{index + 1}"


_TRANSLITERATION = str.maketrans({"đ": "d", "ł": "l", "ı": "i", "ø": "o", "-": " "})


@cache
def organization_setup() -> Any:
    """Return the organization, collections, spaces, teams and site of the demo, as the TOML file describes them."""
    return tomllib.loads((_FOLDER / "organization.toml").read_text(encoding="utf-8"))


def create_team(context: RequestContext, team: Any) -> None:
    """Create a team with its members and its owner, and give the team a role in a collection."""
    at = OrganizationRef(organization_id=ORGANIZATION)
    readers = [person.id for person in members() if person.role == "read"][::11]
    team_members = (*team["members"], *(readers if team["role"] == "read" else ()))
    run_operation(teams.Create(at=at, title=team["title"], members=team_members), context)
    run_operation(teams.AddMember(at=at, team_id=team["id"], user_id=team["owner"], role="owner"), context)
    collection = CollectionRef(collection_id=team["collection"])
    run_operation(permissions.Grant(at=collection, role=team["role"], teams=(team["id"],)), context)
