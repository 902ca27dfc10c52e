"""Where a stretch of HTML in markdown ends. Tables, figures and the like go on over blank lines to their closing
tag; of containers only the tag itself counts, so that what they hold is read as markdown.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from markdown_it.rules_block import StateBlock

from octavo.documents.html import TextFinder

_START = re.compile(r"</?([a-zA-Z][a-zA-Z0-9-]*+)(?=[\s/>]|$)")
_ATTRIBUTE = r"""\s++[a-zA-Z_:@*\[(#.][^\s=/>]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'=<>`]++))?"""
# What many pages do not need is compiled when it is needed first: it takes a millisecond.
_ONE_TAG = rf"</?[a-zA-Z][a-zA-Z0-9-]*+(?:{_ATTRIBUTE})*+\s*+/?>\s*+$"
_MAX_LINE_LENGTH = 4000

_BLOCK = (
    "address|article|aside|base|blockquote|body|caption|center|col|colgroup|dd|details|dialog|div|dl|dt|fieldset|"
    "figcaption|figure|footer|form|frame|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|nav|noframes|ol|"
    "optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul|"
    "picture|source|video|audio|svg|pre|script|style"
)
_WHOLE_ELEMENTS = {"table": 8000, "pre": 8000, "script": 2000, "style": 2000, "svg": 400, "figure": 60, "picture": 60}
"""Elements read to their closing tag, and how many lines that may take."""

_TRAILING_TAG = re.compile(r"</(?:table|figure|picture|pre)>[ \t]{0,99}(\{%[^\n]{1,4000}%\}[ \t]*)\n?\Z", re.IGNORECASE)
"""A tag behind the end of an element, on one line with it."""
_STANDALONE = re.compile("details|summary|div|center|picture|hr|p|h[1-6]|section|article|blockquote")
_MAX_COMMENT_LINES = 4000


def html_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule for blocks of HTML."""
    position, line_end = state.bMarks[start] + state.tShift[start], state.eMarks[start]
    if not state.src.startswith("<", position) or state.is_code_block(start):
        return False
    if silent and state.src.startswith(("<!--", "<?", "<!"), position):
        return True
    if state.src.startswith("<!--", position):
        after = _line_after(state, "-->", position, start, end, _MAX_COMMENT_LINES) or end
    elif state.src.startswith(("<?", "<!"), position):
        after = start + 1
    else:
        match = _START.match(state.src, position, line_end)
        if not match:
            return False
        if state.env["placeholders"].end_at(state.src, position) is not None:
            return False
        name = match[1].lower()
        if not re.fullmatch(_BLOCK, name) and (silent or not _is_one_tag(state.src[position:line_end])):
            return False
        if silent:
            return True
        after = _end_of_element(state, name, position, start, end)
    token = state.push("platform_html", "", 0)
    token.map = [start, after]
    token.content = state.getLines(start, after, state.blkIndent, True)
    if tail := _TRAILING_TAG.search(token.content):
        token.content = token.content[: tail.start(1)]
        _push_text(state, tail[1].strip(), after - 1)
    state.line = after
    return True


def _push_text(state: StateBlock, words: str, line: int) -> None:
    """What stands behind HTML on its last line as a paragraph of its own: the tag in it would be words of the HTML."""
    state.push("paragraph_open", "p", 1).map = [line, line + 1]
    inline = state.push("inline", "", 0)
    inline.content, inline.map, inline.children = words, [line, line + 1], []
    state.push("paragraph_close", "p", -1)


def _is_one_tag(line: str) -> bool:
    return len(line) <= _MAX_LINE_LENGTH and re.match(_ONE_TAG, line) is not None


def _end_of_element(state: StateBlock, name: str, position: int, start: int, end: int) -> int:
    """The line after the stretch that begins with a tag called `name`."""
    opens = state.src[position + 1] != "/"
    if opens and name in _WHOLE_ELEMENTS:
        after = _line_after(state, f"</{name}", position, start, end, _WHOLE_ELEMENTS[name])
        if after is not None:
            return after
    if _STANDALONE.fullmatch(name) and state.src[position : state.eMarks[start]].rstrip().endswith(">"):
        return start + 1
    line = start + 1
    while line < end and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        if state.src.startswith(("{%", "```", "~~~"), state.bMarks[line] + state.tShift[line]):
            break
        line += 1
    return line


def _line_after(state: StateBlock, sought: str, position: int, start: int, end: int, limit: int) -> int | None:
    """The line after the one that holds `sought`, of nested tables the outermost."""
    finder: TextFinder = state.env["finder"]
    nests = sought == "</table"
    found = finder.end_of("table", position + 1)[0] if nests else finder.after(sought, position)
    if found >= len(state.src):
        return None
    line = bisect_left(state.eMarks, found, start, end)
    return line + 1 if line < min(end, start + limit) else None
