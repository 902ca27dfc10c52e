"""Filters and sort orders of threads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from octavo.api.bodies import Body
from octavo.api.comments import Comment, Target, TargetNode, TargetPage
from octavo.api.operation import SpaceRef
from octavo.api.users import User
from octavo.documents.suggestions import mention_suffix, one_line_text
from octavo.tui.comments.autocomplete import mention_markdown
from octavo.tui.comments.thread_filters import (
    ORDERS,
    Thread,
    ThreadFilter,
    all_filters,
    discussion_headings,
    is_in_section,
)
from octavo.tui.widgets.row_list import available_filters, filter_items

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ADA, TOM = User(id="ada", display_name="Ada"), User(id="tom", display_name="Tom")


def thread(
    key: str,
    by: User = ADA,
    *,
    days: float | None = 0,
    replies: int = 0,
    place: str = "GUIDE",
    space: str = "s",
    page: str = "Start",
    text: str = "Why?",
    outdated: bool = False,
    whole: bool = False,
    status: str = "open",
) -> Thread:
    comment = Comment(
        id=key,
        body=Body(markdown=text),
        posted_by=by,
        posted_at=None if days is None else NOW - timedelta(days=days),
        replies=replies,
        status=status,
        target=Target(
            page=TargetPage(id=page, title=page, outdated=outdated), node=None if whole else TargetNode(id="n")
        ),
    )
    return Thread(comment, SpaceRef(space_id=space), place)


THREADS = [
    thread("a", days=0.5, replies=2),
    thread("b", TOM, days=3, page="End", text=f"See [@Ada{mention_suffix('ada')}."),
    thread("c", TOM, days=12, place="NEWS", outdated=True),
    thread("d", days=None, place="NEWS", whole=True, replies=1),
]


def keys(threads: list[Thread]) -> str:
    return "".join(each.comment.id for each in threads)


def offered(*active: ThreadFilter) -> list[tuple[ThreadFilter, int]]:
    return available_filters(all_filters(THREADS, NOW, "ada"), THREADS, active)


def test_each_available_filter_counts_its_matches() -> None:
    matches = {each.name: keys(filter_items(THREADS, [each])) for each, _ in offered()}
    assert matches == {
        "without replies": "bc",
        "with replies": "ad",
        "outdated": "c",
        "not on a block": "d",
        "mentioning me": "b",
        "from the last 24 hours": "a",
        "from the last 7 days": "ab",
        "older than 7 days": "cd",
        "older than 30 days": "d",
        "by Ada": "ad",
        "by Tom": "bc",
        "in GUIDE": "ab",
        "in NEWS": "cd",
    }
    assert all(count == len(matches[each.name]) for each, count in offered())


def test_active_filter_can_be_replaced_by_its_kind_or_combined() -> None:
    by_tom = next(each for each, _ in offered() if each.name == "by Tom")
    more = {each.name: count for each, count in offered(by_tom)}
    assert more["in GUIDE"] == 1
    assert more["by Ada"] == 2
    assert "by Tom" not in more
    assert "with replies" not in more, "a filter that leaves no thread must not be offered"
    in_news = next(each for each, _ in offered(by_tom) if each.name == "in NEWS")
    assert keys(filter_items(THREADS, [by_tom, in_news])) == "c"


def test_each_sort_order_sorts_the_threads() -> None:
    expected = {name: keys(sorted(THREADS, key=sort_key)) for name, (_, sort_key) in ORDERS.items()}
    assert expected == {"place": "bacd", "newest": "abcd", "oldest": "dcba", "answers": "adbc", "author": "adbc"}


def test_each_tab_lists_its_threads() -> None:
    threads = [*THREADS, thread("r", status="resolved")]
    expected = {
        name: keys([each for each in threads if is_in_section(each, name, "ada")])
        for name in ("open", "mine", "resolved", "all")
    }
    assert expected == {"open": "abcd", "mine": "ad", "resolved": "r", "all": "abcdr"}


def test_list_shows_the_text_of_links_and_mentions() -> None:
    eve = User(id="eve", display_name="Eve [of] *it*")
    assert mention_markdown(eve) == "[@Eve \\[of\\] \\*it\\*](/users/eve)"
    markdown = f'Ask {mention_markdown(TOM)},\nsee [the guide](https://example.com/a_b "x") or [a](b)!'
    assert one_line_text(markdown) == 'Ask @Tom, see [the guide](https://example.com/a_b "x") or a!'
    assert one_line_text("**Two** of *three* `a_b`, 2 * 3 * 4, **x") == "Two of three a_b, 2 * 3 * 4, **x"
    assert one_line_text("```npm i``` fails") == "npm i fails"
    assert one_line_text("*" * 50_000) == "*" * 50_000
    assert one_line_text(">" * 50_000) == ""
    assert (
        one_line_text("Why?\n\n> ```py\n> a = 1\n> b > 2\n> ```\n> said\n\nNot 3?") == "Why? a = 1 · b > 2 said Not 3?"
    )
    assert one_line_text("[" * 50_000) == "[" * 50_000


def test_heading_of_threads_without_a_date_has_no_age() -> None:
    dated, undated = thread("a", place="NEWS"), thread("b", days=None, place="NEWS")
    assert discussion_headings([undated])[undated.discussion_key].right == "1 thread"
    both, only = (
        discussion_headings([dated, undated])[dated.discussion_key],
        discussion_headings([dated])[dated.discussion_key],
    )
    assert both.right.partition(" · ")[2] == only.right.partition(" · ")[2] != ""


def test_spaces_and_pages_with_the_same_title_are_grouped_separately() -> None:
    threads = [thread("a"), thread("b", space="t"), thread("c"), thread("d", space="t")]
    threads.sort(key=ORDERS["place"][1])
    assert keys(threads) == "acbd"
    assert [(each.text, each.right[:9]) for each in discussion_headings(threads).values()] == [
        ("GUIDE", "2 threads")
    ] * 2
    assert len(set(discussion_headings(threads).values())) == 2
