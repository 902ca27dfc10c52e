"""The quoted text of a comment keeps its lines."""

from __future__ import annotations

from octavo.documents.source_reader import parse
from octavo.tui.render.layout import lay_out
from octavo.tui.render.styles import Styles
from octavo.tui.render.threads import keep_quoted_lines, quote_excerpt, quote_markdown


def shown(markdown: str) -> list[str]:
    return [line.text.strip() for line in lay_out(parse(markdown).blocks, 40, Styles.plain(), source=markdown)]


def test_excerpt_keeps_lines_and_indents() -> None:
    assert quote_excerpt("    if a:\n        b()  \n\n    c()\n") == "if a:\n    b()\nc()"
    assert len(quote_excerpt("word\n" * 100)) == 240


def test_quoted_code_keeps_its_lines() -> None:
    markdown = quote_markdown("if a:\n    b()", is_code=True)
    assert markdown == "> ```\n> if a:\n>     b()\n> ```"
    assert [line for line in shown(f"{markdown}\n\nWhy?") if "a" in line or "b" in line] == [
        "│ │ if a:                              │",
        "│ │     b()                            │",
    ]
    assert quote_markdown("```\na\n```", is_code=True) == "> ````\n> ```\n> a\n> ```\n> ````"


def test_quoted_text_keeps_its_lines() -> None:
    assert quote_markdown("one\ntwo", is_code=False) == "> one\\\n> two"
    assert shown(quote_markdown("one\ntwo", is_code=False)) == ["│ one", "│ two"]


def test_quoted_lines_in_a_comment_stay_separate() -> None:
    assert shown(keep_quoted_lines("> if a:\n>     b()\n>\n> c\n\nwords\nwords"))[:2] == ["│ if a:", "│ b()"]
    for markdown in (
        "words\nwords",
        "> ```\n> a\n> b\n> ```\n> c",
        "> - a\n> - b",
        "> # A\n> b\n\n> c",
        ">     a\n>     b",
        "> | a |\n> |-|\n> | b |",
        "> a  \n> b\\\n> c",
        "> a\n>\n> b",
    ):
        assert keep_quoted_lines(markdown) == markdown
