from __future__ import annotations

import pytest

from octavo.documents.blocks import Block
from octavo.documents.source_reader import parse
from octavo.tui.editing.page_edit import block_line
from octavo.tui.terminal.external_editor import command_at_line


@pytest.mark.parametrize(
    ("program", "command"),
    [
        ("vi", "vi +12 page.md"),
        ("/usr/bin/vim", "/usr/bin/vim +12 page.md"),
        ("vim.tiny", "vim.tiny +12 page.md"),
        ("nvim -u NONE", "nvim -u NONE +12 page.md"),
        ("nano", "nano +12 page.md"),
        ("emacs -nw", "emacs -nw +12 page.md"),
        ("emacsclient -t", "emacsclient -t +12 page.md"),
        ("micro", "micro +12 page.md"),
        ("kak", "kak +12 page.md"),
        ("joe", "joe +12 page.md"),
        ("sensible-editor", "sensible-editor +12 page.md"),
        ("hx", "hx page.md:12"),
        ("helix", "helix page.md:12"),
        ("subl --wait", "subl --wait page.md:12"),
        ("code --wait", "code --wait --goto page.md:12"),
        ("codium -w", "codium -w --goto page.md:12"),
        ("kate --block", "kate --block --line 12 page.md"),
        ("python3 editor.py", "python3 editor.py page.md"),
        ("ed", "ed page.md"),
        ("vim --", "vim -- page.md"),
    ],
)
def test_each_editor_gets_the_line_in_its_syntax(program: str, command: str) -> None:
    assert command_at_line(program.split(), "page.md", 12) == command.split()
    assert command_at_line(program.split(), "page.md", 1) == [*program.split(), "page.md"]


PAGE = """---
description: All of it
---

# Keys

One of them is here, in the first words.

* an item
* another item
  of two lines

| A | B |
| - | - |
| a | b |
| c | d |
"""


def found(text: str, words: str) -> Block:
    return next(
        block
        for block in parse(text).walk()
        if block.plain() == words and block.kind in ("paragraph", "row", "heading")
    )


@pytest.mark.parametrize(
    ("words", "line"),
    [("Keys", 5), ("One of them is here, in the first words.", 7), ("an item", 9), ("another item of two lines", 10), ("c\nd", 16)],
)  # fmt: skip
def test_line_of_a_block_counts_the_front_matter(words: str, line: int) -> None:
    assert block_line(PAGE, found(PAGE, words)) == line


def test_edited_block_is_found_by_words_deleted_block_by_position() -> None:
    block = found(PAGE, "One of them is here, in the first words.")
    assert block_line(PAGE.replace("first words", "last words").replace("# Keys\n", "# Keys\n\n\n"), block) == 9
    assert block_line("# Other\n\nA\n\nB\n\nC\n\nD\n", block) == 7
    assert block_line("# Short\n", block) == 2
