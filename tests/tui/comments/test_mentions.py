"""Mentions are names in the composer and links in the sent text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from octavo.api.users import User
from octavo.tui.comments.autocomplete import MentionText, mention_markdown, with_names

ADA, LONG_NAME, NAME_TO_ESCAPE = (
    User(id="u1", display_name="Ada"),
    User(id="u2", display_name="Ada Lo"),
    User(id="a b", display_name="Ö_*[x]"),
)
PIECES = [
    mention_markdown(ADA),
    mention_markdown(LONG_NAME),
    mention_markdown(NAME_TO_ESCAPE),
    mention_markdown(User(id="u9", display_name="Ada")),
]
PIECES += ["@Ada", "@Ada Lo", " ", "a", "[", "]", "\\n", "\\", "@", "(/users/u1)", "`", "x@Ada"]


def test_mention_is_shown_as_a_name() -> None:
    writing = MentionText()
    text = f"{mention_markdown(ADA)}, {mention_markdown(LONG_NAME)} and {mention_markdown(NAME_TO_ESCAPE)}: look"
    assert writing.to_text(text) == with_names(text) == "@Ada, @Ada Lo and @Ö_*[x]: look"
    assert writing.to_markdown("@Ada, @Ada Lo and @Ö_*[x]: look") == text
    assert writing.to_markdown("(@Ada) @Adam me@Ada") == f"({mention_markdown(ADA)}) @Adam me@Ada"


def test_two_people_with_the_same_name_are_kept_apart() -> None:
    other = mention_markdown(User(id="u9", display_name="Ada"))
    writing = MentionText()
    assert writing.to_text(f"{mention_markdown(ADA)} {other}") == f"@Ada {other}"
    assert writing.to_markdown(f"@Ada {other}") == f"{mention_markdown(ADA)} {other}"


def test_name_in_code_does_not_become_a_mention() -> None:
    writing = MentionText()
    link = mention_markdown(ADA)
    assert writing.to_text(link) == "@Ada"
    for code in ("`@Ada`", "``a ` @Ada``", "```\n@Ada\n```", "~~~ py\n@Ada", "a\n```\n`\n@Ada\n```"):
        assert writing.to_markdown(f"@Ada\n{code}") == f"{link}\n{code}"
    assert writing.to_markdown("````\n```\n@Ada\n```\n@Ada") == "````\n```\n@Ada\n```\n@Ada"
    assert writing.to_markdown("```a``` @Ada\n@Ada") == f"```a``` {link}\n{link}"
    assert writing.to_markdown("```\na\n`````\n@Ada `b` @Ada") == f"```\na\n`````\n{link} `b` {link}"
    assert writing.to_markdown("```\na\n```\n@Ada ` @Ada") == f"```\na\n```\n{link} ` {link}"


def test_name_in_indented_code_does_not_become_a_mention() -> None:
    writing = MentionText()
    link = mention_markdown(ADA)
    assert writing.to_text(link) == "@Ada"
    for code in (
        "    @Ada",
        "\t@Ada",
        "- a\n\n      @Ada",
        "1. a\n\n\t\t@Ada",
        "-     @Ada",
        ">     @Ada",
        "    a\n\n    @Ada",
    ):
        assert writing.to_markdown(f"@Ada\n\n{code}\n\n@Ada") == f"{link}\n\n{code}\n\n{link}"
    for words in ("a\n    {}", "- a\n\n  {}", "1. a\n\n    {}", "- a\n  - b\n\n    {}", "- a\n      {}", "a    {}"):
        assert writing.to_markdown(words.format("@Ada")) == words.format(link)
    assert writing.add(mention_markdown(LONG_NAME), "    @Ada Lo") == "@Ada Lo"


def test_typed_name_does_not_become_a_mention() -> None:
    writing = MentionText()
    text = f"@Ada and {mention_markdown(ADA)}"
    assert writing.to_markdown(writing.to_text(text)) == text
    writing = MentionText()
    assert writing.add(mention_markdown(ADA), "") == "@Ada"
    assert writing.add(mention_markdown(ADA), "@Ada and ") == "@Ada"
    assert writing.add(mention_markdown(LONG_NAME), "@Ada Lo and ") == mention_markdown(LONG_NAME)
    assert writing.to_markdown("@Ada Lo") == f"{mention_markdown(ADA)} Lo"


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_unedited_text_is_sent_unchanged(text: str) -> None:
    writing = MentionText()
    assert writing.to_markdown(writing.to_text(text)) == text
