"""The demo library is complete, valid and the same in each build."""

from __future__ import annotations

import posixpath
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from octavo.api import change_requests, comments, content, organizations, permissions, reviews, sites, spaces, teams
from octavo.api.operation import ChangeRequestRef, Discussion, Operation, OrganizationRef, SpaceRef
from octavo.documents import links, page_trees
from octavo.documents.blocks import Block, Document
from octavo.documents.source_reader import parse
from octavo.server.app import run_operation
from octavo.server.demo import history, library, register
from octavo.server.demo.library import MIN_CHANGE_REQUESTS, MIN_OPEN_THREADS, MIN_SPACES
from octavo.server.handlers.spaces import get_current, page_text
from octavo.server.rest import RequestContext
from octavo.server.store import Json, Store
from tests.documents.block_model import KINDS
from tests.journeys.conftest import library as set_out

__all__ = ["set_out"]
SPACES = [SpaceRef(space_id=manual["id"]) for manual in history.organization_setup()["spaces"]]
BROKEN = [("harbour-api", "how-to/guides/berth-planning.md", "tide-clock.md")]
"""The one link that leads nowhere."""


@pytest.fixture(scope="module")
def demo_file(set_out: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database with the demo library."""
    return Path(shutil.copy(set_out, tmp_path_factory.mktemp("demo") / "demo.db"))


@pytest.fixture(scope="module")
def demo(demo_file: Path) -> Iterator[RequestContext]:
    """Yield the demo as its default user sees the demo. Tests must not change it."""
    store = Store(demo_file)
    yield RequestContext(store).for_user(history.DEFAULT_PERSON.id)
    store.close()


@pytest.fixture
def demo_copy(demo_file: Path, tmp_path: Path) -> Iterator[RequestContext]:
    """Yield a copy of the demo that a test may change."""
    store = Store(Path(shutil.copy(demo_file, tmp_path / "copy.db")))
    yield RequestContext(store, now=lambda: library.TODAY).for_user(history.DEFAULT_PERSON.id)
    store.close()


@pytest.fixture(scope="module")
def documents(demo: RequestContext) -> dict[tuple[str, str], Document]:
    """Return each parsed page of main by space and file."""
    return {(space, page["git"]["path"]): parse(page_text(demo, page)) for space, page in _pages(demo)}


def _build(path: Path, today: datetime = library.TODAY) -> Path:
    store = Store(path)
    library.build(RequestContext(store), today)
    store.close()
    return path


def _table_rows(path: Path) -> dict[str, list[Any]]:
    """Return the rows of every table, except the settings, in which the loader stores the path of its folder."""
    with closing(sqlite3.connect(path)) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'settings'")
        return {name: database.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for (name,) in tables}


def _pages(context: RequestContext) -> Iterator[tuple[str, Json]]:
    for at in SPACES:
        for page in page_trees.walk(get_current(context, at.space_id)["pages"]):
            if page["type"] == "document":
                yield at.space_id, page


def _items(op: Operation[Any], context: RequestContext) -> list[Json]:
    items: list[Json] = run_operation(op, context)["items"]
    return items


def _change_requests(context: RequestContext) -> list[Json]:
    found: list[Json] = []
    for at in SPACES:
        for status in ("draft", "open", "merged", "archived"):
            found += _items(change_requests.List(at=at, status=status), context)
    return found


def _ref(change_request: Json) -> ChangeRequestRef:
    return ChangeRequestRef(space_id=change_request["space"], change_request_id=change_request["id"])


def _threads(context: RequestContext) -> list[Json]:
    places: list[Discussion] = [*SPACES, *(_ref(each) for each in _change_requests(context))]
    return [each for at in places for each in _items(comments.List(at=at, limit=1000), context)]


@pytest.mark.before_release
def test_two_builds_are_equal(demo_file: Path, tmp_path: Path) -> None:
    assert _table_rows(_build(tmp_path / "again.db")) == _table_rows(demo_file)


@pytest.mark.before_release
def test_times_in_the_demo_are_relative_to_today(tmp_path: Path) -> None:
    later = library.TODAY + timedelta(days=400)
    store = Store(_build(tmp_path / "later.db", later))
    posted = [datetime.fromisoformat(each["postedAt"]) for each in store.all("/spaces/harbour-api/comments")]
    store.close()
    assert timedelta() < later - max(posted) < timedelta(hours=1)


def test_demo_has_four_spaces_in_nested_collections(demo: RequestContext) -> None:
    shelves = {shelf["id"]: shelf for shelf in history.organization_setup()["collections"]}
    assert len(SPACES) == 4
    assert len(shelves) >= 3
    assert any(shelf.get("parent") in shelves for shelf in shelves.values())
    assert {demo.store.get(f"/spaces/{at.space_id}")["parent"] for at in SPACES} <= set(shelves)


def test_demo_has_sixty_handwritten_pages_and_one_of_5000_lines(demo: RequestContext) -> None:
    by_rule = {("stations", path) for path in register.generated_files()}
    files = {(space, page["git"]["path"]): page for space, page in _pages(demo)}
    assert len(files.keys() - by_rule) >= 60
    assert page_text(demo, files["stations", "log.md"]).count("\n") > 4900
    assert register.generated_files()["log.md"].count("\n") == register.LOG_LINE_COUNT


def test_demo_has_every_role_and_three_hundred_members(demo: RequestContext) -> None:
    at = OrganizationRef(organization_id=history.ORGANIZATION)
    members = _items(organizations.ListMembers(at=at, limit=1000), demo)
    assert len(members) == 6 + 300
    assert len({member["user"]["displayName"] for member in members}) == 306
    assert [person.role for person in history.PEOPLE] == ["admin", "create", "review", "edit", "comment", "read"]
    guests = [member for member in members if member["role"] is None]
    assert guests
    assert all(member["spaces"] == (1 if member["role"] is None else 4) for member in members if not member["disabled"])
    seen = [member for member in members if "lastSeenAt" in member]
    assert 250 < len(seen) < 306
    assert all(member["joinedAt"] <= member["lastSeenAt"] for member in seen)


def test_teams_of_the_demo_grant_no_additional_roles(demo: RequestContext, demo_copy: RequestContext) -> None:
    at = OrganizationRef(organization_id=history.ORGANIZATION)
    found = _items(teams.List(at=at), demo)
    assert [team["id"] for team in found] == [crew["id"] for crew in history.organization_setup()["teams"]]
    assert all(team["members"] > 2 and team["spaces"] == 1 for team in found)
    assert [team["id"] for team in _items(teams.List(at=at, owner=demo.caller), demo)] == ["software"]
    for team in found:
        run_operation(teams.Delete(at=at, team_id=team["id"]), demo_copy.for_user(history.PEOPLE[0].id))
    for at_space in SPACES:
        everybody = permissions.ListAggregate(at=at_space, limit=1000)
        assert _items(everybody, demo) == _items(everybody, demo_copy)


def test_demo_user_can_merge_in_some_spaces(demo: RequestContext) -> None:
    may = {at.space_id: run_operation(spaces.Get(at=at), demo)["permissions"] for at in SPACES}
    assert [space for space, permissions in may.items() if not permissions["merge"]] == ["limpet"]
    assert all(permissions["comment"] and not permissions["admin"] for permissions in may.values())


def test_change_requests_are_in_every_state(demo: RequestContext) -> None:
    found = _change_requests(demo)
    assert len(found) == 14
    statuses = Counter(each["status"] for each in found)
    assert statuses == {"open": 7, "merged": 4, "draft": 2, "archived": 1}
    assert sum(each["outdated"] and each["status"] == "open" for each in found) == 2
    subjects = [each["subject"] for each in found]
    assert "" in subjects
    assert max(map(len, subjects)) >= 90
    assert any("🎬" in subject for subject in subjects)
    assert sum("description" in each for each in found) > 8


def test_demo_has_approvals_change_requests_and_outdated_reviews(demo: RequestContext) -> None:
    given, asked = Counter[tuple[str, bool]](), Counter[str]()
    for each in _change_requests(demo):
        for review in _items(reviews.List(at=_ref(each)), demo):
            given[review["status"], review["revision"] == each["revision"]] += 1
        asked.update(every["user"]["id"] for every in _items(reviews.ListRequested(at=_ref(each)), demo))
    assert given["approved", True] >= 2
    assert given["approved", False] == 1
    assert given["changes-requested", True] >= 2
    assert asked[history.DEFAULT_PERSON.id] >= 3


def test_demo_has_a_change_request_that_edits_sixty_pages(demo: RequestContext) -> None:
    at = ChangeRequestRef(space_id="stations", change_request_id="limpet-classic")
    changes = run_operation(content.ListChanges(at=at, limit=1000), demo)["changes"]
    assert len(changes) == 60
    assert {change["type"] for change in changes} == {"page_edited"}


def test_demo_has_a_conflicting_change_request_without_data_loss(demo_copy: RequestContext) -> None:
    at = ChangeRequestRef(space_id="harbour-api", change_request_id="retry-schedule")
    assert run_operation(change_requests.Merge(at=at), demo_copy)["result"] == "conflicts"
    page = next(page for _, page in _pages(demo_copy) if page["git"]["path"] == "how-to/guides/webhooks/retries.md")
    text = page_text(demo_copy, page)
    assert "but you can [turn retries off]" in text
    assert "pauses vary by up to 10 %" in text
    assert "67 h 11 min" in text


def test_demo_has_an_approved_change_request_without_conflicts(demo_copy: RequestContext) -> None:
    at = ChangeRequestRef(space_id="harbour-api", change_request_id="refused-times")
    assert run_operation(change_requests.Merge(at=at), demo_copy)["result"] == "merge"
    page = next(page for _, page in _pages(demo_copy) if page["git"]["path"] == "concepts/time.md")
    assert "has no zone" in page_text(demo_copy, page)


def test_demo_has_eighty_threads_with_replies_and_reactions(demo: RequestContext) -> None:
    threads = _threads(demo)
    assert len(threads) >= 80
    assert sum(thread["replies"] for thread in threads) >= 80
    assert sum(len(thread["reactions"]) for thread in threads) >= 25
    assert sum(thread["status"] == "resolved" for thread in threads) >= 15
    assert len({thread["postedBy"]["id"] for thread in threads}) >= 10
    on_blocks = [thread for thread in threads if "node" in thread["target"]]
    assert len(on_blocks) >= 60
    assert all(thread["target"]["node"]["preview"] for thread in on_blocks)
    assert sum("page" not in thread["target"] for thread in threads) >= 4


def test_demo_has_outdated_threads(demo: RequestContext) -> None:
    pages = [
        thread["target"]["page"]
        for at in SPACES
        for thread in _items(comments.List(at=at, limit=1000), demo)
        if "page" in thread["target"]
    ]
    assert {page["title"] for page in pages if page["outdated"]} >= {"Retries", "Release days of 2026"}


def test_demo_has_hostile_text_unchanged(demo: RequestContext) -> None:
    said = [each["body"]["markdown"] for each in _threads(demo)]
    assert any("[/b]" in text and "[@click=app.quit]" in text for text in said)


def test_comment_counts_match_the_threads(demo: RequestContext) -> None:
    for at in SPACES:
        threads = _items(comments.List(at=at, limit=1000, status="open"), demo)
        assert run_operation(spaces.Get(at=at), demo)["comments"] == len(threads)


OF_CHANGE_REQUESTS = {"conflict", "side"}
"""Blocks that no page has which is published."""
RUNS = {"text", "code", "math", "image", "icon", "emoji", "mention", "button", "footnote", "break", "expression"}
MARKS = {"bold", "italic", "code", "kbd", "sub", "sup", "mark"}
LANGUAGES = {"python", "bash", "json", "yaml", "sql", "http", "mermaid", "javascript", "html"}
COLUMNS = {"text", "number", "checkbox", "select", "rating", "users", "files", "content-ref", "image"}


def test_demo_pages_have_every_kind_of_block(documents: dict[tuple[str, str], Document]) -> None:
    blocks = [block for document in documents.values() for block in document.walk()]
    assert set(KINDS) - {block.kind for block in blocks} == OF_CHANGE_REQUESTS | {"unknown", "else"}
    assert RUNS - {run.kind for block in blocks for run in block.runs} == set()
    assert MARKS - {mark for block in blocks for run in block.runs for mark in run.marks} == set()
    assert LANGUAGES - {block.attrs.get("language") for block in blocks} == set()
    assert {block.attrs["style"] for block in blocks if block.kind == "hint"} == {
        "info",
        "success",
        "warning",
        "danger",
    }
    assert {block.attrs.get("variant") for block in blocks if block.kind == "openapi"} >= {
        "operation",
        "schemas",
        "webhook",
    }
    columns = [column for block in blocks for column in block.attrs.get("columns") or ()]
    assert COLUMNS - {column.type for column in columns} == set()
    assert {"left", "center", "right"} <= {column.align for column in columns}


def test_demo_has_code_with_each_option_and_long_lines(documents: dict[tuple[str, str], Document]) -> None:
    codes = [block for document in documents.values() for block in document.walk() if block.kind == "code"]
    for attribute in ("title", "numbers", "wrap", "expandable", "highlighted"):
        assert any(block.attrs.get(attribute) for block in codes), attribute
    assert max(len(line) for block in codes for line in block.text.split("\n")) > 150


def test_demo_pages_have_no_diagnostics_and_no_unknown_blocks(documents: dict[tuple[str, str], Document]) -> None:
    assert {place: document.diagnostics for place, document in documents.items() if document.diagnostics} == {}
    assert [block for document in documents.values() for block in document.walk() if block.kind == "unknown"] == []


def test_demo_has_japanese_and_hebrew_pages(demo: RequestContext) -> None:
    titles = {page["title"] for _, page in _pages(demo)}
    assert {"クイックスタート", "התחלה מהירה"} <= titles


def test_all_links_but_one_have_a_target(demo: RequestContext, documents: dict[tuple[str, str], Document]) -> None:
    maps = {at.space_id: _space_index(get_current(demo, at.space_id), at.space_id) for at in SPACES}
    anchors = {place: {heading.anchor for heading in document.headings} for place, document in documents.items()}
    broken, spaces_met, outside = [], set(), set()
    for (space, file), document in documents.items():
        for href in _links(document):
            match links.resolve(href, file, maps[space]):
                case links.PageLink(page, anchor):
                    there = (space, _file(demo, space, page))
                    assert not anchor or anchor in anchors[there], f"{file} leads to {href}, which has no such heading"
                case links.SpaceLink(other, page, _):
                    assert not page or page in maps[other].pages, f"{file} leads to {href}, which is not there"
                    spaces_met.add((space, other))
                case links.UrlLink(_, host):
                    outside.add(host)
                    assert host.endswith((".example", "github.com")), host
                case links.BrokenLink() | links.BlockedLink():
                    broken.append((space, file, href))
                case _:
                    pass
    assert broken == BROKEN
    assert len(spaces_met) >= 6
    assert len(outside) >= 5


def test_all_files_and_images_exist(demo: RequestContext, documents: dict[tuple[str, str], Document]) -> None:
    wanted = 0
    for (space, file), document in documents.items():
        revision = get_current(demo, space)
        have = {each["git"]["path"]: each for each in revision["files"]}
        have |= {each["git"]["path"]: each for each in revision["reusableContents"]}
        for block in document.walk():
            address = block.attrs.get("src") or block.attrs.get("target")
            if block.kind in ("image", "file", "include") and address:
                wanted += 1
                path = posixpath.normpath(posixpath.join(posixpath.dirname(file), str(address)))
                assert path in have, f"{file} wants {address}"
    assert wanted >= 15


def test_demo_files_are_small_and_valid(demo: RequestContext) -> None:
    files = [each for at in SPACES for each in get_current(demo, at.space_id)["files"]]
    assert {each["contentType"] for each in files} >= {"image/svg+xml", "image/png", "application/pdf", "text/csv"}
    assert max(each["size"] for each in files) < 20_000
    pictures = [each for each in files if each["contentType"] == "image/png"]
    assert all(each["dimensions"]["width"] > 0 for each in pictures)


def _space_index(revision: Json, space: str) -> links.SpaceIndex:
    pages = [page for page in page_trees.walk(revision["pages"]) if page["type"] == "document"]
    by_path = {page["git"]["path"].removesuffix(".md"): page["id"] for page in pages}
    by_path |= {page["path"]: page["id"] for page in pages}
    files = {file["name"]: file["id"] for file in revision["files"]}
    return links.SpaceIndex(by_path, frozenset(page["id"] for page in pages), files, space)


def _file(context: RequestContext, space: str, page_id: str) -> str:
    page = page_trees.find_page(get_current(context, space)["pages"], page_id)
    assert page
    return str(page["git"]["path"])


def _links(document: Document) -> Iterator[str]:
    for block in document.walk():
        yield from _links_of(block)


def _links_of(block: Block) -> Iterator[str]:
    yield from (run.link for run in block.runs if run.link)
    if block.kind in ("content-ref", "embed"):
        yield str(block.attrs["url"])
    if block.kind == "card":
        yield from (str(block.attrs[name]) for name in ("target", "cover") if block.attrs.get(name))


def test_public_spaces_of_the_demo_are_on_a_site(demo: RequestContext) -> None:
    stranger = demo.for_user("nobody")
    published = run_operation(sites.GetPublished(at=library.SITE), stranger)
    assert published["site"]["urls"]["published"].endswith("/published/saltmarsh/docs/")
    sections = [(each["title"], each["siteSpaces"][0]["title"]) for each in published["structure"]["structure"]]
    assert sections == [("Instruments", "Limpet manual"), ("Harbour software", "Harbour API")]


@pytest.mark.long
def test_scaled_down_large_demo_adds_to_the_demo(demo: RequestContext) -> None:
    with closing(Store()) as store:
        library.build(RequestContext(store), large=0.02)
        counted = _counts(RequestContext(store).for_user(history.DEFAULT_PERSON.id))
    without = _counts(demo)
    spaces_, pages_, threads_, undecided = (much - less for much, less in zip(counted, without, strict=True))
    assert (spaces_, pages_, undecided) == (4, 4 * 51, 12)
    assert threads_ >= 100


@pytest.mark.long
def test_large_demo_has_the_documented_size() -> None:
    with closing(Store()) as store:
        library.build(RequestContext(store), large=1.0)
        spaces_, pages_, threads_, undecided = _counts(RequestContext(store).for_user(history.DEFAULT_PERSON.id))
    assert spaces_ >= MIN_SPACES
    assert pages_ >= 10_000
    assert threads_ >= MIN_OPEN_THREADS
    assert undecided >= MIN_CHANGE_REQUESTS


def _counts(context: RequestContext) -> tuple[int, int, int, int]:
    """Return the numbers of spaces, pages, open threads, and open or draft change requests that the caller sees."""
    at = OrganizationRef(organization_id=history.ORGANIZATION)
    seen = run_operation(spaces.List(at=at, limit=1000), context)["items"]
    pages_ = sum(1 for each in seen for _ in page_trees.walk(get_current(context, each["id"])["pages"]))
    undecided = [
        each
        for status in ("open", "draft")
        for each in run_operation(change_requests.ListOfOrganization(at=at, status=status, limit=1000), context)[
            "items"
        ]
    ]
    threads_ = sum(each["comments"] for each in (*seen, *undecided))
    return len(seen), pages_, threads_, len(undecided)
