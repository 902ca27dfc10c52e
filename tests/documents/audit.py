"""What must hold of any page that was read: nothing raw is left in its words, none of them is lost, and blocks stand
where they say. The words of a source are found here without the parser, so that it cannot vouch for itself."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from octavo.api.safety import text as safe
from octavo.documents.blocks import Block, Column, Document, Run, words

_WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]+")
_FRONT_MATTER = re.compile(r"---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_CODE = re.compile(r"^[ \t]*<pre\b.*?</pre>", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"[ \t>*+-]*(?:\d+[.)][ \t]+)?(`{3,}|~{3,})([^\n]*)")
_HIDDEN = re.compile(r"<!--.*?-->|<(script|style|svg)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"\{%.*?%\}", re.DOTALL)
_ELEMENT = re.compile(r"</?([a-zA-Z][\w-]*)(?:[\s/](?:\"[^\"]*\"|'[^']*'|[^<>\"'])*)?>")
_SHOWN_IN_TAGS = re.compile(
    r"\b(?:title|caption|description|summary|label|date|tags|path|method|name|alt|content)\s*=\s*\"([^\"]*)\"",
    re.IGNORECASE,
)
_TARGET = re.compile(r"\]\((?:<[^<>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)")
_REFERENCE = re.compile(r"\]\[[^\[\]]*\]")
_DEFINITION = re.compile(r"^ {0,3}\[(?!\^)[^\]]+\]:[ \t].*$", re.MULTILINE)
_NUMBER = re.compile(r"^[ \t>*+-]*\d+[.)](?=\s)", re.MULTILINE)
_OWN_ID = re.compile(r"\{#[\w.:-]+\}\s*$", re.MULTILINE)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_NOTHING = re.compile(r"&#x?NAN;", re.IGNORECASE)
_HIDDEN_SPANS = re.compile(r"<select\b.*?</select>|<option\b[^>]*>", re.DOTALL | re.IGNORECASE)
_TASK = re.compile(r"^[ \t>*+-]*(?:\d+[.)][ \t]+)?\[[xX ]\](?=\s)", re.MULTILINE)
_ICON = re.compile(r"<i\s+class=\"fa[^>]*>[^<]*</i>")

_SHOWN = (
    *("title", "alt", "description", "summary", "label", "name", "date", "tags", "path", "method", "host", "status"),
    *("expression", "url", "src", "target", "schemas", "spec", "arguments", "type", "in", "code", "notes"),
)
"""The attributes that are words on the screen."""


def source_words(source: str) -> Counter[str]:
    """The words a reader of the page should see."""
    source = safe(source)
    if match := _FRONT_MATTER.match(source):
        source = source[match.end() :]
    prose: list[str] = []
    found: Counter[str] = Counter()
    fence, indent = "", 0
    source = _CODE.sub(_take_code(found), source)
    for line in source.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence and "`" not in mark[2]:
            fence, indent = mark[1], len(line) - len(line.lstrip())
            prose.append("")
        elif mark and fence and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        elif fence and not (line.strip() and indent > len(line) - len(line.lstrip())):
            found.update(_WORD.findall(line))
        else:
            fence = ""
            prose.append(line)
    text = _HIDDEN.sub(" ", "\n".join(prose))
    text = _HIDDEN_SPANS.sub(" ", _ICON.sub(" ", text))
    text = _TAG.sub(lambda tag: f" {' '.join(_SHOWN_IN_TAGS.findall(tag[0]))} ", text)
    text = _TARGET.sub("]", _REFERENCE.sub("]", _DEFINITION.sub("", text)))
    text = _NUMBER.sub("", _TASK.sub("", _OWN_ID.sub("", text)))
    text = _ELEMENT.sub(" ", text)
    text = html.unescape(_NOTHING.sub("", _ESCAPE.sub(r"\1", text)))
    found.update(_WORD.findall(safe(text)))
    return found


def _take_code(found: Counter[str]) -> Callable[[re.Match[str]], str]:
    def take(code: re.Match[str]) -> str:
        found.update(_WORD.findall(_as_shown(_ELEMENT.sub(" ", code[0]))))
        return "\n"

    return take


def tree_words(blocks: Iterable[Block]) -> Counter[str]:
    """The words the tree shows."""
    found: Counter[str] = Counter()
    for block in blocks:
        for each in block.walk():
            # In the source marks stand between runs; on the screen they make one word.
            apart = Counter(_found(run.text for run in each.runs))
            joined = Counter(_found(_said(each)))
            found += joined | apart
    return found


def _found(texts: Iterable[str]) -> list[str]:
    return [word for text in texts for word in _WORD.findall(text)]


def _said(block: Block) -> Iterator[str]:
    yield block.text
    yield from _said_by_runs(block.runs)
    for name, value in block.attrs.items():
        if name in _SHOWN:
            yield from _texts(value)
        elif name == "columns":
            for column in value:
                yield from _said_by_column(column)


def _said_by_column(column: Column) -> Iterator[str]:
    yield from _said_by_runs(column.title)
    yield from column.options.values()


def _said_by_runs(runs: tuple[Run, ...]) -> Iterator[str]:
    yield words(tuple(run for run in runs if run.kind not in ("emoji", "footnote") or run.attrs.get("inline")))
    for run in runs:
        yield from _texts([value for name, value in run.attrs.items() if name in _SHOWN and name != "src"])
        if run.kind == "footnote":
            yield run.attrs["label"]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)


def lost(document: Document) -> Counter[str]:
    """The words of the source that the tree does not show."""
    return source_words(document.source) - tree_words(document.blocks)


def raw_tags(document: Document) -> list[str]:
    """Words, outside code, in which a tag is left as it was written."""
    return [
        run.text
        for block in document.walk()
        for run in block.runs
        if run.kind not in ("code", "math") and "{%" in run.text
    ]


def misplaced(document: Document) -> list[str]:
    """Blocks whose lines are not those they stand on."""
    lines = document.source.split("\n")
    wrong = list(_out_of_order(document.blocks, 0, len(lines)))
    for block in document.walk():
        first, last = block.lines
        raw = "\n".join(lines[first:last])
        # In code, what looks like an entity or an escape is none.
        there = Counter(_found([raw])) | Counter(_found([_as_shown(raw)]))
        own = block.text or "\n".join(run.text for run in block.runs if run.kind in ("text", "code"))
        letters = "".join(there)
        if missing := [word for word in Counter(_found([own])) - there if not word.isdecimal() and word not in letters]:
            wrong.append(f"{block.kind} of lines {first + 1}-{last} lacks there {missing[:5]}")
    return wrong


def _as_shown(source: str) -> str:
    return safe(html.unescape(_NOTHING.sub("", _ESCAPE.sub(r"\1", source))))


def _out_of_order(blocks: tuple[Block, ...], first: int, last: int) -> Iterator[str]:
    after = first
    for block in blocks:
        begins, ends = block.lines
        if not first <= begins < ends <= last:
            yield f"{block.kind} of lines {begins + 1}-{ends} stands beyond {first + 1}-{last}"
        if begins < after and block.kind not in ("footnotes", "footnote"):
            yield f"{block.kind} of lines {begins + 1}-{ends} stands before {after + 1}"
        after = begins
        yield from _out_of_order(block.children, begins, ends)
