"""The local search index of loaded responses, in real SQLite files."""

from __future__ import annotations

import json
import random
import sqlite3
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from octavo.api import change_requests, comments, content
from octavo.api.bodies import Body
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment, Reply, Target, TargetNode, TargetPage
from octavo.api.content import Git, Page, PageTree
from octavo.api.folding import Range, encode_mention, mentioned_urls, with_formulas, with_titles
from octavo.api.operation import (
    SPECS,
    ChangeRequestRef,
    ListPage,
    NextCursor,
    OrganizationRef,
    SpaceRef,
    decode_response,
)
from octavo.api.safety import safe_text
from octavo.api.users import User
from octavo.data.response_cache import ResponseCache
from octavo.data.search_index import WRITES_PER_EVICTION, Hit, SearchIndex
from octavo.data.search_text import SearchTerms
from tests.api.test_folding import ALIKE
from tests.data.conftest import damage_cache_files
from tests.server.small_platform import Clock

HERE = SpaceRef(space_id="docs")
MIA, TOM = User(id="mia", display_name="Mia Rowan"), User(id="tom", display_name="Tom Hale")


@pytest.fixture
def index(tmp_path: Path, clock: Clock) -> Iterator[SearchIndex]:
    index = SearchIndex(tmp_path / "cache", "mia@test", now=clock)
    yield index
    index.close()


def read_page(index: SearchIndex, markdown: str, title: str = "Harbour", id: str = "p1", at: SpaceRef = HERE) -> None:
    op = content.GetPage(at=at, page_id=id, format="markdown")
    index.add(op, Page(id=id, title=title, markdown=markdown))


def comment(id: str, words: str, *, quote: str | None = None, status: str = "open", page: str = "p1") -> Comment:
    target = Target(
        page=TargetPage(id=page, title="Harbour"), node=TargetNode(id=f"n-{id}", preview=quote) if quote else None
    )
    return Comment(id=id, body=Body(markdown=words), posted_by=MIA, target=target, status=status)


def read_threads(index: SearchIndex, *threads: Comment, at: Any = HERE, **asked: Any) -> None:
    index.add(comments.List(at=at, **asked), ListPage[Comment](items=threads))


def read_replies(index: SearchIndex, thread: str, *words: str, at: Any = HERE) -> None:
    replies = tuple(
        Reply(id=f"{thread}-{number}", body=Body(markdown=each), posted_by=TOM) for number, each in enumerate(words)
    )
    index.add(comments.ListReplies(at=at, comment_id=thread), ListPage[Reply](items=replies))


def _files(folder: Path, companions: str = "") -> list[Path]:
    return list(folder.glob(f"index-v*.db{companions}"))


async def find(index: SearchIndex, typed: str, **how: Any) -> tuple[Hit, ...]:
    index.flush()
    return await index.search(typed, **how)


async def find_ids(index: SearchIndex, typed: str, **how: Any) -> list[str]:
    return [hit.id for hit in await find(index, typed, **how)]


def marked_words(hit: Hit) -> list[str]:
    """Return the marked words of a snippet."""
    return [hit.snippet[start:end] for start, end in hit.marks]


async def test_replies_are_found_after_a_change_of_their_thread(index: SearchIndex) -> None:
    read_threads(index, comment("c1", "ropes"))
    read_replies(index, "c1", "anchors")
    read_threads(index, comment("c1", "ropes", status="resolved"))
    assert await find_ids(index, "anchors") == ["c1"]


class TestFoundDocuments:
    async def test_page_is_found_by_text_and_headings_of_a_section(self, index: SearchIndex, clock: Clock) -> None:
        read_page(
            index, "# Harbour\n\nBoats.\n\n## Tides\n\n### Spring tide\n\nThe quay floods at *springs*.\n\n## Fees\n"
        )
        (hit,) = await find(index, "floods")
        assert (hit.kind, hit.space_id, hit.id, hit.title) == ("page", "docs", "p1", "Harbour")
        assert hit.text_kind == "section"
        assert hit.path == ("Tides", "Spring tide")
        assert hit.snippet == "The quay floods at springs."
        assert marked_words(hit) == ["floods"]
        assert hit.known_at == clock()
        assert hit.at == HERE

    async def test_page_title_and_section_text_match_together(self, index: SearchIndex) -> None:
        read_page(index, "## Battery\n\nCharge it.\n\n## Hull\n\nScrub it.", title="Safety")
        read_page(index, "## Battery\n\nBuy one.", title="Prices", id="p2")
        (hit,) = await find(index, "safety battery")
        assert (hit.id, hit.path) == ("p1", ("Battery",))

    async def test_titles_rank_before_text_and_recent_pages_before_old_ones(
        self, index: SearchIndex, clock: Clock
    ) -> None:
        for number, page in enumerate(("p1", "p2", "p3")):
            clock.forward(hours=1)
            words = "Moor at the pontoon, and stay there."
            read_page(
                index, words if number else "Boats.", title="Pontoon" if not number else f"Other {number}", id=page
            )
            index.flush()
        assert await find_ids(index, "pontoon") == ["p1", "p3", "p2"]
        clock.forward(hours=1)
        read_page(index, "Moor at the pontoon, and stay there.", title="Other 1", id="p2")
        assert await find_ids(index, "pontoon") == ["p1", "p2", "p3"]

    async def test_comments_replies_and_quotes_are_found_with_their_thread(self, index: SearchIndex) -> None:
        read_threads(
            index, comment("k1", "Is this **right**?", quote="The sluice opens at noon."), comment("k2", "Thanks")
        )
        read_replies(index, "k1", "Yes, says the lockkeeper.", "Good.")
        (hit,) = await find(index, "lockkeeper")
        assert (hit.kind, hit.id, hit.text_kind, hit.author) == ("thread", "k1", "reply", "Tom Hale")
        assert (hit.title, hit.page_id, hit.block_key) == ("Harbour", "p1", "n-k1")
        (hit,) = await find(index, "sluice")
        assert (hit.id, hit.text_kind, hit.snippet) == ("k1", "quote", "The sluice opens at noon.")
        (hit,) = await find(index, "right")
        assert (hit.id, hit.text_kind, hit.about) == ("k1", "comment", "open")
        assert dict(await index.replies()) == {(HERE, "k1"): ("Yes, says the lockkeeper.", "Good.")}

    async def test_threads_of_a_change_request_are_found_in_it(self, index: SearchIndex) -> None:
        there = ChangeRequestRef(space_id="docs", change_request_id="c7")
        read_threads(index, comment("k1", "anchor"), at=there)
        read_threads(index, comment("k1", "anchor"))
        read_replies(index, "k1", "chain", at=there)
        assert {hit.at for hit in await find(index, "anchor")} == {HERE, there}
        assert [hit.at for hit in await find(index, "chain")] == [there]

    async def test_change_request_is_found_by_number_subject_and_description(self, index: SearchIndex) -> None:
        change = ChangeRequest(
            id="c7", number=7, subject="Show refused times", space="docs", status="open", created_by=MIA
        )
        index.add(
            change_requests.ListOfOrganization(at=OrganizationRef(organization_id="o")),
            ListPage[ChangeRequest](items=(change,)),
        )
        for typed in ("#7", "refused", "7 times"):
            (hit,) = await find(index, typed)
            assert (hit.kind, hit.id, hit.number, hit.title, hit.about) == (
                "change request", "c7", 7, "Show refused times", "open",
            )  # fmt: skip

    async def test_page_that_was_never_loaded_is_found_by_title(self, index: SearchIndex) -> None:
        tree = PageTree(pages=(Page(id="p1", title="Harbour", pages=(Page(id="p2", title="Tide tables"),)),))
        index.add(content.ListPages(at=HERE), tree)
        (hit,) = await find(index, "tables")
        assert (hit.id, hit.text_kind, hit.known_at) == ("p2", "page", None)
        extent = await index.counts()
        assert (extent.pages, extent.threads) == (0, 0)

    async def test_search_is_limited_to_kinds_and_spaces(self, index: SearchIndex) -> None:
        read_page(index, "buoy")
        read_page(index, "buoy", at=SpaceRef(space_id="other"), id="p9")
        read_threads(index, comment("k1", "buoy"))
        assert await find_ids(index, "buoy", kinds=("thread",)) == ["k1"]
        assert await find_ids(index, "buoy", spaces=("other",)) == ["p9"]
        assert await find_ids(index, "buoy", spaces=()) == []
        assert len(await find_ids(index, "buoy", limit=2)) == 2

    async def test_page_with_many_matches_leaves_room_for_others(self, index: SearchIndex) -> None:
        read_page(index, "\n".join(f"## Part {number}\n\nbuoy buoy buoy\n" for number in range(30)))
        read_page(index, "A page with many words, and among them a buoy.", id="p2")
        assert await find_ids(index, "buoy") == ["p1", "p1", "p1", "p2"]


@pytest.mark.parametrize(
    ("text", "typed", "marked"),
    [
        ("Über die Brücke", "brucke uber", ["Über", "Brücke"]),
        ("Cafe\u0301 am Kai", "CAFÉ", ["Cafe\u0301"]),
        ("the configuration file", "config", ["config"]),
        ("set max_open_files here", "open_files", ["open_files"]),
        ("set max_open_files here", "files", ["files"]),
        ("港の灯台は古い。", "灯台", ["灯台"]),
        ("使用API文档", "api", ["API"]),
        ("부두에서 만나요", "부두", ["부두"]),
        ("на причале", "ПРИЧАЛ", ["причал"]),
        ("नाव हिन्दी में", "हिन्दी", None),
        ("it's Tom's boat", "tom's", ["Tom's"]),
        ("a-b test", "b", ["b"]),
        ("call getStationId first", "station", ["Station"]),
        ("call getStationId first", "stationid", ["StationId"]),
        ("call getStationId first", "getSta", ["getSta"]),
        ("call getStationId first", "id call", ["call", "Id"]),
        ("call getStationId first", "get_station", ["getStation"]),
        ("read station_id and max_id", "station", ["station"]),
        ("use the HTTPServer of GitHub", "server hub", ["Server", "Hub"]),
        ("set STATION_ID or Station2Name", "name station", ["STATION", "Station", "Name"]),
        ("call client.getStationId()", "client.getStationId()", ["client.getStationId"]),
        ("die fahrkarteÜbersicht", "ubersicht", ["Übersicht"]),
        ("written in C++ and C", "c++", ["C++"]),
        ("written in C# and C", "C#", ["C#"]),
        ("C++17, F#/C# and g++.", "c++ c#", ["C++", "C#"]),
        ("C++17, F#/C# and g++.", "c++17", ["C++17"]),
        ("C++17, F#/C# and g++.", "f#/c#", ["F#/C#"]),
        ("open Notepad++ now", "notepad", ["Notepad"]),
    ],
)
async def test_text_is_found_in_every_notation(
    index: SearchIndex, text: str, typed: str, marked: list[str] | None
) -> None:
    read_page(index, f"Before.\n\n{text}\n\nAfter.")
    (hit,) = await find(index, typed)
    assert marked is None or marked_words(hit) == marked


@pytest.mark.parametrize(
    "typed",
    ["title:quay", '"quay" "tide"', "quay*", "-quay", "quay NEAR tide", "quay OR boat", "NOT quay", "(quay", '"', "*", "^quay",
     "{words} : quay", "'; DROP TABLE documents; --", "quay AND", "\x00quay", "quay\ud800", "𞤀𞤁", "𞤀 quay", "😀", "a" * 5000, "ß İ ﬁ"],
)  # fmt: skip
async def test_typed_text_is_never_query_syntax(index: SearchIndex, typed: str) -> None:
    read_page(index, f"The quay near the tide or boat and not title words {typed.encode('utf-8', 'replace').decode()}")
    await find(index, typed)
    assert index.unusable_reason == ""
    assert await find_ids(index, "quay tide near") == ["p1"]
    assert await find_ids(index, "quay AND whale") == []


async def test_single_letter_matches_a_word_and_no_prefix(index: SearchIndex) -> None:
    read_page(index, "Vitamin C")
    read_page(index, "Cats", id="p2")
    assert await find_ids(index, "c") == ["p1"]
    assert sorted(await find_ids(index, "ca")) == ["p2"]
    assert await find_ids(index, "ca vitamin") == []


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("vitamin C, and c in water", "c++"),
        ("vitamin C, and c in water", "c#"),
        ("C++ only", "c#"),
        ("URLs and APIs", "is"),
        ("substation", "station"),
        ("getStationId", "tation"),
        ("aGVsbG8gd29ybGQgYW5kIGFsbCBvZiBpdCBpcyBpbiBiYXNlNjQgaGVyZQ", "vsb"),
    ],
)
async def test_other_words_are_not_found(index: SearchIndex, text: str, typed: str) -> None:
    read_page(index, text)
    assert await find_ids(index, typed) == []


async def test_page_title_in_camel_case_is_found_by_its_parts(index: SearchIndex) -> None:
    tree = PageTree(pages=(Page(id="p1", title="stationList"), Page(id="p2", title="The useState hook")))
    index.add(content.ListPages(at=HERE), tree)
    assert await find_ids(index, "list") == ["p1"]
    assert await find_ids(index, "state") == ["p2"]


async def test_whole_word_ranks_before_a_part_of_a_word(index: SearchIndex) -> None:
    read_page(index, "Call getStationId.", id="p1")
    read_page(index, "The station is open.", id="p2")
    assert await find_ids(index, "station") == ["p2", "p1"]


async def test_found_page_has_its_path(index: SearchIndex) -> None:
    below = Page(id="p2", title="Overview", path="api/overview", git=Git(path="api/overview.md"))
    tree = PageTree(pages=(Page(id="p1", title="API", path="api", pages=(below,)),))
    index.add(content.ListPages(at=HERE), tree)
    index.flush()
    assert await index.page_names("docs") == (
        ("p1", "API", "api/", ""),
        ("p2", "Overview", "api/overview", "api/overview.md"),
    )
    assert [hit.page_path for hit in await find(index, "overview")] == ["api/overview"]
    moved = below.model_copy(update={"path": "cli/overview"})
    index.add(content.ListPages(at=HERE), PageTree(pages=(moved,)))
    assert [hit.page_path for hit in await find(index, "overview")] == ["cli/overview"]


async def test_random_queries_never_fail(index: SearchIndex) -> None:
    chance = random.Random(7)
    alphabet = "ab \"'*-:(){}^.,~+/\\\x00\n\té漢字\u0301\u200b😀𝕏NEARANDORNOT"
    read_page(index, "".join(chance.choices(alphabet, k=2000)))
    for _ in range(300):
        typed = "".join(chance.choices(alphabet, k=chance.randrange(1, 30)))
        for hit in await find(index, typed):
            assert all(0 <= start < end <= len(hit.snippet) for start, end in hit.marks)
    assert index.unusable_reason == ""


class TestChanges:
    async def test_replaced_text_is_not_found(self, index: SearchIndex) -> None:
        read_page(index, "The old slipway.")
        read_threads(index, comment("k1", "gangway"))
        read_page(index, "The new jetty.")
        read_threads(index, comment("k1", "ladder"))
        assert await find_ids(index, "slipway") == []
        assert await find_ids(index, "gangway") == []
        assert await find_ids(index, "jetty") == ["p1"]
        assert await find_ids(index, "ladder") == ["k1"]

    async def test_thread_missing_in_a_complete_list_is_removed(self, index: SearchIndex) -> None:
        read_threads(index, comment("k1", "ladder"), comment("k2", "ladder"), comment("k3", "ladder", page="p2"))
        read_replies(index, "k2", "rope", "rope")
        read_threads(index, comment("k1", "ladder"), target_page="p1", status="all")
        assert sorted(await find_ids(index, "ladder")) == ["k1", "k3"]
        assert await find_ids(index, "rope") == []
        read_replies(index, "k1", "knot", "splice")
        read_replies(index, "k1", "knot")
        assert await find_ids(index, "splice") == []

    @pytest.mark.parametrize("asked", [{"status": "open"}, {"authors": ("tom",)}, {"page": "2"}])
    async def test_thread_missing_in_a_partial_list_is_kept(self, index: SearchIndex, asked: dict[str, Any]) -> None:
        read_threads(index, comment("k1", "ladder"), comment("k2", "ladder"))
        read_threads(index, comment("k1", "ladder"), **asked)
        op = comments.List(at=HERE)
        index.add(op, ListPage[Comment](items=(comment("k1", "ladder"),), next=NextCursor(page="2")))
        assert sorted(await find_ids(index, "ladder")) == ["k1", "k2"]

    async def test_deleted_pages_are_removed_and_renamed_pages_keep_their_text(self, index: SearchIndex) -> None:
        read_page(index, "slipway")
        read_page(index, "jetty", id="p2")
        index.add(content.ListPages(at=HERE), PageTree(pages=(Page(id="p1", title="Dock"),)))
        assert await find_ids(index, "jetty") == []
        assert [hit.title for hit in await find(index, "slipway")] == ["Dock"]
        assert await find_ids(index, "dock") == ["p1"]

    async def test_deleted_and_missing_items_are_removed(self, index: SearchIndex) -> None:
        read_page(index, "slipway")
        read_threads(index, comment("k1", "slipway"), comment("k2", "slipway"))
        read_replies(index, "k1", "slipway")
        index.remove_target(comments.Delete(at=HERE, comment_id="k1"))
        index.remove_target(content.GetPage(at=HERE, page_id="p1"))
        assert await find_ids(index, "slipway") == ["k2"]

    async def test_older_response_replaces_nothing(self, index: SearchIndex, clock: Clock) -> None:
        read_page(index, "jetty")
        index.flush()
        clock.forward(hours=-1)
        read_page(index, "slipway")
        assert await find_ids(index, "jetty") == ["p1"]

    async def test_oldest_documents_are_evicted_first(self, tmp_path: Path, clock: Clock) -> None:
        index = SearchIndex(tmp_path, max_documents=600, now=clock)
        for number in range(1200):
            clock.forward(seconds=1)
            read_page(index, f"buoy number{number}", id=f"p{number}")
            if number % 100 == 0:
                index.flush()
        assert await find_ids(index, "number0") == []
        assert await find_ids(index, "number1199") == ["p1199"]
        assert (await index.counts()).pages <= 600 + WRITES_PER_EVICTION
        index.close()
        small = SearchIndex(tmp_path / "small", max_letters=50_000, now=clock)
        for number in range(600):
            clock.forward(seconds=1)
            read_page(small, f"buoy number{number} {'x' * 200}", id=f"p{number}")
        small.flush()
        assert await find_ids(small, "number0") == []
        assert await find_ids(small, "number499") == ["p499"]
        small.close()


class TestUnusualResponses:
    """Unusual responses do not hide other documents."""

    @pytest.mark.parametrize(
        ("said", "wanted"),
        [
            ({"number": 10**30}, [("c1", 0, None)]),
            ({"subject": "slipway \ud800\0"}, [("c1", 0, None)]),
            ({"updatedAt": "0001-01-01T00:00:00+14:00"}, [("c1", 0, datetime(1, 1, 1, tzinfo=UTC))]),
            ({"updatedAt": "9999-12-31T23:59:59-12:00"}, [("c1", 0, datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC))]),
            ({"updatedAt": "9999-12-31T23:59:59.999999Z"}, [("c1", 0, datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC))]),
        ],
    )
    async def test_values_that_sqlite_cannot_store_do_not_fail(
        self, index: SearchIndex, said: dict[str, Any], wanted: list[Any]
    ) -> None:
        op = change_requests.List(at=HERE)
        answer = json.dumps({"items": [{"id": "c1", "subject": "slipway", **said}]})
        index.add(op, decode_response(SPECS[type(op)].codec, answer.encode()))
        assert [(hit.id, hit.number, hit.changed_at) for hit in await find(index, "slipway")] == wanted
        assert index.unusable_reason == ""

    async def test_duplicate_thread_in_a_list_is_found_once(self, index: SearchIndex) -> None:
        read_threads(index, comment("k1", "ladder"), comment("k2", "ladder"), comment("k1", "rope"))
        assert await find_ids(index, "ladder") == ["k2"]
        assert await find_ids(index, "rope") == ["k1"]
        assert index.unusable_reason == ""

    async def test_ids_that_differ_in_spaces_are_distinct(self, index: SearchIndex) -> None:
        read_threads(index, comment("k", "ladder"), at=ChangeRequestRef(space_id="docs", change_request_id="a  b"))
        read_threads(index, comment("b  k", "ladder"), at=ChangeRequestRef(space_id="docs", change_request_id="a"))
        assert sorted(await find_ids(index, "ladder")) == ["b  k", "k"]

    async def test_search_in_more_spaces_than_an_sql_statement_allows(self, index: SearchIndex) -> None:
        read_page(index, "slipway")
        spaces = ["docs", *map(str, range(250_000))]
        assert await find_ids(index, "slipway", spaces=spaces) == ["p1"]
        assert (await index.counts(spaces)).pages == 1
        assert index.unusable_reason == ""


class TestIndexFile:
    async def test_index_survives_a_restart_and_is_readable_by_its_owner_only(
        self, tmp_path: Path, index: SearchIndex
    ) -> None:
        read_page(index, "slipway")
        index.flush()
        files = list((tmp_path / "cache").iterdir())
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
        index.close()
        again = SearchIndex(tmp_path / "cache", "mia@test")
        assert await find_ids(again, "slipway") == ["p1"]
        again.close()

    async def test_profiles_are_separate_and_can_be_deleted_completely(
        self, tmp_path: Path, index: SearchIndex
    ) -> None:
        read_page(index, "slipway")
        index.flush()
        tom = SearchIndex(tmp_path / "cache", "tom@test")
        read_page(tom, "jetty")
        assert await find_ids(tom, "slipway") == []
        index.close()
        SearchIndex(tmp_path / "cache", "mia@test").delete_file()
        again = SearchIndex(tmp_path / "cache", "mia@test")
        assert await find_ids(again, "slipway") == []
        assert await find_ids(tom, "jetty") == ["p1"]
        again.close()
        tom.close()

    async def test_older_index_is_deleted(self, tmp_path: Path) -> None:
        (tmp_path / "index-v0-abc.db").write_text("old")
        (tmp_path / "other.db").write_text("not ours")
        index = SearchIndex(tmp_path)
        read_page(index, "slipway")
        index.flush()
        index.close()
        assert not (tmp_path / "index-v0-abc.db").exists()
        assert (tmp_path / "other.db").exists()

    async def test_new_index_is_filled_from_cached_responses(self, tmp_path: Path, clock: Clock) -> None:
        cache = ResponseCache(tmp_path, "mia", now=clock)
        thread = comment("k1", "ladder")
        cache.put(comments.List(at=HERE), ListPage[Comment](items=(thread,)))
        for number in range(50):
            op = content.GetPage(at=HERE, page_id=f"p{number}", format="markdown")
            cache.put(op, Page(id=f"p{number}", title=f"Page {number}", markdown=f"slipway number{number}"))
        cache.flush()
        index = SearchIndex(tmp_path, "mia", read_cached=cache.responses_after, now=clock)
        await index.search("slipway")
        for _ in range(10):
            index.flush()
        assert await find_ids(index, "number49") == ["p49"]
        assert await find_ids(index, "ladder") == ["k1"]
        assert (await index.counts()).pages == 50
        index.close()
        cache.close()

    async def test_damaged_cache_does_not_make_the_index_unusable(self, tmp_path: Path, clock: Clock) -> None:
        cache = ResponseCache(tmp_path, "mia", now=clock)
        op, page = content.GetPage(at=HERE, page_id="p1", format="markdown"), Page(id="p1", markdown="slipway")
        cache.put(op, page)
        cache.flush()
        damage_cache_files(tmp_path)
        index = SearchIndex(tmp_path, "mia", read_cached=cache.responses_after, now=clock)
        index.add(op, page)
        for _ in range(10):
            index.flush()
        assert await find_ids(index, "slipway") == ["p1"]
        assert index.unusable_reason == ""
        index.close()
        cache.close()

    async def test_responses_not_indexed_before_the_end_are_indexed_by_the_next_run(
        self, tmp_path: Path, clock: Clock
    ) -> None:
        cache = ResponseCache(tmp_path, "mia", now=clock)
        index = SearchIndex(tmp_path, "mia", read_cached=cache.responses_after, now=clock)
        await index.search("slipway")
        index.flush()
        for number in range(200):
            op = content.GetPage(at=HERE, page_id=f"p{number}", format="markdown")
            page = Page(id=f"p{number}", title=f"Page {number}", markdown=f"slipway number{number}")
            cache.put(op, page)
            index.add(op, page)
        index.close()
        cache.flush()
        again = SearchIndex(tmp_path, "mia", read_cached=cache.responses_after, now=clock)
        await again.search("slipway")
        for _ in range(20):
            again.flush()
        assert (await again.counts()).pages == 200
        again.close()
        cache.close()

    async def test_responses_not_indexed_before_a_kill_are_indexed_by_the_next_run(
        self, tmp_path: Path, clock: Clock
    ) -> None:
        cache = ResponseCache(tmp_path, "mia", now=clock)
        ended, killed, later = (
            SearchIndex(tmp_path, "mia", read_cached=cache.responses_after, now=clock) for _ in range(3)
        )
        for index in (ended, killed):
            for _ in range(3):
                await index.search("slipway")
                index.flush()
            if index is ended:
                index.close()
        cache.put(content.GetPage(at=HERE, page_id="p1", format="markdown"), Page(id="p1", markdown="slipway"))
        cache.flush()
        for _ in range(3):
            await later.search("slipway")
            later.flush()
        assert await find_ids(later, "slipway") == ["p1"], "the killed process has not indexed it"
        later.close()
        killed.close()
        cache.close()

    async def test_finished_index_without_updates_is_not_filled_again(self, tmp_path: Path, clock: Clock) -> None:
        cache = ResponseCache(tmp_path, "mia", now=clock)
        ended, later = (SearchIndex(tmp_path, "mia", read_cached=cache.responses_after, now=clock) for _ in range(2))
        for _ in range(3):
            await ended.search("slipway")
            ended.flush()
        ended.finish_writing()
        cache.put(content.GetPage(at=HERE, page_id="p1", format="markdown"), Page(id="p1", markdown="slipway"))
        cache.flush()
        for _ in range(3):
            await later.search("slipway")
            later.flush()
        assert await find_ids(later, "slipway") == [], "the finished process has indexed everything"
        for each in (ended, later, cache):
            each.close()

    async def test_finished_index_without_a_file_creates_no_file(self, tmp_path: Path) -> None:
        SearchIndex(tmp_path).finish_writing()
        assert _files(tmp_path, "*") == []

    async def test_damaged_index_is_usable_again(self, tmp_path: Path) -> None:
        index = SearchIndex(tmp_path)
        for number in range(100):
            read_page(index, f"slipway number{number} " * 20, id=f"p{number}")
        index.flush()
        index.close()
        (path,) = _files(tmp_path)
        whole = path.read_bytes()
        chance = random.Random(3)
        lost = 0
        for number in range(30):
            broken = bytearray(whole)
            if number % 3 == 0:
                broken = broken[: chance.randrange(1, len(broken))]
            elif number % 3 == 1:
                for _ in range(20):
                    at = chance.randrange(len(broken) - 200)
                    broken[at : at + 200] = chance.randbytes(200)
            else:
                broken[: chance.randrange(1, 200)] = b"?" * 10
            for part in _files(tmp_path, "*"):
                part.unlink()
            path.write_bytes(broken)
            again = SearchIndex(tmp_path)
            lost += not await find(again, "slipway")
            for _ in range(4):  # Each attempt may find more damage.
                read_page(again, "jetty", id="new")
                if await find_ids(again, "jetty") == ["new"]:
                    break
            else:
                raise AssertionError(f"round {number}: {again.unusable_reason}")
            assert again.unusable_reason == ""
            again.close()
        assert lost > 10

    @pytest.mark.parametrize("there", ["a file", "nothing"])
    async def test_index_without_a_folder_works(self, tmp_path: Path, there: str) -> None:
        folder = None
        if there == "a file":
            folder = tmp_path / "file" / "cache"
            (tmp_path / "file").write_text("")
        index = SearchIndex(folder)
        read_page(index, "slipway")
        assert await find_ids(index, "slipway") == ([] if folder else ["p1"])
        assert ("is unusable" in index.unusable_reason) == (folder is not None)
        index.close()

    async def test_closed_index_finds_nothing_and_does_not_fail(self, tmp_path: Path) -> None:
        index = SearchIndex(tmp_path)
        read_page(index, "slipway")
        index.close()
        read_page(index, "jetty")
        assert await index.search("jetty") == ()

    @pytest.mark.parametrize(
        "time", range(10)
    )  # repeated, since both instances create the file at the same time only sometimes
    async def test_two_instances_share_an_index(self, tmp_path: Path, time: int) -> None:
        one, other = SearchIndex(tmp_path, "mia"), SearchIndex(tmp_path, "mia")
        read_page(one, "slipway")
        read_page(other, "jetty", id="p2")
        one.flush()
        other.flush()
        assert await find_ids(one, "jetty") == ["p2"]
        assert await find_ids(other, "slipway") == ["p1"]
        one.close()
        other.close()


class TestExcerpts:
    def test_excerpt_shows_the_most_matches(self) -> None:
        text = "tide " + "nothing here " * 40 + "the table of the tide hangs there " + "and more of it " * 40
        snippet, marks = SearchTerms("tide table").excerpt(text, 80)
        assert "table of the tide" in snippet
        assert snippet.startswith("…")
        assert snippet.endswith("…")
        assert [snippet[start:end] for start, end in marks] == ["table", "tide"]
        assert len(snippet) <= 82

    def test_short_text_is_the_whole_excerpt(self) -> None:
        assert SearchTerms("b").excerpt("a\n b  c", 80) == ("a b c", (Range(2, 3),))

    def test_marks_move_with_the_titles_of_mentions(self) -> None:
        text = f"tide {encode_mention('a.md')} tide {encode_mention('gone/b.md')} tide"
        snippet, marks = SearchTerms("tide").excerpt(text, 200)
        said, marks = with_titles(snippet, {"a.md": "The long title of a page"}.get, marks)
        assert said == "tide The long title of a page tide b tide"
        assert [said[start:end] for start, end in marks] == ["tide"] * 3

    @pytest.mark.parametrize("length", range(40, 70))
    def test_excerpt_cuts_no_mention(self, length: int) -> None:
        text = f"{'word ' * 20} tide {encode_mention('../a/b/c/d.md#e')} {'word ' * 20}"
        snippet, _ = SearchTerms("tide").excerpt(text, length)
        assert set(mentioned_urls(snippet)) <= {"../a/b/c/d.md#e"}

    def test_match_at_the_end_of_a_text_is_at_the_beginning_of_the_excerpt(self) -> None:
        """The list of results cuts an excerpt of 160 characters, so the row did not show the match."""
        snippet, marks = SearchTerms("tide").excerpt("harbour " * 60 + "tide", 160)
        assert snippet[marks[0].start :] == "tide"
        assert marks[0].end < 60

    def test_excerpt_shows_the_word_after_letters_that_are_compared_as_two(self) -> None:
        text = f"{'Straße und Maß, ' * 60}webhook {'and more ' * 60}"
        assert "webhook" in SearchTerms("Webhook").excerpt(text, 160)[0]

    def test_word_longer_than_the_excerpt_is_cut(self) -> None:
        snippet, marks = SearchTerms("x" * 200).excerpt("y " * 100 + "x" * 500, 80)
        assert marks
        assert all(end <= len(snippet) for _, end in marks)


def test_sqlite_has_full_text_search() -> None:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5 (a, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3')")
    assert db.execute("SELECT value FROM json_each('[\"docs\"]')").fetchall() == [("docs",)]
    db.close()


@pytest.mark.parametrize("stored", [0, 1])
@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
async def test_text_matches_letters_that_look_alike(index: SearchIndex, pair: tuple[str, str], stored: int) -> None:
    there, typed = pair[stored], pair[1 - stored]
    read_page(index, f"Before {there} after.")
    read_threads(index, comment("k1", f"İß {there}"))
    hits = await find(index, typed)
    assert {hit.kind for hit in hits} == {"page", "thread"}
    for hit in hits:
        assert " ".join(safe_text(there).split()) in hit.snippet  # The snippet has the original letters.
        assert set("".join(marked_words(hit))) >= set("".join(safe_text(there).split())) - set("-‐‑'’“”\"")


async def test_letters_that_keyboards_lack_are_found_by_plain_letters(index: SearchIndex) -> None:
    read_page(index, "The keeper of Łódź drank smørrebrød, a hors d’œuvre.", id="p1", title="Wały")
    for typed, words in (
        ("lodz", ["Łódź"]),
        ("oeuvre", ["œuvre"]),
        ("oeuv", ["œuv"]),
        ("œuvre", ["œuvre"]),
        ("Łódź", ["Łódź"]),
        ("smorrebrod", ["smørrebrød"]),
        ("waly", []),
    ):
        (hit, *_) = await find(index, typed)
        assert marked_words(hit) == words


def read_other_pages(index: SearchIndex) -> None:
    for number in range(20):
        read_page(index, "Ships pass by all day.", id=f"other-{number}", title="Ships")


async def test_text_with_the_words_in_a_row_is_first(index: SearchIndex) -> None:
    read_other_pages(index)
    read_page(index, "A peer looks to a peer.", id="p1", title="Adding")
    read_page(index, f"{'Ships pass by all day. ' * 3}Use it from peer to peer.", id="p2", title="Net")
    assert await find_ids(index, "peer to peer") == ["p2", "p1"]


async def test_page_named_like_the_words_is_first(index: SearchIndex) -> None:
    read_page(index, "It has a queue.", id="p1", title="sgns::TransactionManager")
    for number in range(2, 9):
        body = "GetTransactionManagerState returns the state of the transaction manager. " * 3
        read_page(index, body, id=f"p{number}", title=f"Node {number}")
    assert (await find_ids(index, "transaction manager"))[0] == "p1"


async def test_name_between_letters_without_spaces_counts_once(index: SearchIndex) -> None:
    read_other_pages(index)
    read_page(index, "Text.", id="p1", title="一、蓝莺IM和企业级ChatAI SDK")
    read_page(index, "Text.", id="p2", title="蓝莺IM：自建聊天服务器")
    assert await find_ids(index, "蓝莺IM") == ["p2", "p1"]


async def test_formula_of_a_snippet_is_whole_and_in_its_own_notation(index: SearchIndex) -> None:
    formula = r"\frac{tide_{1}*x}{2} \ge \{a\,|\,b\}"
    read_page(
        index, f"{'Some words. ' * 20}The **height** is $$\\alpha {formula}$$ at noon. {'More words. ' * 20}", id="p1"
    )
    read_page(index, f"Two lines:\n\n$$\n{formula}\n= beta\n$$\n\nAnd gamma.", id="p2")
    (hit,) = await find(index, "alpha", snippet_length=60)
    assert f"is $$\\alpha {formula}$$" in hit.snippet
    (hit,) = await find(index, "gamma")
    assert hit.snippet == f"Two lines: $$ {formula} = beta $$ And gamma."


def test_formulas_of_a_text_are_replaced_and_marked_as_a_whole() -> None:
    text = "Let $$a_1$$ be $$b$$ here"
    marks = (Range(0, 3), Range(6, 7), Range(20, 24))
    words, moved = with_formulas(text, lambda source: f"<{source}!>", marks)
    assert words == "Let <a_1!> be <b!> here"
    assert [words[start:end] for start, end in moved] == ["Let", "<a_1!>", " her"]
