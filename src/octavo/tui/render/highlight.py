"""Colours for code, found after the first paint: until they are known, code is shown plain."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

Tokens = list[list[tuple[str, str]]]
"""For each line of code the kind and the text of what stands in it. Kinds: keyword, string, number, comment, name,
heading, removed, added, and the empty string."""

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
    """A block of code: its language, as highlighters call it, and its text."""

    language: str
    text: str


def code_query(language: str, text: str) -> CodeQuery | None:
    """What to colour. None for code of no language, and for more than can be coloured in a moment."""
    language = language.strip().lower()
    if language in _PLAIN_LANGUAGES or len(text) > LONGEST:
        return None
    return CodeQuery(_ALIASES.get(language, language), text)


async def highlight_code(code: CodeQuery) -> Tokens | None:
    """The tokens of `code`, found in a thread."""
    return await asyncio.to_thread(tokenize, *code)


def tokenize(language: str, code: str) -> Tokens | None:
    """The lines of `code` in tokens; None for a language nobody knows or lines too long to colour."""
    # It takes 30 ms to load: only pages with code pay for it.
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
            kind = ""  # what is not JSON is read letter by letter
        first, *rest = text.split("\n")
        lines[-1].append((kind, first))
        for more in rest:
            lines.append([(kind, more)])
    return lines
