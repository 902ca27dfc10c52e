"""Rules for markdown-it. Block rules read platform tags, tables, fences, formulas, and HTML that spans blank lines.
Inline rules read platform tags, formulas, HTML, and bold and italic text as editors write it. As in markdown-it, a rule
returns whether it applies at the position. If `silent`, it only finds that out and adds no tokens."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import Any

from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.parser_block import RuleFuncBlockType
from markdown_it.rules_block import StateBlock, fence, heading, list_block
from markdown_it.rules_block.table import escapedSplit, getLine, table
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter, Scanned
from markdown_it.token import Token

from octavo.documents.blocks import MAX_ROW_LENGTH, Diagnostic, max_table_rows
from octavo.documents.html import NAN_ENTITY, TextFinder, decode_entities, find_loose_tag_end, find_tag_end
from octavo.documents.links import SPACED_IMAGE
from octavo.documents.tag_blocks import Tag, TagScanner, is_known_tag

MAX_BLOCK_DEPTH = 32
"""Maximum nesting of lists, items and quotes. Deeper levels are shown as Markdown source."""
_MAX_FORMULA_LINES = 200
_FENCE_BEFORE_TAG = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*(?=\{%-?\s*end)", re.MULTILINE)
_DASHES = re.compile(r"\|(?:[ \t]*(?::?-+:?|:)[ \t]*\|)+[ \t]*(?:(?::?-+:?|:)[ \t]*)?")
"""The line below the header of a table."""
_HEADING_WITHOUT_SPACE = re.compile(r"#{2,6}(?=[^#\s])")
_ONE_LINE_CODE = re.compile(r"(`{3,})([^`]+)\1[ \t]*(?:\{%.*)?")


def depth_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.level < MAX_BLOCK_DEPTH or silent:
        return False
    last = start
    while last < end and (state.isEmpty(last) or state.sCount[last] >= state.blkIndent):
        last += 1
    _push_source(state, start, last, "This block has too many nested levels, so it is shown as source.")
    return True


def _push_source(state: StateBlock, start: int, end: int, message: str) -> None:
    token = state.push("code_block", "code", 0)
    token.content = state.getLines(start, end, state.blkIndent, True)
    token.map = [start, end]
    token.meta = {"source": True}
    state.env["diagnostics"].append(Diagnostic(start, message))
    state.line = end


def table_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table. The line of dashes may have more or fewer cells than the header, or cells with only a colon."""
    if state.eMarks[start] - state.bMarks[start] > MAX_ROW_LENGTH:
        return False
    if table(state, start, end, True):
        return silent or _read_table(state, start, end)
    if start + 1 >= end or not state.src.startswith("|", state.bMarks[start] + state.tShift[start]):
        return False
    dashes = _dashes_for_header(state, start)
    if silent or not dashes:
        return dashes != ""
    return _read_with_line(state, start + 1, dashes, lambda: _read_table(state, start, end))


def heading_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a heading. Unlike in CommonMark, `##Title` is a heading, too."""
    if not state.src.startswith("#", state.bMarks[start] + state.tShift[start]) or state.is_code_block(start):
        return False
    if heading(state, start, end, silent):
        return True
    match = _HEADING_WITHOUT_SPACE.match(getLine(state, start))
    if silent or not match:
        return match is not None
    spaced_line = f"{match[0]} {getLine(state, start)[match.end() :]}"
    return _read_with_line(state, start, spaced_line, lambda: heading(state, start, end, False))


def _read_with_line(state: StateBlock, line: int, text: str, read: Callable[[], bool]) -> bool:
    """Return the result of `read`. During the call, `text` is the end of the source and the content of `line`."""
    source, old_line = state.src, (state.bMarks[line], state.eMarks[line], state.tShift[line])
    state.src += text
    state.bMarks[line], state.eMarks[line], state.tShift[line] = len(source), len(state.src), 0
    is_read = read()
    state.src, (state.bMarks[line], state.eMarks[line], state.tShift[line]) = source, old_line
    return is_read


def _dashes_for_header(state: StateBlock, start: int) -> str:
    """Return a line of dashes with as many cells as the header in line `start`. Empty if no line of dashes follows."""
    line_below, is_code = getLine(state, start + 1), state.is_code_block(start) or state.is_code_block(start + 1)
    if is_code or state.sCount[start + 1] < state.blkIndent or not _DASHES.fullmatch(line_below):
        return ""
    dashes = [cell.strip() for cell in line_below.strip().strip("|").split("|")]
    count = len(escapedSplit(getLine(state, start).strip().strip("|")))
    return "|".join(["", *(cell if "-" in cell else "---" for cell in (dashes + ["---"] * count)[:count]), ""])


def _read_table(state: StateBlock, start: int, end: int) -> bool:
    """Add the tokens of a table. Return False if there is none. Surplus cells are added to the last cell of their row,
    but a surplus `***` in the last row becomes a divider. The rest of a too large table is shown as source."""
    first_token, pipes = len(state.tokens), state.src.count("|", state.bMarks[start], state.eMarks[start])
    limit = min(end, start + 2 + max_table_rows(max(1, pipes - 1)))
    if len(state.src) > MAX_ROW_LENGTH:
        long_lines = (line for line in range(start, limit) if state.eMarks[line] - state.bMarks[line] > MAX_ROW_LENGTH)
        limit = next(long_lines, limit)
    if not table(state, start, limit, False):
        return False
    if state.line == limit < end and not state.isEmpty(limit):
        _push_rest_of_table(state, limit, end)
    columns, has_divider = 0, False
    for token in state.tokens[first_token:]:
        if token.type == "th_open":
            columns += 1
        elif token.type == "tr_open" and token.map:
            row = getLine(state, token.map[0])
        elif token.type == "inline":
            last = token
        elif token.type == "tr_close" and row.count("|") >= columns:
            cells = escapedSplit(row.strip())
            cells = cells[1:] if not cells[0] else cells
            cells = cells[:-1] if cells and not cells[-1] else cells
            surplus_cells = [cell.strip() for cell in cells[columns:]]
            has_divider = surplus_cells == ["***"]
            if not has_divider and (any(surplus_cells) or (surplus_cells and not cells[columns - 1].strip())):
                last.content = "|".join(cells[columns - 1 :]).strip()
    if has_divider:
        state.push("hr", "hr", 0).map = [state.line - 1, state.line]
    return True


def _push_rest_of_table(state: StateBlock, start: int, end: int) -> None:
    last = start
    while last < end and not state.isEmpty(last) and state.sCount[last] >= state.blkIndent:
        last += 1
    _push_source(state, start, last, "This table has too many cells, so the rest is shown as source.")


def block_tag_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    state.env["window"].count_visit()
    position = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith("{%", position) or state.is_code_block(start):
        return False
    scanner: TagScanner = state.env["tags"]
    tag = scanner.tag_at(position)
    if tag is None:
        if not silent:
            message = "This tag is not closed, so it is shown as text."
            state.env["diagnostics"].append(Diagnostic(start, message, "{%"))
        return False
    line = bisect_left(state.eMarks, tag.end, start, end)
    if line == end:
        return False
    if silent or _code_in_tag(state, tag, start, line):
        return True
    _push_tag(state, tag, start, line)
    position = _push_tags(state, tag.end, line)
    state.line = line + 1
    if code_match := _ONE_LINE_CODE.fullmatch(state.src, position, state.eMarks[line]):
        token = state.push("fence", "code", 0)
        token.content, token.map = code_match[2].strip() + "\n", [line, line + 1]
        _push_rest(state, code_match.end(2) + len(code_match[1]), line)
    elif state.src.startswith("{%", position):
        _push_rest(state, position, line)
    elif position < state.eMarks[line]:
        _parse_from(state, state.md.block.ruler.getRules(""), position, line, end)
    return True


def _code_in_tag(state: StateBlock, tag: Tag, start: int, line: int) -> bool:
    """Parse an unknown tag with `lang` as code, up to its end tag. Return False for other tags or a missing end tag."""
    if is_known_tag(tag.closed_name or tag.name) or not tag.arguments.get("lang"):
        return False
    end_position = state.env["finder"].find_after(f"end{tag.name}", tag.end)
    opening = state.src.rfind("{%", tag.end, end_position)
    closing = state.env["tags"].tag_at(opening) if opening >= 0 else None
    last = bisect_right(state.eMarks, opening, line)
    if closing is None or closing.closed_name != tag.name or last == line or closing.end > state.eMarks[last]:
        return False
    reopened_line = _reopened_line(state, tag, opening)
    last = reopened_line if reopened_line >= 0 else last
    token = state.push("fence", "code", 0)
    token.info, token.map = tag.arguments["lang"], [start, last if reopened_line >= 0 else last + 1]
    end_of_code = last
    while state.isEmpty(end_of_code - 1):
        end_of_code -= 1
    token.content = state.getLines(line + 1, end_of_code, state.sCount[start], True)
    if reopened_line < 0:
        _push_rest(state, closing.end, last)
        last += 1
    state.line = last
    return True


def _reopened_line(state: StateBlock, tag: Tag, end: int) -> int:
    """Return the number of the first line between `tag` and `end` that begins with a tag of the same name, or -1."""
    position = tag.end
    while (position := state.src.find("{%", position, end)) >= 0:
        other_tag = state.env["tags"].tag_at(position)
        line = bisect_right(state.eMarks, position)
        if other_tag is not None and other_tag.name == tag.name and state.bMarks[line] + state.tShift[line] == position:
            return line
        position += 2
    return -1


def _push_rest(state: StateBlock, position: int, line: int) -> None:
    """Parse the rest of a line from `position` on, after a tag: further tags, and then text as a paragraph."""
    if rest_of_line := state.src[_push_tags(state, position, line) : state.eMarks[line]].strip():
        state.push("paragraph_open", "p", 1).map = [line, line + 1]
        token = state.push("inline", "", 0)
        token.content, token.map, token.children = rest_of_line, [line, line + 1], []
        state.push("paragraph_close", "p", -1)


def _push_tags(state: StateBlock, position: int, line: int) -> int:
    """Parse the tags that begin at `position` in a line. Return the position after the tags and blanks."""
    scanner: TagScanner = state.env["tags"]
    line_end = state.eMarks[line]
    while True:
        while position < line_end and state.src[position] in " \t":
            position += 1
        next_tag = scanner.tag_at(position) if state.src.startswith("{%", position) else None
        if next_tag is None or next_tag.end > line_end:
            return position
        _push_tag(state, next_tag, line, line)
        position = next_tag.end


def _parse_from(state: StateBlock, rules: Iterable[RuleFuncBlockType], position: int, line: int, end: int) -> bool:
    """Parse the block that begins at `position` in a line, up to the line `end`. Return False if no rule accepts it."""
    line_start = state.bMarks[line], state.tShift[line], state.sCount[line]
    state.bMarks[line], state.tShift[line], state.sCount[line] = position, 0, state.blkIndent
    is_parsed = any(rule(state, line, end, False) for rule in rules)
    state.bMarks[line], state.tShift[line], state.sCount[line] = line_start
    return is_parsed


def fence_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a code block with fences. After the closing fence, an end tag may follow on the same line."""
    if not state.src.startswith(("`", "~"), state.bMarks[start] + state.tShift[start]):
        return False
    is_code = fence(state, start, end, silent)
    if silent or not is_code:
        return is_code
    token = state.tokens[-1]
    closing_match = _FENCE_BEFORE_TAG.search(token.content) if "{%" in token.content else None
    if closing_match is None or not closing_match[1].startswith(token.markup):
        return True
    line = start + 1 + token.content.count("\n", 0, closing_match.start())
    token.content, token.map = token.content[: closing_match.start()], [start, line + 1]
    _push_rest(state, state.src.index("{%", state.bMarks[line]), line)
    state.line = line + 1
    return True


_ITEM_NUMBER = r"\d{1,9}[.)][ ]{1,4}(?=\S)"
_USUAL_INDENT = 4
"""Number of columns by which many editors indent the content of any numbered item."""


def list_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a list. Content below a long number, such as `100. Text`, needs an indentation of only four columns."""
    position = state.bMarks[start] + state.tShift[start]
    if not silent and state.src[position : position + 1].isdigit() and not state.is_code_block(start):
        _indent_below_wide_numbers(state, start, end)
    return list_block(state, start, end, silent)


def _indent_below_wide_numbers(state: StateBlock, start: int, end: int) -> None:
    number_pattern = re.compile(_ITEM_NUMBER)
    indent, missing_indent, is_first = state.sCount[start], 0, False
    for line in range(start, end):
        if state.isEmpty(line):
            continue
        position = state.bMarks[line] + state.tShift[line]
        if state.sCount[line] <= indent:
            number_match = number_pattern.match(state.src, position)
            if state.sCount[line] < indent or number_match is None:
                return
            missing_indent, is_first = max(0, number_match.end() - position - _USUAL_INDENT), True
        elif missing_indent:
            is_usual = state.sCount[line] == indent + _USUAL_INDENT
            if (is_first and not is_usual) or state.src.startswith(("```", "~~~"), position):
                missing_indent = 0
            is_first = False
            state.sCount[line] += missing_indent


def _push_tag(state: StateBlock, tag: Tag, first: int, last: int) -> None:
    token = state.push("platform_tag", "", 0)
    token.meta, token.map = {"tag": tag}, [first, last + 1]


def _is_in_formula(state: StateBlock, position: int) -> bool:
    source, start, end, count = state.env.get("formula_marks", ("", 0, 0, 0))
    if source is not state.src or start != state.bMarks[state.line] or end > position:
        start = end = state.bMarks[state.line]
        count = 0
    count += state.src.count("$$", end, position)
    state.env["formula_marks"] = (state.src, start, position, count)
    return bool(count % 2)


def block_math_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    position = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith("$$", position) or state.is_code_block(start):
        return False
    first = state.src[position + 2 : state.eMarks[start]].rstrip()
    if "$$" in first:
        if not first.endswith("$$") or "$$" in first[:-2]:
            return False
        body, after = first[:-2], start + 1
    elif silent and _is_in_formula(state, position):
        return False  # This `$$` ends a formula that began in the same paragraph.
    else:
        ends: list[int] = state.env["formula_ends"]
        end_index = bisect_right(ends, state.eMarks[start])
        if end_index == len(ends):
            return False
        if ends[end_index] >= state.env["window"].length:
            state.env["window"].is_incomplete = True
            return False
        last = bisect_right(state.eMarks, ends[end_index], start, end)
        is_text = state.src.find("$$", state.eMarks[start], ends[end_index]) >= 0
        if is_text or not start < last < min(end, start + _MAX_FORMULA_LINES):
            return False
        after = last + 1
        body = first + "\n" + state.getLines(start + 1, after, state.blkIndent, False).rstrip()[:-2]
    if silent:
        return True
    token = state.push("platform_math", "", 0)
    token.content, token.map = body.strip(), [start, after]
    token.meta = {"opening": body[: len(body) - len(body.lstrip())].count("\n")}
    state.line = after
    return True


_TAG_START = re.compile(r"</?([a-zA-Z][a-zA-Z0-9-]*+)(?=[\s/>]|$)")
_ATTRIBUTE = r"""\s++[a-zA-Z_:@*\[(#.][^\s=/>]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'=<>`]++))?"""
# The pattern is not compiled here, because that takes a millisecond, and many pages do not need the pattern.
_ONE_TAG = rf"</?[a-zA-Z][a-zA-Z0-9-]*+(?:{_ATTRIBUTE})*+\s*+/?>\s*+$"
_MAX_LINE_LENGTH = 4000

_BLOCK_ELEMENTS = (
    "address|article|aside|base|blockquote|body|caption|center|col|colgroup|dd|details|dialog|div|dl|dt|fieldset|"
    "figcaption|figure|footer|form|frame|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|nav|noframes|ol|"
    "optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul|"
    "picture|source|video|audio|svg|pre|script|style"
)
_WHOLE_ELEMENTS = {"table": 8000, "pre": 8000, "script": 2000, "style": 2000, "svg": 400, "figure": 60, "picture": 60}
"""HTML elements that are read up to their closing tag as one block. The value is the maximum number of lines."""

_CLOSING_BLOCK = rf"</(?:{_BLOCK_ELEMENTS})\s*+>[ \t]*+"
_OPENING_BLOCK = rf"<(?:{_BLOCK_ELEMENTS})[\s>]"
_STANDALONE_ELEMENTS = re.compile("details|summary|div|center|picture|hr|p|h[1-6]|section|article|blockquote")
_INLINE_ELEMENTS = re.compile(
    "a|abbr|acronym|b|bdi|bdo|big|br|button|cite|code|data|del|dfn|em|font|i|img|input|ins|kbd|label|map|mark|object|q|s|"
    "samp|small|span|strike|strong|sub|sup|time|tt|u|var|wbr"
)
"""Names of HTML elements inside running text. Tags that are not in `_BLOCK_ELEMENTS` either are separate blocks."""
_MAX_COMMENT_LINES = 4000


def html_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a block of HTML, or only detect it if `silent`. Return False if no such block begins at `start`."""
    position, line_end = state.bMarks[start] + state.tShift[start], state.eMarks[start]
    if not state.src.startswith("<", position) or state.is_code_block(start):
        return False
    if silent and state.src.startswith(("<!--", "<?", "<!"), position):
        return True
    text_start = None
    if state.src.startswith("<!--", position):
        after = _line_after(state, "-->", position, start, end, _MAX_COMMENT_LINES) or end
        after = _container_end(state, start, after)  # An unclosed comment hides nothing outside of its list item.
    elif state.src.startswith(("<?", "<!"), position):
        after = start + 1
    else:
        match = _TAG_START.match(state.src, position, line_end)
        if not match:
            return False
        if state.env["placeholders"].end_at(state.src, position) is not None:
            return False
        name = match[1].lower()
        if not re.fullmatch(_BLOCK_ELEMENTS, name) and (silent or not _is_one_tag(state.src[position:line_end])):
            return False
        if silent:
            return True
        after = _end_of_element(state, name, position, start, end)
        last = after - 1 if name in _WHOLE_ELEMENTS else start
        text_start = _text_after_html(state, last)
        if text_start is None and name not in ("pre", "script", "style") and not state.isEmpty(after - 1):
            _ignore_indentation(state, after, end)
    token = state.push("platform_html", "", 0)
    if text_start is not None:
        token.map = [start, last + 1]
        token.content = state.getLines(start, last + 1, state.blkIndent, False)[: text_start - state.eMarks[last]]
        return _parse_from(state, state.md.block.ruler.getRules(""), text_start, last, end)
    token.map = [start, after]
    token.content = state.getLines(start, after, state.blkIndent, True)
    state.line = after
    return True


def _text_after_html(state: StateBlock, line: int) -> int | None:
    """Return the position of the Markdown after the last closing block tag of a line. None without such a tag, if HTML
    or nothing follows, or if the line ends with `>`."""
    start, closing, end = state.bMarks[line], state.eMarks[line], state.eMarks[line]
    if state.src.endswith(">", start, end):
        return None
    pattern = re.compile(_CLOSING_BLOCK, re.IGNORECASE)
    while (closing := state.src.rfind("</", start, closing)) >= 0:
        if tag_match := pattern.match(state.src, closing, end):
            text = state.src[tag_match.end() : end]
            is_html = text[:1] in ("", "<") or re.search(_OPENING_BLOCK, text, re.IGNORECASE)
            return None if is_html else tag_match.end()
    return None


def _container_end(state: StateBlock, start: int, end: int) -> int:
    """Return the first line after `start` that is not in the list item of `start`, or `end` if there is none."""
    lines = range(start + 1, end)
    return next((line for line in lines if not state.isEmpty(line) and state.sCount[line] < state.blkIndent), end)


def _ignore_indentation(state: StateBlock, line: int, end: int) -> None:
    """Unindent the lines after HTML, from `line` to a blank line or `end`: their indentation would make them code."""
    surplus_width = state.sCount[line] - state.blkIndent if line < end else 0
    while surplus_width >= 4 and line < end and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        width = min(surplus_width, state.tShift[line])
        state.bMarks[line] += width
        state.tShift[line] -= width
        state.sCount[line] = max(state.blkIndent, state.sCount[line] - surplus_width)
        line += 1


def _is_one_tag(line: str) -> bool:
    return len(line) <= _MAX_LINE_LENGTH and re.match(_ONE_TAG, line) is not None


def _end_of_element(state: StateBlock, name: str, position: int, start: int, end: int) -> int:
    is_opening = state.src[position + 1] != "/"
    if is_opening and name in _WHOLE_ELEMENTS:
        after = _line_after(state, f"</{name}", position, start, end, _WHOLE_ELEMENTS[name])
        if after is not None:
            return after
    is_standalone = _STANDALONE_ELEMENTS.fullmatch(name) or not (
        re.fullmatch(_BLOCK_ELEMENTS, name) or _INLINE_ELEMENTS.fullmatch(name)
    )
    if is_standalone and state.src[position : state.eMarks[start]].rstrip().endswith(">"):
        return start + 1
    line = start + 1
    while line < end and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        if state.src.startswith(("{%", "```", "~~~"), state.bMarks[line] + state.tShift[line]):
            break
        line += 1
    return line


def _line_after(
    state: StateBlock, text: str, position: int, first_line: int, end_line: int, max_lines: int
) -> int | None:
    """Find the next `text` from `position` on, and return the line below. `</table` of inner tables is skipped.
    None if `text` is at or after `end_line`, or more than `max_lines` lines would be read from `first_line` on."""
    finder: TextFinder = state.env["finder"]
    is_table = text == "</table"
    found_position = finder.element_end("table", position + 1)[0] if is_table else finder.find_after(text, position)
    if found_position >= state.env["window"].length:
        return None
    line = bisect_left(state.eMarks, found_position, first_line, end_line)
    return line + 1 if line < min(end_line, first_line + max_lines) else None


_MAX_INLINE_FORMULA = 4000
_MAX_LOOSE_BRACKETS = 500
_LINKED_MENTION = re.compile(
    r'\[([^\[\]\n]{0,200}\[[^\[\]\n]{1,400}\]\([^()\n]{1,900}[ ]"mention"\)[^\[\]\n]{0,200})\]\([^()\n]{0,900}\)'
)
_LINE_BREAK = re.compile(r"\\(?:\Z| (?=<(?:mark|su[bp]|kbd|u|span|code|a|i|img|button|strong|em)[ >]))")
_MATH_ELEMENT = re.compile(r'<span\s+class="math(?:\s[^"<>]*)?"\s*>')


def inline_tag_rule(state: StateInline, silent: bool) -> bool:
    if not state.src.startswith("{%", state.pos):
        return False
    cached_scanner: tuple[str, TagScanner] | None = state.env.get("inline_tags")
    if cached_scanner is None or cached_scanner[0] is not state.src:
        cached_scanner = (state.src, TagScanner(state.src))
        state.env["inline_tags"] = cached_scanner
    tag = cached_scanner[1].tag_at(state.pos)
    if tag is None or tag.end > state.posMax:
        return False
    if not silent:
        words = state.src[state.pos + 2 : tag.end - 2].strip(" -\n")
        if is_known_tag(tag.closed_name or tag.name) and state.linkLevel == 0:
            token = state.push("platform_tag", "", 0)
            token.meta = {"tag": tag}
            token.content = words
        else:
            state.push("platform_tag_in_text", "", 0).content = words
    state.pos = tag.end
    return True


def nan_entity_rule(state: StateInline, silent: bool) -> bool:
    """Skip the invalid entity `&#xNAN;`, which the platform sometimes writes next to a mark."""
    entity_match = NAN_ENTITY.match(state.src, state.pos)
    if entity_match:
        state.pos = entity_match.end()
    return entity_match is not None


def line_break_rule(state: StateInline, silent: bool) -> bool:
    """Read a line break of the platform's editor: a backslash at the end of a text, or a backslash and a space before
    an inline HTML tag."""
    break_match = _LINE_BREAK.match(state.src, state.pos)
    if break_match:
        state.pos = break_match.end()
        if not silent:
            state.push("hardbreak", "br", 0)
    return break_match is not None


def placeholder_rule(state: StateInline, silent: bool) -> bool:
    """Read a placeholder such as `<token>` as text, and a very long HTML tag as a tag."""
    if not state.src.startswith("<", state.pos):
        return False
    placeholder_end = state.env["placeholders"].end_in_paragraph(state.src, state.pos)
    if placeholder_end is None:
        return _long_html_tag(state, silent)
    if placeholder_end > state.posMax:
        return False
    if not silent:
        state.pending += state.src[state.pos : placeholder_end]
    state.pos = placeholder_end
    return True


def _long_html_tag(state: StateInline, silent: bool) -> bool:
    """Read a long HTML tag, for which the rule of markdown-it would need too much memory."""
    if state.src.find(">", state.pos, state.pos + MAX_ROW_LENGTH) >= 0:
        return False
    return _read_html_tag_to(state, find_tag_end(state.src, state.pos), silent)


def loose_element_rule(state: StateInline, silent: bool) -> bool:
    """Read an HTML tag with attributes that markdown-it rejects, such as `style={{ width: '50%' }}`."""
    return _read_html_tag_to(state, find_loose_tag_end(state.src, state.pos), silent)


def _read_html_tag_to(state: StateInline, end: int | None, silent: bool) -> bool:
    if end is None or end > state.posMax:
        return False
    if not silent:
        state.push("html_inline", "", 0).content = state.src[state.pos : end]
    state.pos = end
    return True


def many_brackets_rule(state: StateInline, silent: bool) -> bool:
    """Read brackets as text if hundreds of them are outside links, because searching for links would take too long."""
    if not state.src.startswith(("[", "!["), state.pos):
        return False
    cached_result: tuple[str, bool] | None = state.env.get("brackets")
    if cached_result is None or cached_result[0] is not state.src:
        link_count = state.src.count("](") + state.src.count("][") + state.src.count("[^")
        cached_result = (state.src, state.src.count("[") > _MAX_LOOSE_BRACKETS + 3 * link_count)
        state.env["brackets"] = cached_result
    if cached_result[1]:
        if not silent:
            state.pending += state.src[state.pos]
        state.pos += 1
    return cached_result[1]


def mention_in_link_rule(state: StateInline, silent: bool) -> bool:
    """Read a link around a mention as its text, in which the mention stays. The outer link is ignored."""
    if not state.src.startswith("[", state.pos) or (outer_match := _LINKED_MENTION.match(state.src, state.pos)) is None:
        return False
    if outer_match.end() > state.posMax:
        return False
    if not silent:
        last = state.posMax
        state.pos, state.posMax = outer_match.span(1)
        state.md.inline.tokenize(state)
        state.posMax = last
    state.pos = outer_match.end()
    return True


def spaced_image_rule(state: StateInline, silent: bool) -> bool:
    """Read an image whose path contains spaces, such as `![](Screen Shot (1).png)`."""
    if not state.src.startswith("![", state.pos):
        return False
    image_match = re.compile(SPACED_IMAGE, re.IGNORECASE).match(state.src, state.pos, state.posMax)
    if image_match is None:
        return False
    if not silent:
        token = state.push("image", "img", 0)
        token.attrs = {"src": state.md.normalizeLink(image_match[2].strip()), "alt": ""}
        token.content = image_match[1]
        token.children = [Token("text", "", 0, content=image_match[1])]
    state.pos = image_match.end()
    return True


def inline_math_rule(state: StateInline, silent: bool) -> bool:
    """Read a formula between `$$`, or in the `<span class="math">` that the platform writes in captions and cells."""
    if not state.src.startswith(("$$", "<s"), state.pos):
        return False
    start, closing = state.pos + 2, "$$"
    if state.src[state.pos] == "<":
        if (element_match := _MATH_ELEMENT.match(state.src, state.pos)) is None:
            return False
        start, closing = element_match.end(), "</span>"
    end = state.src.find(closing, start, min(state.posMax, state.pos + _MAX_INLINE_FORMULA))
    # In `<code>$$</code> … $$`, the `$$` are no formula, because a formula contains no closing tag.
    if end <= start or "</" in state.src[start:end]:
        return False
    if not silent:
        formula = state.src[start:end].strip()
        state.push("platform_math", "", 0).content = formula if closing == "$$" else decode_entities(formula)
    state.pos = end + len(closing)
    return True


_STAR, _TILDE, _DOUBLE = ord("*"), ord("~"), 2
_FIRST_CJK = "\u1100"
_CJK_RANGES = (
    *("\u1100\u11ff", "\u2e80\u303e", "\u3041\ua4cf", "\uac00\ud7ff", "\uf900\ufaff", "\ufe30\ufe4f", "\uff00\uffef"),
    *("\U0001f200\U0001f2ff", "\U00020000\U0003fffd"),
)
"""First and last letter of each range of Chinese, Japanese and Korean. Not a pattern, because compiling it is slow."""
_SENTENCE_ENDS = ".:!?。：！？"
_JOINING_ENDS = (",", "=", " and", " or")
_MARKS_NEXT_TO_BOLD = ("", "_", "~~")
"""Texts of tokens next to a bold mark that begin or end other formatting. Empty for links, code and HTML."""


def scan_next_to_cjk(state: StateInline, start: int, scanned: Scanned) -> Scanned:
    """Return `scanned`, but let marks such as `**` open or close next to Chinese, Japanese or Korean letters, as in
    `**「是」**的`. GitBook writes italic text as `一_个_字` in such text, but escapes a `_` that is no mark."""
    end = start + scanned.length
    before = state.src[start - 1] if start else " "
    after = state.src[end] if end < state.posMax else " "
    if before < _FIRST_CJK and after < _FIRST_CJK:
        return scanned
    mark = state.src[start:end]
    return Scanned(
        scanned.can_open or _can_delimit_next_to_cjk(before, mark, after),
        scanned.can_close or _can_delimit_next_to_cjk(after, mark, before),
        scanned.length,
    )


def _can_delimit_next_to_cjk(outside: str, mark: str, inside: str) -> bool:
    """Return whether `mark` may open or close emphasis between a CJK letter, `outside`, and the character `inside`. For
    `_`, `inside` may be anything except white space. For other marks, it must be punctuation. Always False for `__`."""
    if isWhiteSpace(ord(inside)) or outside < _FIRST_CJK or mark.startswith("__"):
        return False
    is_letter = any(ends[0] <= outside <= ends[1] for ends in _CJK_RANGES)
    return is_letter and (mark == "_" or isMdAsciiPunct(ord(inside)) or isPunctChar(inside))


def pair_delimiters(state: StateInline) -> None:
    """Let marks `**` open and close alternately, if possible, and `~~` too. Unlike in CommonMark, `option**.**` and
    `**Note: **` have bold text."""
    if "**" not in state.src and "~~" not in state.src:
        return
    metas: list[dict[str, Any]] = [meta for meta in state.tokens_meta if meta and "delimiters" in meta]
    for delimiters in (state.delimiters, *(meta["delimiters"] for meta in metas)):
        for marker in (_STAR, _TILDE):
            _alternate_marks(state, [run for run in _delimiter_runs(delimiters) if run[0].marker == marker])


_EMPTY_BOLD = re.compile(r"\*\*[ \xa0]*\*\*")
_EMPTY_MARKS = re.compile(r"(?<!\*)\*\* ?\*\*(?!\*)|(?<!_)__(?!_)")
_MASKED_NUMBER = re.compile(rf"\d[ -]?{_EMPTY_BOLD.pattern}|{_EMPTY_BOLD.pattern}[ -]?\d")


def drop_empty_marks(state: StateInline) -> None:
    """Remove marks without text: `****`, the marks of `** **`, and `__` beside a mark. A number `**** 4242` stays."""
    has_stars = _EMPTY_BOLD.search(state.src) is not None and not _MASKED_NUMBER.search(state.src)
    if not has_stars and "__" not in state.src:
        return
    texts = [_text_of(token) for token in state.tokens]
    for found in _EMPTY_MARKS.finditer("".join(map(_sign, texts))):
        is_empty = has_stars if "*" in found[0] else _is_empty_italic(texts, *found.span())
        for token in state.tokens[found.start() : found.end()] if is_empty else ():
            token.content = token.content.strip("*_")


def _sign(text: str) -> str:
    """Return a sign for the text of a token: `*` and `_` as they are, a space for spaces, and `.` for other text."""
    if text in ("*", "_"):
        return text
    return " " if text.isspace() and text != "\n" else "."


def _is_empty_italic(texts: list[str], start: int, end: int) -> bool:
    """Return whether `__` in `texts[start:end]` is an empty mark: without text, or next to another mark, unlike in `see
    __ here`."""
    before, after = "".join(texts[max(0, start - 2) : start]), "".join(texts[end : end + 2])
    if not f"{before[-1:]}{after[:1]} ".isspace():
        return False
    is_beside_mark = (start > 0 and not before.strip()) or (end < len(texts) and not after.strip())
    return is_beside_mark or (start == 0 and end == len(texts))


def _delimiter_runs(delimiters: list[Delimiter]) -> list[list[Delimiter]]:
    """Return the delimiters of each mark in a text, such as the two stars of `**`."""
    runs: list[list[Delimiter]] = []
    after = 0
    for index, each in enumerate(delimiters):
        if each.marker == _TILDE:
            runs.append([each])
        elif each.marker == _STAR and each.length >= _DOUBLE and index >= after:
            after = index + each.length
            runs.append(delimiters[index:after])
    return runs


def _alternate_marks(state: StateInline, runs: list[list[Delimiter]]) -> None:
    """Let the marks in `runs`, all of one kind, open and close alternately. Change nothing if a mark cannot close."""
    pairs: list[tuple[list[Delimiter], list[Delimiter]]] = []
    opener: list[Delimiter] | None = None
    if len(runs) == _DOUBLE and _texts_around(state, runs[0])[0] == _texts_around(state, runs[1])[1] == "\n":
        pairs.append((runs[0], runs[1]))  # The marks are around whole lines, so spaces next to them do not matter.
    elif len(runs) % 2 == 0 and sum([run[0].open for run in runs]) != sum([run[0].close for run in runs]):
        neighbors = list(zip(runs[::2], runs[1::2], strict=True))
        pairs = neighbors if all(_are_formatting_marks(state, *each) for each in neighbors) else []
    for run in runs if not pairs else ():
        if len(run) > _DOUBLE and not any(_texts_around(state, run)):
            continue  # Skip the marks of empty bold text, which `drop_empty_marks` removes.
        # In `**a:****b**`, the second mark closes and opens.
        is_double = opener is not None and len(run) == len(opener) + _DOUBLE == 2 * _DOUBLE
        for mark in (run[:_DOUBLE], run[_DOUBLE:]) if is_double else (run,):
            if opener is not None:
                if not _can_close_mark(state, mark):
                    return
                pairs.append((opener, mark))
                opener = None
            elif _can_open_mark(state, mark):
                opener = mark
    if all(first[0].open and last[0].close for first, last in pairs):
        return
    for pair in pairs:
        for is_opener, run in zip((True, False), pair, strict=True):
            for each in run:
                each.open, each.close = is_opener, not is_opener


def _are_formatting_marks(state: StateInline, first: list[Delimiter], last: list[Delimiter]) -> bool:
    """Return whether two marks format the text between them. Inside `**`, the text may have a space at one end, because
    GitBook wrote `**word **next` and `a** word**`. In `**args, **options` and `**/a **/b`, the marks are only text."""
    (before, start), (end, after) = _texts_around(state, first), _texts_around(state, last)
    is_start_spaced, is_end_spaced = start[:1].isspace(), end[-1:].isspace()
    if not is_start_spaced and not is_end_spaced:
        return True
    is_outside_spaced = (before[-1:] if is_start_spaced else after[:1]).isspace()
    is_one_line = all(_text_of(token) != "\n" for token in state.tokens[first[-1].token : last[0].token])
    is_text = end.rstrip().endswith(_JOINING_ENDS) or start[:1] == "/" or len(first) != _DOUBLE or len(last) != _DOUBLE
    return is_one_line and is_start_spaced != is_end_spaced and not is_outside_spaced and not is_text


def _can_open_mark(state: StateInline, run: list[Delimiter]) -> bool:
    before, after = _texts_around(state, run)
    return not after[:1].isspace() or before in _MARKS_NEXT_TO_BOLD


def _can_close_mark(state: StateInline, run: list[Delimiter]) -> bool:
    before, after = _texts_around(state, run)
    stripped = before.rstrip()
    if stripped == before or (stripped != "" and stripped[-1] in _SENTENCE_ENDS) or after in _MARKS_NEXT_TO_BOLD:
        return True
    # Spaces after code or an opening mark are part of the bold text, as in ``**`a` **`` and `** **`.
    is_after_code = run[0].token > 1 and _text_of(state.tokens[run[0].token - 2]) in ("", "*")
    return stripped == "" and is_after_code and after[:1].isspace()


def _texts_around(state: StateInline, run: list[Delimiter]) -> tuple[str, str]:
    first, last = run[0].token, run[-1].token
    before = _text_of(state.tokens[first - 1]) if first > 0 else "\n"
    return before, _text_of(state.tokens[last + 1]) if last + 1 < len(state.tokens) else "\n"


def _text_of(token: Token) -> str:
    return (
        "\n"
        if token.type in ("softbreak", "hardbreak")
        else token.content
        if token.type in ("text", "escaped_colon")
        else ""
    )
