"""What platform markdown adds to CommonMark, as rules of the markdown parser: tags, HTML over blank lines, formulas."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock, fence
from markdown_it.rules_block.table import escapedSplit, getLine, table
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_tail

from octavo.documents.blocks import Diagnostic
from octavo.documents.containers import is_known_tag
from octavo.documents.emphasis import drop_empty_bold, pair_delimiters
from octavo.documents.html import NAN_ENTITY, decode, find_element_end, find_loose_element_end
from octavo.documents.html_rule import html_block
from octavo.documents.limits import MAX_ROW_LENGTH, max_table_rows
from octavo.documents.tags import Tag, TagScanner

MAX_BLOCK_DEPTH = 32
"""Below this many nested lists, items and quotes the source is shown as it is."""

_MAX_FORMULA_LINES = 200
_MAX_INLINE_FORMULA = 4000
_MAX_LOOSE_BRACKETS = 500
_LINKED_MENTION = re.compile(
    r'\[([^\[\]\n]{0,200}\[[^\[\]\n]{1,400}\]\([^()\n]{1,900}[ ]"mention"\)[^\[\]\n]{0,200})\]\([^()\n]{0,900}\)'
)
_FENCE_BEFORE_TAG = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*(?=\{%-?\s*end)", re.MULTILINE)
_CODE_IN_A_LINE = re.compile(r"(`{3,})([^`]+)\1[ \t]*(?:\{%.*)?")
_MATH_ELEMENT = re.compile(r'<span\s+class="math(?:\s[^"<>]*)?"\s*>')


class _Markdown(MarkdownIt):
    """Addresses stay as they are written. Where a link may lead is decided when it is followed."""

    def normalizeLink(self, url: str) -> str:
        return url

    def validateLink(self, url: str) -> bool:
        return True


@cache
def parser() -> MarkdownIt:
    """The parser. Its rules want what `chunks` puts into the environment."""
    markdown = _Markdown("commonmark", {"html": True, "maxNesting": MAX_BLOCK_DEPTH + 4})
    markdown.enable(["table", "strikethrough"])
    markdown.use(footnote_plugin)
    markdown.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list", "table"]}
    markdown.block.ruler.before("table", "too_deep", _too_deep)
    markdown.block.ruler.before("table", "platform_tag", _tag, interrupts)
    markdown.block.ruler.before("fence", "platform_math", _math, interrupts)
    markdown.block.ruler.at("fence", _fence, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    markdown.block.ruler.at("html_block", html_block, {"alt": ["paragraph", "reference", "blockquote"]})
    markdown.inline.ruler.before("escape", "platform_math", _inline_math)
    markdown.inline.ruler.before("escape", "platform_tag", _inline_tag)
    markdown.inline.ruler.before("escape", "entity_of_nothing", _nan_entity)
    markdown.inline.ruler.before("escape", "trailing_break", _trailing_break)
    markdown.inline.ruler.before("html_inline", "placeholder", _placeholder)
    markdown.inline.ruler.after("html_inline", "loose_element", _loose_element)
    markdown.inline.ruler.before("link", "many_brackets", _many_brackets)
    markdown.inline.ruler.before("link", "mention_in_link", _mention_in_link)
    markdown.inline.ruler2.before("balance_pairs", "marked_as_written", pair_delimiters)
    markdown.inline.ruler2.before("fragments_join", "bold_of_nothing", drop_empty_bold)
    return markdown


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.level < MAX_BLOCK_DEPTH or silent:
        return False
    last = start
    while last < end and (state.isEmpty(last) or state.sCount[last] >= state.blkIndent):
        last += 1
    _push_source(state, start, last, "This block has too many nested levels, so it is shown as source.")
    return True


def _push_source(state: StateBlock, start: int, end: int, why: str) -> None:
    token = state.push("code_block", "code", 0)
    token.content = state.getLines(start, end, state.blkIndent, True)
    token.map = [start, end]
    token.meta = {"source": True}
    state.env["diagnostics"].append(Diagnostic(start, why))
    state.line = end


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Tables as they are everywhere, but that cells beyond the last column stay in it: nobody meant them to go."""
    if state.eMarks[start] - state.bMarks[start] > MAX_ROW_LENGTH or not table(state, start, end, True):
        return False
    if silent:
        return True
    first, pipes = len(state.tokens), state.src.count("|", state.bMarks[start], state.eMarks[start])
    limit = min(end, start + 2 + max_table_rows(max(1, pipes - 1)))
    if len(state.src) > MAX_ROW_LENGTH:
        too_long = (line for line in range(start, limit) if state.eMarks[line] - state.bMarks[line] > MAX_ROW_LENGTH)
        limit = next(too_long, limit)
    if not table(state, start, limit, False):
        return False
    if state.line == limit < end and not state.isEmpty(limit):
        _rest_of_table(state, limit, end)
    columns = 0
    for token in state.tokens[first:]:
        if token.type == "th_open":
            columns += 1
        elif token.type == "tr_open" and token.map:
            row = getLine(state, token.map[0])
        elif token.type == "inline":
            last = token
        elif token.type == "tr_close" and row.count("|") > columns:
            cells = escapedSplit(row.strip())
            cells = cells[1:] if not cells[0] else cells
            cells = cells[:-1] if cells and not cells[-1] else cells
            if len(cells) > columns:
                last.content = "|".join(cells[columns - 1 :]).strip()
    return True


def _rest_of_table(state: StateBlock, start: int, end: int) -> None:
    """The rows of a table that are too many to be laid out."""
    last = start
    while last < end and not state.isEmpty(last) and state.sCount[last] >= state.blkIndent:
        last += 1
    _push_source(state, start, last, "This table has too many cells, so the rest is shown as source.")


def _tag(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    state.env["window"].look()
    position = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith("{%", position) or state.is_code_block(start):
        return False
    scanner: TagScanner = state.env["tags"]
    tag = scanner.at(position)
    if tag is None:
        if not silent:
            state.env["diagnostics"].append(Diagnostic(start, "This tag is not closed, so it is shown as text."))
        return False
    line = start
    while line < end and state.eMarks[line] < tag.end:
        line += 1
    if line >= end:
        return False
    if silent:
        return True
    if _code_in_tag(state, tag, start, line):
        return True
    _push_tag(state, tag, start, line)
    position = tag.end
    if _fence_after_tag(state, position, line, end):
        return True
    _push_rest(state, position, line)
    state.line = line + 1
    return True


def _code_in_tag(state: StateBlock, tag: Tag, start: int, line: int) -> bool:
    """Take what stands in a tag that the platform does not know and that names a language: code, as plugins write it."""
    if is_known_tag(tag.closes or tag.name) or not tag.arguments.get("lang"):
        return False
    found = state.env["finder"].after(f"end{tag.name}", tag.end)
    opening = state.src.rfind("{%", tag.end, found)
    closing = state.env["tags"].at(opening) if opening >= 0 else None
    last = bisect_right(state.eMarks, opening, line)
    if closing is None or closing.closes != tag.name or last == line or closing.end > state.eMarks[last]:
        return False
    again = _reopened_line(state, tag, opening)
    last = again if again >= 0 else last
    token = state.push("fence", "code", 0)
    token.info, token.map = tag.arguments["lang"], [start, last if again >= 0 else last + 1]
    end_of_code = last
    while state.isEmpty(end_of_code - 1):
        end_of_code -= 1
    token.content = state.getLines(line + 1, end_of_code, state.sCount[start], True)
    if again < 0:
        _push_rest(state, closing.end, last)
        last += 1
    state.line = last
    return True


def _reopened_line(state: StateBlock, tag: Tag, end: int) -> int:
    """The line that begins with another tag of this name before it is closed, or -1: its own end was forgotten."""
    position = tag.end
    while (position := state.src.find("{%", position, end)) >= 0:
        other = state.env["tags"].at(position)
        line = bisect_right(state.eMarks, position)
        if other is not None and other.name == tag.name and state.bMarks[line] + state.tShift[line] == position:
            return line
        position += 2
    return -1


def _push_rest(state: StateBlock, position: int, line: int) -> None:
    """What stands behind a tag on its line: more tags, and words."""
    scanner: TagScanner = state.env["tags"]
    while True:
        line_end = state.eMarks[line]
        while position < line_end and state.src[position] in " \t":
            position += 1
        another = scanner.at(position) if state.src.startswith("{%", position) else None
        if another is None or another.end > line_end:
            break
        _push_tag(state, another, line, line)
        position = another.end
    if rest := state.src[position:line_end].strip():
        _push_paragraph(state, rest, line)


def _fence_after_tag(state: StateBlock, position: int, line: int, end: int) -> bool:
    """Take the code whose fence stands behind a tag on its line, as if it began there."""
    while state.src.startswith((" ", "\t"), position):
        position += 1
    if not state.src.startswith(("```", "~~~"), position):
        return False
    if code := _CODE_IN_A_LINE.fullmatch(state.src, position, state.eMarks[line]):
        token = state.push("fence", "code", 0)
        token.content, token.map = code[2].strip() + "\n", [line, line + 1]
        _push_rest(state, code.end(2) + len(code[1]), line)
        state.line = line + 1
        return True
    begins = state.bMarks[line], state.tShift[line], state.sCount[line]
    state.bMarks[line], state.tShift[line], state.sCount[line] = position, 0, state.blkIndent
    is_taken = _fence(state, line, end, False)
    state.bMarks[line], state.tShift[line], state.sCount[line] = begins
    return is_taken


def _fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Code in a fence, which closes where an end tag stands behind the closing fence too."""
    if not state.src.startswith(("`", "~"), state.bMarks[start] + state.tShift[start]):
        return False
    is_code = fence(state, start, end, silent)
    if silent or not is_code:
        return is_code
    token = state.tokens[-1]
    closing = _FENCE_BEFORE_TAG.search(token.content) if "{%" in token.content else None
    if closing is None or not closing[1].startswith(token.markup):
        return True
    line = start + 1 + token.content.count("\n", 0, closing.start())
    token.content, token.map = token.content[: closing.start()], [start, line + 1]
    _push_rest(state, state.src.index("{%", state.bMarks[line]), line)
    state.line = line + 1
    return True


def _push_tag(state: StateBlock, tag: Tag, first: int, last: int) -> None:
    token = state.push("platform_tag", "", 0)
    token.meta = {"tag": tag}
    token.map = [first, last + 1]


def _push_paragraph(state: StateBlock, content: str, line: int) -> None:
    opening = state.push("paragraph_open", "p", 1)
    opening.map = [line, line + 1]
    inline = state.push("inline", "", 0)
    inline.content, inline.map, inline.children = content, [line, line + 1], []
    state.push("paragraph_close", "p", -1)


def _inline_tag(state: StateInline, silent: bool) -> bool:
    if not state.src.startswith("{%", state.pos):
        return False
    known: tuple[str, TagScanner] | None = state.env.get("inline_tags")
    if known is None or known[0] is not state.src:
        known = (state.src, TagScanner(state.src))
        state.env["inline_tags"] = known
    tag = known[1].at(state.pos)
    if tag is None or tag.end > state.posMax:
        return False
    if not silent:
        words = state.src[state.pos + 2 : tag.end - 2].strip(" -\n")
        if is_known_tag(tag.closes or tag.name) and state.linkLevel == 0:
            token = state.push("platform_tag", "", 0)
            token.meta = {"tag": tag}
            token.content = words
        else:
            state.push("platform_tag_in_text", "", 0).content = words
    state.pos = tag.end
    return True


def _nan_entity(state: StateInline, silent: bool) -> bool:
    """What the platform writes where it means to keep a character apart from a mark, and there is none."""
    found = NAN_ENTITY.match(state.src, state.pos)
    if found:
        state.pos = found.end()
    return found is not None


def _trailing_break(state: StateInline, silent: bool) -> bool:
    """The break that the platform's editor leaves at the end of a text: nothing comes after it to be parted."""
    if state.src[state.pos] != "\\" or state.pos + 1 < len(state.src):
        return False
    state.pos += 1
    return True


def _placeholder(state: StateInline, silent: bool) -> bool:
    """Names in angle brackets that are words: `<token>`, which HTML does not have and nobody closes."""
    if not state.src.startswith("<", state.pos):
        return False
    end = state.env["placeholders"].end_in_words(state.src, state.pos)
    if end is None:
        return _long_element(state, silent)
    if end > state.posMax:
        return False
    if not silent:
        state.pending += state.src[state.pos : end]
    state.pos = end
    return True


def _long_element(state: StateInline, silent: bool) -> bool:
    """An element so long that to read it as markdown-it does takes too much memory."""
    if state.src.find(">", state.pos, state.pos + MAX_ROW_LENGTH) >= 0:
        return False
    return _take_element(state, find_element_end(state.src, state.pos), silent)


def _loose_element(state: StateInline, silent: bool) -> bool:
    """An element of HTML with attributes that CommonMark does not know, as of other systems: `style={{ width: '50%' }}`.
    Browsers take it for one too."""
    return _take_element(state, find_loose_element_end(state.src, state.pos), silent)


def _take_element(state: StateInline, end: int | None, silent: bool) -> bool:
    if end is None or end > state.posMax:
        return False
    if not silent:
        state.push("html_inline", "", 0).content = state.src[state.pos : end]
    state.pos = end
    return True


def _many_brackets(state: StateInline, silent: bool) -> bool:
    """Of text with hundreds of brackets that make no links, brackets are words: to look for links takes too long."""
    if not state.src.startswith(("[", "!["), state.pos):
        return False
    known: tuple[str, bool] | None = state.env.get("brackets")
    if known is None or known[0] is not state.src:
        made = state.src.count("](") + state.src.count("][") + state.src.count("[^")
        known = (state.src, state.src.count("[") > _MAX_LOOSE_BRACKETS + 3 * made)
        state.env["brackets"] = known
    if known[1]:
        if not silent:
            state.pending += state.src[state.pos]
        state.pos += 1
    return known[1]


def _mention_in_link(state: StateInline, silent: bool) -> bool:
    """A link around a mention, as the platform writes it: the words of both, of which the mention leads to its page. One link
    cannot stand in another, so that the outer one would be shown as brackets."""
    if not state.src.startswith("[", state.pos) or (outer := _LINKED_MENTION.match(state.src, state.pos)) is None:
        return False
    if outer.end() > state.posMax:
        return False
    if not silent:
        last = state.posMax
        state.pos, state.posMax = outer.span(1)
        state.md.inline.tokenize(state)
        state.posMax = last
    state.pos = outer.end()
    return True


def _math(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    position = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith("$$", position) or state.is_code_block(start):
        return False
    first = state.src[position + 2 : state.eMarks[start]].rstrip()
    if "$$" in first:
        if not first.endswith("$$") or "$$" in first[:-2]:
            return False
        body, after = first[:-2], start + 1
    else:
        ends: list[int] = state.env["formula_ends"]
        following = bisect_right(ends, state.eMarks[start])
        if following == len(ends):
            return False
        if ends[following] > len(state.src):
            state.env["window"].is_short = True
            return False
        last = bisect_right(state.eMarks, ends[following], start, end)
        if not start < last < min(end, start + _MAX_FORMULA_LINES):
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


def _inline_math(state: StateInline, silent: bool) -> bool:
    """A formula between `$$`, or in the element that the platform writes in captions and cells."""
    if not state.src.startswith(("$$", "<s"), state.pos):
        return False
    start, closing = state.pos + 2, "$$"
    if state.src[state.pos] == "<":
        if (element := _MATH_ELEMENT.match(state.src, state.pos)) is None:
            return False
        start, closing = element.end(), "</span>"
    end = state.src.find(closing, start, min(state.posMax, state.pos + _MAX_INLINE_FORMULA))
    if end <= start:
        return False
    if not silent:
        formula = state.src[start:end].strip()
        state.push("platform_math", "", 0).content = formula if closing == "$$" else decode(formula)
    state.pos = end + len(closing)
    return True


def append_footnotes(state: StateCore) -> None:
    """Make the definitions of footnotes a list of them. Those that only HTML refers to count as referred to: the plugin
    would drop them."""
    footnotes = state.env["footnotes"]
    for name, number in list(footnotes["refs"].items()):
        if number < 0:
            footnotes["refs"][name] = len(footnotes["list"])
            footnotes["list"][len(footnotes["list"])] = {"label": name[1:], "count": 0}
    footnote_tail(state)
