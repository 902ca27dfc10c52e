from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.api.errors import PaginationError
from octavo.api.operation import MAX_ITEMS, MAX_PAGES, MAX_STALE_PAGES, walk_pages

Page = tuple[Sequence[str], object]


async def read_all(
    script: Sequence[Page], tail: str = "", max_pages: int = MAX_PAGES, max_items: int = MAX_ITEMS
) -> tuple[list[str], str, int]:
    """Return the items, the error, and the number of requested pages. `tail` is the response after the script."""
    asked: list[str | None] = []

    async def fetch(cursor: str | None) -> Page:
        asked.append(cursor)
        n = len(asked) - 1
        if n < len(script):
            return script[n]
        return {"endless": ([f"e{n}"], f"z{n}"), "empty": ([], f"z{n}")}.get(tail, ([], None))

    items: list[str] = []
    try:
        async for fresh in walk_pages(fetch, str, max_pages=max_pages, max_items=max_items):
            items += fresh
    except PaginationError as error:
        return items, str(error), len(asked)
    return items, "", len(asked)


async def test_list_is_read_to_its_end() -> None:
    assert await read_all([("ab", "1"), ("c", "2"), ("d", None)]) == (["a", "b", "c", "d"], "", 3)


async def test_an_empty_page_is_not_the_end() -> None:
    assert await read_all([("", "1"), ("", "2"), ("c", None)]) == (["c"], "", 3)


async def test_repeated_items_are_yielded_once() -> None:
    assert await read_all([("ab", "1"), ("bc", "2"), ("cd", None)]) == (["a", "b", "c", "d"], "", 3)


@pytest.mark.parametrize(
    "script",
    [[("a", "1"), ("b", "1")], [("a", "A"), ("b", "B"), ("c", "A")]],
    ids=["the same", "round and round"],
)
async def test_repeated_cursor_ends_the_list(script: list[Page]) -> None:
    items, problem, _ = await read_all(script, "endless")
    assert items == [item for page in script for item in page[0]]
    assert "same part of the list twice" in problem


@pytest.mark.parametrize("cursor", [5, "", "x" * 4097, {"page": "1"}, True])
async def test_invalid_cursor_ends_the_list(cursor: object) -> None:
    items, problem, asked = await read_all([("a", cursor)])
    assert (items, asked) == (["a"], 1)
    assert "sent an invalid cursor" in problem


async def test_pages_without_new_items_end_the_list() -> None:
    assert (await read_all([("a", "1")], "empty"))[1:] == (
        "The server sent no new items. Only 1 item could be loaded.",
        1 + MAX_STALE_PAGES,
    )


async def test_endless_list_is_stopped() -> None:
    items, problem, asked = await read_all([], "endless", max_pages=50)
    assert (len(items), asked) == (50, 50)
    assert "too long" in problem
    items, problem, _ = await read_all([], "endless", max_items=20)
    assert len(items) == 20


SERVERS = (
    st.lists(
        st.tuples(
            st.lists(st.sampled_from("abcdefghij"), max_size=4),
            st.one_of(st.none(), st.sampled_from("abcd"), st.text(max_size=3), st.integers()),
        ),
        max_size=12,
    ),
    st.sampled_from(["", "endless", "empty"]),
)


@settings(max_examples=50, deadline=None)
@given(*SERVERS)
async def test_reading_ends_for_any_server(script: list[Page], tail: str) -> None:
    items, _, asked = await read_all(script, tail, max_pages=30)
    assert asked <= 30
    assert len(items) == len(set(items))


@pytest.mark.long
@settings(max_examples=3000, deadline=None)
@given(*SERVERS)
async def test_reading_ends_for_many_random_servers(script: list[Page], tail: str) -> None:
    items, _, asked = await read_all(script, tail, max_pages=30)
    assert asked <= 30
    assert len(items) == len(set(items))
