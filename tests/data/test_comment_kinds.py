"""Recognition of the user's own comments on the server."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.api import comments
from octavo.api.bodies import Body, Markdown
from octavo.api.comments import Comment, Reaction, Target, TargetPage, UserReaction
from octavo.api.operation import SpaceRef
from octavo.api.users import User
from octavo.data.writes.comment_kinds import emoji_key, find_created, is_applied, normalize
from octavo.data.writes.machine import ExpectedState, WriteAttempt
from tests.server.small_platform import START

HERE = SpaceRef(space_id="docs")
ME, ADA = User(id="mia"), User(id="ada")


def comment(comment_id: str, words: str, author: User = ME, minutes: int = 1, page: str | None = None) -> Comment:
    target = Target(page=TargetPage(id=page)) if page else Target()
    posted = START + timedelta(minutes=minutes)
    return Comment(id=comment_id, body=Body(markdown=words), posted_by=author, posted_at=posted, target=target)


def find(words: str, *there: Comment, page: str | None = None, **more: Any) -> str | None:
    op = comments.Create(at=HERE, body=Markdown(markdown=words), page=page)
    it = find_created(WriteAttempt(op, **{"my_id": "mia", **more}), there)
    return it.id if it else None


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("Hello", "Hello"),
        ("  Hello\n", "Hello"),
        ("one\r\ntwo", "one\ntwo"),
        ("cafe\u0301", "caf\u00e9"),
        ("bell\x07", "bell\x07"),
        ("* one\n* two", "- one\n- two"),
        ("_soft_ and **hard**", "*soft* and **hard**"),
        ("+1", "+1"),
        ("👍", "👍"),
    ],
)
def test_comment_is_found_after_the_server_normalized_its_text(written: str, stored: str) -> None:
    assert find(written, comment("k1", "Another"), comment("k2", stored)) == "k2"


@pytest.mark.parametrize("stored", ["Hello!!! You", "", "Hell"])
def test_other_text_is_another_comment(stored: str) -> None:
    assert find("Hello", comment("k1", stored)) is None
    assert find("!!!", comment("k1", "???")) is None


def test_only_new_comments_of_the_user_match() -> None:
    it = comment("k1", "Hello")
    assert find("Hello", it) == "k1"
    assert find("Hello", it, baseline=("k1",)) is None
    assert find("Hello", it, other_created_ids=frozenset({"k1"})) is None
    assert find("Hello", it, newest_at=START + timedelta(minutes=4)) is None
    assert find("Hello", it, newest_at=START + timedelta(minutes=2)) == "k1", "one machine's clock is behind another's"
    assert find("Hello", it, page="usage") is None
    assert find("Hello", comment("k1", "Hello", page="usage")) is None
    assert find("Hello", comment("k1", "Hello", page="usage"), page="usage") == "k1"
    assert find("Hello", comment("k1", "Hello", ADA)) is None
    assert find("Hello", comment("k1", "Hello", ADA), my_id=None) == "k1"


def test_comment_with_the_exact_text_is_preferred_then_the_oldest() -> None:
    assert find("a *b*", comment("k1", "a _b_", minutes=1), comment("k2", "a *b*", minutes=2)) == "k2"
    assert find("Hello", comment("k2", "Hello", minutes=2), comment("k1", "Hello", minutes=1)) == "k1"


@given(st.text())
def test_normal_is_idempotent(words: str) -> None:
    assert normalize(normalize(words)) == normalize(words)


@given(st.text(st.characters(min_codepoint=0x2600, max_codepoint=0x1FAFF), min_size=1, max_size=4))
def test_emoji_and_its_code_points_have_one_key(emoji: str) -> None:
    assert emoji_key("-".join(f"{ord(each):x}" for each in emoji)) == emoji_key(emoji)


def test_variants_of_an_emoji_have_one_key() -> None:
    assert emoji_key("1f44d") == emoji_key("👍")
    assert emoji_key("2764-fe0f") == emoji_key("❤") == emoji_key("❤️")


def test_state_that_is_already_reached_is_recognized() -> None:
    now = comment("k1", "Hello").model_copy(
        update={"reactions": (Reaction(emoji="1f44d", count=1, users=(UserReaction(user=ME),)),)}
    )

    def is_reached(**changes: Any) -> bool:
        return is_applied(WriteAttempt(comments.Update(at=HERE, comment_id="k1", **changes), my_id="mia"), now)

    assert is_reached(resolved=False)
    assert is_reached(added_reactions=("👍",))
    assert is_reached(removed_reactions=("🎉",))
    assert is_reached(body=Markdown(markdown="Hello "))
    assert not is_reached(resolved=True)
    assert not is_reached(added_reactions=("🎉",))
    assert not is_reached(removed_reactions=("👍",))
    assert not is_reached(body=Markdown(markdown="Hello!"))
    assert not is_reached(resolved=False, body=Markdown(markdown="Bye"))


def test_edit_returned_with_other_markup_is_applied() -> None:
    op = comments.Update(at=HERE, comment_id="k1", body=Markdown(markdown="_New_ words"))
    now = comment("k1", "*New* words")
    assert is_applied(WriteAttempt(op, ExpectedState("Old words"), my_id="mia"), now, was_sent=True)
    assert not is_applied(WriteAttempt(op, ExpectedState("Old words"), my_id="mia"), now)
    assert not is_applied(WriteAttempt(op, ExpectedState("New words"), my_id="mia"), now, was_sent=True)
