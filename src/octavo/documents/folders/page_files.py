"""The file of a page: front matter and Markdown.

An existing file is changed as little as possible. Lines of front matter with the same meaning stay unchanged. Keys
that the API does not return, such as `tags`, stay too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from octavo.api.content import Page
from octavo.documents import front_matter, page_trees
from octavo.documents.yaml_values import write_entry

Json = dict[str, Any]

API_KEYS = (
    "title",
    "description",
    "hidden",
    "noIndex",
    "noRobotsIndex",
    "icon",
    "emoji",
    "cover",
    "coverY",
    "layout",
    "vars",
)
"""Keys of front matter that the API gives, in the order in which they are written."""
_FLAGS = {"hidden": "hidden", "no_index": "noIndex", "no_robots_index": "noRobotsIndex"}
_TEXTS = ("description", "icon", "emoji")
_KEY = re.compile(r"[\w$.-]+|\"[^\"]*\"|'[^']*'")
_LINE_END = re.compile(r"[ \t]*[\r\n]+\s*")
_BOM = "\ufeff"


@dataclass(frozen=True)
class PageFile:
    """The content of the file of a page. `text` is the whole file with line feeds, without a byte order mark."""

    text: str

    @classmethod
    def read(cls, data: bytes) -> PageFile:
        """Return the page in the bytes of a file. Raises UnicodeDecodeError."""
        return cls(normalize(data.decode("utf-8")))

    @cached_property
    def _start(self) -> int:
        return front_matter.split_page(self.text)[1]

    @property
    def front_matter_lines(self) -> str:
        """The lines of front matter without the lines of dashes. Empty if there is none."""
        return front_matter.split_page(self.text)[0]

    @property
    def body(self) -> str:
        """The Markdown of the page, without empty lines at its start."""
        return self.text[self._start :].lstrip("\n") if self._start else self.text

    @cached_property
    def matter(self) -> Json:
        """The front matter by key. Empty if it cannot be read."""
        try:
            return front_matter.parse(self.front_matter_lines)
        except front_matter.FrontMatterError:
            return {}

    @property
    def title(self) -> str:
        """The title that the file gives the page. Empty if it gives none."""
        return single_line(self.matter.get("title")) or page_trees.first_heading(self.body) or ""

    def fields(self) -> Json:
        """Return the fields of the page that an edit can change, except for the title, named as in `content.PageFields`."""
        values: Json = {name: single_line(self.matter.get(name)) or None for name in _TEXTS}
        return values | {name: self.matter.get(key) is True for name, key in _FLAGS.items()}

    def other_keys(self) -> Json:
        """Return the front matter that no edit can change, by key."""
        editable = {"title", *_TEXTS, *_FLAGS.values()}
        return {key: value for key, value in self.matter.items() if key not in editable}


def normalize(text: str) -> str:
    """Return a text with line feeds as line ends, one at its end, and without a byte order mark."""
    text = text.removeprefix(_BOM).replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    return f"{text}\n" if text else ""


def encode_like(text: str, data: bytes) -> bytes:
    """Return a normalized text as bytes, with the line ends and the byte order mark of `data`, the bytes of a file."""
    has_bom, crlf = data.startswith(_BOM.encode()), data.count(b"\r\n")
    if crlf and crlf == data.count(b"\n"):
        text = text.replace("\n", "\r\n")
    return f"{_BOM if has_bom else ''}{text}".encode("utf-8", "surrogatepass")


def write_page(page: Page, body: str, *, cover: str = "", existing: str = "") -> str:
    """Return the file of a page. `cover` is the link of its cover image, and `existing` the file as it is now."""
    body, before = body.lstrip("\n"), PageFile(existing)
    values = dict(_matter_of(page, cover))
    heading = page_trees.first_heading(body)
    if page.title and ("title" in before.matter or (heading is not None and page.title != heading)):
        values = {"title": page.title, **values}
    lines = _with_values(before.front_matter_lines, values)
    whole = with_front_matter(lines, body)
    return whole if whole.endswith("\n") or not whole else f"{whole}\n"


def merge_front_matter(base: str, mine: str, main: str, names: tuple[str, str]) -> list[str]:
    """Return the lines of front matter of three files, merged by key. Conflict markers with the `names` of both sides
    surround a key that they changed in different ways."""
    versions = [dict(_entries(PageFile(each).front_matter_lines)) for each in (base, mine, main)]
    merged: list[str] = []
    for key in dict.fromkeys([*versions[1], *versions[2]]):
        before, here, there = (each.get(key, []) for each in versions)
        if here in (before, there):
            merged += there
        elif there == before:
            merged += here
        else:
            merged += [f"<<<<<<< {names[0]}", *here, "=======", *there, f">>>>>>> {names[1]}"]
    return merged


def with_front_matter(lines: Sequence[str], body: str) -> str:
    """Return the file with lines of front matter and a body. If there are no lines, an empty line precedes a body that
    would be read as front matter."""
    if lines:
        return "".join(f"{line}\n" for line in ("---", *lines, "---", "")) + body
    return f"\n{body}" if front_matter.split_page(body)[1] else body


def _matter_of(page: Page, cover: str) -> Iterator[tuple[str, Any]]:
    """Yield the front matter of a page: each value that differs from its default."""
    if page.description:
        yield "description", page.description
    for name, key in _FLAGS.items():
        if getattr(page, name):
            yield key, True
    if page.icon:
        yield "icon", page.icon
    if page.emoji:
        yield "emoji", page.emoji
    if cover:
        yield "cover", cover
        position = page.cover.get("yPos") if isinstance(page.cover, dict) else 0
        yield "coverY", position if isinstance(position, int | float) else 0
    if isinstance(page.layout, dict) and (layout := _written_layout(page.layout)):
        yield "layout", layout
    if isinstance(page.variables, dict) and page.variables:
        yield "vars", page.variables


def _written_layout(layout: Json) -> Json:
    """Return a layout in the form of front matter. Empty if all its parts equal those in `DEFAULT_LAYOUT`."""
    known = {name: layout[name] for name in page_trees.DEFAULT_LAYOUT if name in layout}
    if all(known[name] == page_trees.DEFAULT_LAYOUT[name] for name in known):
        return {}
    written: Json = {}
    for name, value in known.items():
        if name == "coverSize":
            written.setdefault("cover", {})["size"] = value
        else:
            written[name] = {"visible": value} if isinstance(value, bool) else value
    return written


def read_layout(value: Any) -> Json:
    """Return the page layout in front matter as the API represents it."""
    layout: Json = {}
    for part, fields in value.items() if isinstance(value, dict) else ():
        if isinstance(fields, dict):
            if isinstance(fields.get("visible"), bool):
                layout[part] = fields["visible"]
            if part == "cover" and isinstance(fields.get("size"), str):
                layout["coverSize"] = fields["size"]
        elif isinstance(fields, str | bool):
            layout[part] = fields
    return layout


def _with_values(existing: str, values: Mapping[str, Any]) -> list[str]:
    """Return the lines of front matter in which the keys of the API have `values`. Lines with the same value, and lines
    with other keys, are unchanged."""
    entries = list(_entries(existing))
    known = {key for key, _ in entries}
    result: list[tuple[str, list[str]]] = []
    for key, lines in entries:
        value = values.get(key)
        old = front_matter.parse("\n".join(lines)).get(key)
        if key not in API_KEYS or _means(key, old, value):
            result.append((key, lines))
        elif value is not None:
            result.append((key, list(write_entry(key, _with_unknown_parts(value, old)))))
    for key in API_KEYS:
        if key in values and key not in known:
            later = API_KEYS[API_KEYS.index(key) + 1 :]
            place = next((number for number, (each, _) in enumerate(result) if each in later), len(result))
            result.insert(place, (key, list(write_entry(key, values[key]))))
    return [line for _, lines in result for line in lines]


def _entries(existing: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each key of front matter with its lines, and the comments before it."""
    key, lines, before = "", list[str](), list[str]()
    for line in existing.rstrip("\n").split("\n") if existing.strip() else ():
        found = _KEY.match(line)
        if found is not None and line[found.end() :].lstrip().startswith(":"):
            if key:
                yield key, lines
            key, lines, before = found[0].strip("\"'"), [*before, line], []
        elif key:
            lines.append(line)
        else:
            before.append(line)
    if key:
        yield key, lines


def _means(key: str, old: Any, value: Any) -> bool:
    """Return whether a value in a file means the same as the value of the API. None stands for a missing value."""
    if key == "layout":
        return bool(
            {**page_trees.DEFAULT_LAYOUT, **read_layout(old)}
            == {**read_layout(old), **page_trees.DEFAULT_LAYOUT, **read_layout(value)}
        )
    if key in _FLAGS.values():
        return (old is True) == (value is True)
    if key == "coverY":
        return _number(old) == _number(value)
    if value is None:
        return not old
    return bool(old == value or (isinstance(old, str) and isinstance(value, str) and old.split() == value.split()))


def _with_unknown_parts(value: Any, old: Any) -> Any:
    """Return `value` with the parts of `old` that `value` lacks, also in nested mappings. If one of them is not a
    mapping, return `value` unchanged."""
    if not isinstance(value, dict) or not isinstance(old, dict):
        return value
    return {
        **{key: _with_unknown_parts(inner, old.get(key)) for key, inner in value.items()},
        **{key: inner for key, inner in old.items() if key not in value},
    }


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0


def single_line(value: Any) -> str:
    """Return a text with a space in place of each line break. Empty if `value` is not a text."""
    return _LINE_END.sub(" ", value).strip() if isinstance(value, str) else ""
