"""Syntax highlighting with Pygments, in a thread. Code is plain until its tokens are loaded."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

Tokens = list[list[tuple[str, str]]]
"""Kind and text of the tokens of each line. Kinds: keyword, string, number, comment, name, heading, removed, added, and
the empty string."""

LONGEST_LINE, LONGEST = 2_000, 60_000
_ALIASES = {
    "markup": "html",
    "json5": "json",
    "jsonp": "js",
    "jsonc": "json",
    "curl": "bash",
    "cli": "console",
    "cshtml": "html",
    "razor": "html",
    "service": "ini",
    "env": "bash",
    "hbs": "html",
    "shell-session": "console",
    "solidity": "js",
}
_PLAIN_LANGUAGES = frozenset({"", "text", "plaintext", "none", "plain", "txt", "code", "log", "csv", "url", "mermaid"})
_JSON_WORDS = frozenset({"true", "false", "null"})
_KINDS = (
    ("Token.Keyword", "keyword"),
    ("Token.Name.Tag", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Name.Attribute", "name"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Class", "name"),
    ("Token.Name.Builtin", "name"),
    ("Token.Name.Decorator", "name"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Comment", "comment"),
    ("Token.Generic.Heading", "heading"),
    ("Token.Generic.Subheading", "heading"),
    ("Token.Generic.Deleted", "removed"),
    ("Token.Generic.Inserted", "added"),
    ("Token.Generic.Prompt", "comment"),
)


class CodeQuery(NamedTuple):
    """Code to highlight: its language by the name of a lexer, and its text."""

    language: str
    text: str


def code_query(language: str, text: str) -> CodeQuery | None:
    """Return the code to highlight. None if it has no language or is too long."""
    language = language.strip().lower()
    if language in _PLAIN_LANGUAGES or len(text) > LONGEST:
        return None
    return CodeQuery(_ALIASES.get(language, language), text)


async def highlight_code(code: CodeQuery) -> Tokens | None:
    """Return the tokens of code. None if the code is not highlighted."""
    return await asyncio.to_thread(tokenize, *code)


def tokenize(language: str, code: str) -> Tokens | None:
    """Return the tokens of code. None if the language is unknown or a line is too long."""
    # lazy: Pygments, 30 ms
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    if any(len(line) > LONGEST_LINE for line in code.split("\n")):
        return None
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    lines: Tokens = [[]]
    names: dict[object, str] = {}
    for token, text in lexer.get_tokens(code):
        if (kind := names.get(token)) is None:
            name = str(token)
            kind = names[token] = next((kind for prefix, kind in _KINDS if name.startswith(prefix)), "")
        if kind == "keyword" and language == "json" and text.isalpha() and text not in _JSON_WORDS:
            kind = ""  # The lexer reads text that is not JSON letter by letter.
        first, *rest = text.split("\n")
        lines[-1].append((kind, first))
        for more in rest:
            lines.append([(kind, more)])
    return lines
