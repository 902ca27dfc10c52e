"""Sorts the changes of a page by what they may break: numbers, units, commands, code, links and warnings before
wording.
Words are recognized in English, and numbers in all scripts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, get_args

from octavo.documents.blocks import UNMARKED_CONTAINERS, Block, Run, plain_text
from octavo.documents.diff_model import (
    AddedBlock,
    AttributeChange,
    CellChange,
    ChangedBlock,
    CodeChange,
    ColumnPair,
    ContainerChange,
    ContentChange,
    DiffEntry,
    MovedBlock,
    RemovedBlock,
    RestructuredBlocks,
    RowChange,
    TableChange,
    TextChange,
    TextPart,
)
from octavo.documents.diff_text import diff_runs, slices


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_URL = re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s<>\"'`)\]]+|mailto:[^\s<>\"'`)\]]+", re.IGNORECASE)
_TOKEN = re.compile(
    r"0[xX][0-9a-fA-F]+|[^\W\d_]+\d[^\W_]*|\d+[^\W\d_]+\d[^\W_]*"  # 0xff, v2, 9f8e
    r"|"
    r"(?:(?<![\w.)\]])[+\-−])?\d(?:[\d.,:]*\d)?"  # 5, -5, 1,000.50, 10:30, 2.0.1
    r"|(?<![-=])[<>](?:=|(?=\s?[+\-−$€£¥]?\.?\d))|(?<=\d\s)[<>](?=\s)"  # comparison signs, but not in List<Fee>
    r"|[≤≥≠±~≈](?=\s?\d)"
    r"|[^\W\d_]+(?:['’][^\W\d_]+)*"
    r"|[‰°€£¥]|(?<=\d)%|[%$](?![A-Za-z_({])"  # % and $, but not in %(name)s and $HOME
)

_NUMBER_WORDS = word_set(
    "zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"
    " nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half twice double"
    " triple minimum maximum < > <= >= ≤ ≥ ≠ ± ~ ≈"
)
"""Words and signs that are recognized as numbers. “One” is left out, because it rarely is a number."""
_LIMIT = re.compile(
    rf"\bat (least|most)\b|\bup (to)\s+(?=[$€£¥~]?\d|(?:one|{'|'.join(filter(str.isalpha, sorted(_NUMBER_WORDS)))})\b)"
    r"|\b(less|more|fewer|greater) than\b",
    re.IGNORECASE,
)
_WARNING_WORDS = word_set(
    "not never no none must cannot only required optional mandatory deprecated forbidden avoid unless except warning"
    " caution danger dangerous irreversible irreversibly permanently unsupported insecure shall"
)
_NEGATIONS = {"cannot": "not", "can't": "not", "won't": "not", "without": "not"}
_LONG_UNITS = {
    "milliseconds": "ms", "millisecond": "ms", "msec": "ms", "microseconds": "µs", "nanoseconds": "ns", "seconds": "s",
    "secs": "s", "minutes": "min", "mins": "min", "hours": "h", "hrs": "h", "days": "d", "weeks": "wk", "months": "mo",
    "years": "y", "bytes": "B", "kilobytes": "KB", "megabytes": "MB", "gigabytes": "GB", "terabytes": "TB",
    "percent": "%", "dollars": "$", "euros": "€", "pixels": "px", "meters": "m", "metres": "m", "kilometers": "km",
    "kilometres": "km", "miles": "mi", "feet": "ft", "inches": "in", "celsius": "C", "fahrenheit": "F",
}  # fmt: skip
"""Names of units that are recognized even without a number, each with its short form."""
_SHORT_UNITS = {
    "second": "s", "sec": "s", "minute": "min", "hour": "h", "hr": "h", "day": "d", "week": "wk", "month": "mo", "year": "y",
    "byte": "B", "pixel": "px", "dollar": "$", "euro": "€", "inch": "in", "foot": "ft", "mile": "mi",
}  # fmt: skip
"""Names of units that are recognized only after a number, each with its short form."""
_CASED_UNITS = word_set(
    "ns µs us ms s min h d wk mo y B KB MB GB TB PB kB KiB MiB GiB TiB b kb Mb Gb kbit Mbit Gbit bps Kbps kbps Mbps Gbps"
    " Hz kHz MHz GHz px pt em rem dpi mm cm m km mi ft mg g kg lb oz ml V mV kV mA W kW MW Wh kWh Pa hPa kPa bar psi"
    " C F K dB rpm USD EUR GBP CHF JPY k M"
)
"""Symbols of units that are recognized only after a number, and only in this upper and lower case."""
_SIGNS = frozenset("%‰°$€£¥")
_LONE_UNITS = word_set("ms KB MB GB TB KiB MiB GiB kHz MHz GHz USD EUR Mbps Gbps")
"""Symbols of units that are recognized even without a number, as in “Timeout (ms)”."""


@dataclass(frozen=True, slots=True)
class TextFacts:
    """The numbers, units, warning words and URLs of a text."""

    numbers: tuple[str, ...] = ()
    """The numbers without their units, then the words that limit a number, such as `most` for “at most”."""
    units: tuple[str, ...] = ()
    """The units in the order of the text, each in its short form, such as `ms` for milliseconds."""
    warning_words: Counter[str] = field(default_factory=Counter)
    """Number of occurrences of each warning word. “Cannot”, “without” and words such as “don't” count as “not”."""
    urls: tuple[str, ...] = ()


def text_facts(text: str) -> TextFacts:
    """Return the numbers, units, warning words and URLs of a text."""
    numbers: list[str] = []
    units: list[str] = []
    warnings: Counter[str] = Counter()
    urls: list[str] = []
    for part in slices(text):
        urls += _URL.findall(part)
        is_after_number = False
        for token in (match[0] for match in _TOKEN.finditer(_URL.sub(" ", part))):
            is_number = any(map(str.isdigit, token))
            if is_number:
                numbers.append(token.lower())
                is_number = not token[0].isalpha()  # After “web3”, the “s” of “web3's” is no unit.
            elif (unit := short_unit(token, is_after_number=is_after_number)) is not None:
                units.append(unit)
            elif token.lower() in _NUMBER_WORDS:
                numbers.append(token.lower())
                is_number = token[0].isalpha()
            elif (word := _warning_word(token)) is not None:
                warnings[word] += 1
            is_after_number = is_number
        for match in _LIMIT.finditer(part):
            numbers.append(next(filter(None, match.groups())).lower())
    return TextFacts(tuple(numbers), tuple(units), warnings, tuple(urls))


def short_unit(token: str, *, is_after_number: bool) -> str | None:
    """Return the short form of a unit, else None. If `is_after_number`, letters such as `s` count as units, too."""
    if token in _SIGNS or token in _LONE_UNITS:
        return token
    if (unit := _LONG_UNITS.get(token.lower())) is not None:
        return unit
    if not is_after_number:
        return None
    return _SHORT_UNITS.get(token.lower()) or (token if token in _CASED_UNITS else None)


def _warning_word(token: str) -> str | None:
    word = token.lower().replace("’", "'")
    if word.endswith("n't"):
        return "not"
    word = _NEGATIONS.get(word, word)
    return word if word in _WARNING_WORDS else None


ChangeKind = Literal[
    "number", "unit", "command", "code", "link", "warning", "deletion", "addition", "setting", "wording", "move",
    "formatting", "white space",
]  # fmt: skip
"""Kinds of changes by what they affect, the most important first. `number` includes moved steps of a numbered list,
`link` the URLs of images, and `warning` words such as “not”."""
KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)
KEEPING_MEANING: frozenset[ChangeKind] = frozenset({"move", "formatting", "white space"})
"""Kinds of changes that do not affect what the page says."""
RISKY: frozenset[ChangeKind] = frozenset(KINDS[: KINDS.index("deletion") + 1])
"""Kinds of changes that a reviewer should see first."""
_RANKS = {kind: rank for rank, kind in enumerate(KINDS)}
_PLURALS: Mapping[ChangeKind, str] = {
    kind: kind for kind in KINDS if kind in ("code", "wording", "formatting", "white space")
}
NO_KINDS: frozenset[ChangeKind] = frozenset()

_MIN_DELETED_WORDS = 4
"""Minimum number of adjacent deleted words that count as `deletion`, if no words replaced them."""
_SHELLS = word_set("bash sh shell console zsh fish powershell ps1 pwsh cmd bat batch terminal shell-session")
_PROGRAMS = word_set(
    "apt apt-get aws az brew bun bundle cargo cat cd chmod chown composer conda cp curl deno docker dotnet export gcloud gem"
    " gh git go gradle helm java kubectl ln make mkdir mv mvn node npm npx pip pip3 pipx pnpm poetry psql python python3 rm"
    " rsync ruby rustup scp sed ssh sudo systemctl tar terraform touch uv wget winget yarn"
)
_COMMAND = re.compile(
    rf"\s*(?:[$>][ \t]+\S|(?:{'|'.join(map(re.escape, sorted(_PROGRAMS)))})\s+\S|[\w./-]+(?:\s+\S+)*?\s+--?[a-zA-Z])"
)
_MEANINGFUL_MARKS = frozenset({"strike", "sub", "sup"})
"""Marks that change the meaning of words, as in 10²."""
_WARNING_STYLES = frozenset({"warning", "danger"})
_CODE_BLOCKS = frozenset({"code", "math", "openapi", "api-method", "integration", "prompt"})
_CODE_ATTRIBUTES = word_set("method path host operation schemas webhook type in language expression arguments")
_LINK_ATTRIBUTES = word_set("url src dark link target cover cover_dark href spec include")
_LOOK_ATTRIBUTES = word_set(
    "align aligned valign dir tight spaced wrap numbers expandable full_width highlighted header_hidden header_sticky"
    " search size titles_hidden icon width height frame open expanded format grouped level color background drawing"
    " colspan rowspan head formatting fallback"
)
"""Attributes that affect only how a block looks."""
_NAME_ATTRIBUTES = frozenset({"id", "slug"})
"""Attributes whose value is a name, such as `slug`. Numbers in a name do not count as changed numbers."""
_SWITCH_VALUES = frozenset({"yes", "no", None})
"""Values of an attribute that is on or off. Their “no” does not count as a warning word."""
_IN_WARNING: frozenset[ChangeKind] = frozenset({"warning"})
_STEP_NUMBER: frozenset[ChangeKind] = frozenset({"number"})


def leading_kind(kinds: Collection[ChangeKind]) -> ChangeKind:
    """Return the most important of `kinds`. Raises ValueError if `kinds` is empty."""
    return min(kinds, key=_RANKS.__getitem__)


def may_affect_meaning(kinds: Collection[ChangeKind]) -> bool:
    """Return whether a change of these kinds may affect what the page says."""
    return not KEEPING_MEANING.issuperset(kinds)


def describe_counts(counts: Mapping[ChangeKind, int]) -> str:
    """Return the counts of the kinds as text, such as `2 numbers, 1 link`. The most important kinds are first."""
    return ", ".join(
        f"{counts[kind]} {kind if counts[kind] == 1 else _PLURALS.get(kind, f'{kind}s')}"
        for kind in KINDS
        if counts.get(kind)
    )


def risk_sort_key(kinds: Collection[ChangeKind]) -> tuple[int, bool]:
    """Return a sort key for a change of these kinds: important changes first, and changed text before added text."""
    return _RANKS[leading_kind(kinds)], "addition" in kinds


class ChangeKinds:
    """The kinds of change of each entry of a diff."""

    def __init__(self, entries: Sequence[DiffEntry] = ()) -> None:
        self._entries = entries  # Keeps the entries alive, because `_by_entry` uses their `id()` as keys.
        self._by_entry: dict[int, frozenset[ChangeKind]] = {}
        self._counts: Counter[ChangeKind] = Counter()
        self._add(entries, is_in_warning=False, are_steps=False)

    def of(self, entry: DiffEntry) -> frozenset[ChangeKind]:
        """Return the kinds of change of an entry and its changed rows, without other inner entries. Empty if none."""
        return self._by_entry.get(id(entry), NO_KINDS)

    @property
    def counts(self) -> Mapping[ChangeKind, int]:
        """Number of changes by kind, the most important first. A change counts only for its most important kind."""
        return {kind: self._counts[kind] for kind in KINDS if self._counts[kind]}

    def _add(self, entries: Sequence[DiffEntry], *, is_in_warning: bool, are_steps: bool) -> None:
        for entry in entries:
            kinds = frozenset(_kinds(entry))
            if is_in_warning and may_affect_meaning(kinds):
                kinds |= _IN_WARNING
            if are_steps and isinstance(entry, MovedBlock):
                kinds |= _STEP_NUMBER
            if kinds:
                self._by_entry[id(entry)] = kinds
                self._counts[leading_kind(kinds)] += not isinstance(entry, MovedBlock) or entry.is_arrival
            inner_entries, container_versions = _inner_entries(entry)
            if inner_entries:
                self._add(
                    inner_entries,
                    is_in_warning=is_in_warning or any(map(_is_warning, container_versions)),
                    are_steps=any(map(_has_steps, container_versions)),
                )


def _inner_entries(entry: DiffEntry) -> tuple[Sequence[DiffEntry], tuple[Block, ...]]:
    """Return the entries inside `entry`, and the versions of the block around these entries. Either may be empty."""
    match entry:
        case AddedBlock(block, inner) | RemovedBlock(block, inner):
            return inner, (block,)
        case ChangedBlock(content_change=ContainerChange(entries=inner)):
            return inner, (entry.old, entry.new)
        case MovedBlock(content_change=ContainerChange(entries=inner), is_arrival=True):
            return inner, (entry.old, entry.new)
        case RestructuredBlocks(entries=inner) if not entry.is_replaced:
            return inner, ()
    return (), ()


def _kinds(entry: DiffEntry) -> Iterator[ChangeKind]:
    match entry:
        case AddedBlock(block, inner):
            yield from _container_kinds(block, "addition") if inner else _added_kinds(block)
        case RemovedBlock(block, inner):
            yield from _container_kinds(block, "deletion") if inner else _removed_kinds(block)
        case ChangedBlock(old, new, settings, content_change):
            yield from _changed_kinds(old, new, settings, content_change)
        case MovedBlock(old, new, is_arrival=is_arrival, content_change=content_change, settings=settings):
            yield "move"
            if is_arrival:
                yield from (
                    _changed_kinds(old, new, settings, content_change) if content_change is not None or settings else ()
                )
        case RestructuredBlocks(old, new) if entry.is_replaced or not entry.entries:
            for block in new:
                yield from _added_kinds(block)
            for block in old:
                yield from _removed_kinds(block)
            if entry.note and not (old or new):
                yield "formatting"  # The entry is only a note about the next entry.
        case RestructuredBlocks(old, new, note) if note:
            yield "formatting"
            for block in (*old, *new):
                if block.children:
                    yield from _container_kinds(block, "deletion" if block in old else "addition")


def _container_kinds(block: Block, kind: ChangeKind) -> Iterator[ChangeKind]:
    """Yield the kinds of change for a container that was added or removed (`kind`) around content that stayed."""
    if _is_warning(block):
        yield "warning"
    if block.kind in ("conflict", "if"):
        yield "setting"
    text = plain_text(block.runs) or str(block.attrs.get("title") or "")
    if text.strip():
        yield kind
    elif block.kind not in UNMARKED_CONTAINERS:
        yield "formatting"


def _added_kinds(block: Block) -> Iterator[ChangeKind]:
    yield "addition"
    facts = text_facts(block.plain())
    if facts.numbers:
        yield "number"
    if facts.units:
        yield "unit"
    if facts.urls:
        yield "link"
    for each in block.walk():
        yield from _content_kinds(each)


def _content_kinds(block: Block) -> Iterator[ChangeKind]:
    if _is_warning(block):
        yield "warning"
    if block.kind in _CODE_BLOCKS:
        yield "command" if _is_command_block(block) else "code"
    if any(block.attrs.get(name) for name in _LINK_ATTRIBUTES):
        yield "link"
    for run in block.runs:
        if run.link or run.attrs.get("src"):
            yield "link"
        if _is_code(run):
            yield "command" if _COMMAND.match(run.text) else "code"


def _removed_kinds(block: Block) -> Iterator[ChangeKind]:
    yield "deletion"
    if any(map(_is_warning, block.walk())):
        yield "warning"


def _changed_kinds(
    old: Block, new: Block, settings: Sequence[AttributeChange], content_change: ContentChange
) -> Iterator[ChangeKind]:
    for setting in settings:
        yield from _setting_kinds(setting)
    if old.kind != new.kind:
        yield "formatting"
        if _is_warning(old) or _is_warning(new):
            yield "warning"
        if {old.kind, new.kind} & _CODE_BLOCKS:
            yield "code"
    match content_change:
        case TextChange(words):
            yield from _kinds_of_text(words)
        case CodeChange():
            yield from _code_kinds(old, new, content_change)
        case TableChange(columns, rows):
            for column in columns:
                yield from _column_kinds(column)
            for row in rows:
                yield from _kinds(row)
                if isinstance(row, RestructuredBlocks):  # Rows that were joined or split are compared as one row.
                    yield from (kind for joined_entry in row.entries for kind in _kinds(joined_entry))
        case RowChange(cells):
            for cell in cells:
                yield from _cell_change_kinds(cell)
        case ContainerChange(title=title) if title is not None:
            yield from _kinds_of_text(title.words)
        case None if old.kind != new.kind or not settings or _own_text(old) != _own_text(new):
            yield from _replaced_kinds(old, new)


def _own_text(block: Block) -> str:
    return plain_text(block.runs) or block.text


def _column_kinds(column: ColumnPair) -> Iterator[ChangeKind]:
    if column.old is None:
        yield "addition"
    elif column.new is None:
        yield "deletion"
    elif column.old.title != column.new.title:
        yield from _kinds_of_text(diff_runs(column.old.title, column.new.title).words)


def _cell_change_kinds(cell: CellChange) -> Iterator[ChangeKind]:
    for setting in cell.settings:
        yield from _setting_kinds(setting)
    if cell.words is not None:
        yield from _kinds_of_text(cell.words.words)


def _setting_kinds(setting: AttributeChange) -> Iterator[ChangeKind]:
    """Yield the kinds of change that a changed attribute counts as, such as `link` for `image URL`."""
    names = [setting.name, setting.name.rpartition(" ")[2], setting.name.partition(",")[0]]
    values = {setting.old, setting.new}
    if setting.name == "white space":
        yield "white space"
    elif "style" in names and values & _WARNING_STYLES:
        yield "warning"
    elif setting.name.startswith("link ") or "URL" in names or _LINK_ATTRIBUTES.intersection(names):
        yield "link"
    elif _CODE_ATTRIBUTES.intersection(names):
        yield "code"
    elif _LOOK_ATTRIBUTES.intersection(names) or "style" in names:
        yield "formatting"
    else:
        yield "setting"
        if not (values <= _SWITCH_VALUES or _NAME_ATTRIBUTES.intersection(names)):
            yield from _fact_kinds(text_facts(setting.old or ""), text_facts(setting.new or ""))


def _fact_kinds(old: TextFacts, new: TextFacts) -> Iterator[ChangeKind]:
    if old.numbers != new.numbers:
        yield "number"
    if old.units != new.units:
        yield "unit"
    if old.warning_words != new.warning_words:
        yield "warning"
    if old.urls != new.urls:
        yield "link"


def _kinds_of_text(words: Sequence[TextPart]) -> Iterator[ChangeKind]:
    sides = [[part for part in words if part.op != op] for op in ("insert", "delete")]
    old, new = (
        "".join((part.old or part.run).text if index == 0 else part.run.text for part in side)
        for index, side in enumerate(sides)
    )
    is_changed = any(part.op in ("insert", "delete") and _has_content(part.run) for part in words)
    if is_changed or old.split() != new.split():  # Joining or splitting words changes the wording.
        yield "wording"
        yield from _fact_kinds(text_facts(old), text_facts(new))
    elif old != new:
        yield "white space"
    for side in sides:
        yield from _changed_code_kinds(side)
    for part in words:
        yield from _part_kinds(part)
    yield from _deletion_kinds(words)


def _has_content(run: Run) -> bool:
    return run.kind in ("image", "icon") or bool(run.text.strip())


def _part_kinds(part: TextPart) -> Iterator[ChangeKind]:
    """Yield the kinds of change of the links, formulas and formats in `part`, but not of its added or deleted words."""
    run, old_run = part.run, part.old
    match part.op:
        case "link":
            yield "link"
        case "insert" | "delete":
            if run.link or run.kind in ("image", "mention"):
                yield "link"
            if run.kind in ("math", "expression"):
                yield "code"
        case "format" if old_run is not None:
            if (old_run.link or None) != (run.link or None) or old_run.attrs.get("src") != run.attrs.get("src"):
                yield "link"
            if _MEANINGFUL_MARKS.intersection(old_run.marks ^ run.marks):
                yield "wording"
            is_same = old_run.marks == run.marks and old_run.kind == run.kind and old_run.attrs == run.attrs
            yield "white space" if is_same and old_run.text != run.text else "formatting"


def _changed_code_kinds(side: Iterable[TextPart]) -> Iterator[ChangeKind]:
    for is_code, group in groupby(side, key=lambda part: _is_code(part.run)):
        parts = list(group)
        if is_code and any(part.op in ("insert", "delete") for part in parts):
            yield "command" if _COMMAND.match("".join(part.run.text for part in parts)) else "code"


def _deletion_kinds(words: Sequence[TextPart]) -> Iterator[ChangeKind]:
    for before, part, after in zip((None, *words[:-1]), words, (*words[1:], None), strict=True):
        is_replaced = any(each is not None and each.op == "insert" for each in (before, after))
        if part.op == "delete" and not is_replaced and len(part.run.text.split()) >= _MIN_DELETED_WORDS:
            yield "deletion"


def _code_kinds(old: Block, new: Block, change: CodeChange) -> Iterator[ChangeKind]:
    if [line.rstrip() for line in old.text.splitlines()] == [line.rstrip() for line in new.text.splitlines()]:
        yield "white space"
        return
    yield "command" if _is_command_block(old) or _is_command_block(new) else "code"
    old_and_new_facts = [text_facts(text) for text in (old.text, new.text)]
    if Counter(old_and_new_facts[0].numbers) != Counter(old_and_new_facts[1].numbers) or _changes_number(change):
        yield "number"
    if old_and_new_facts[0].urls != old_and_new_facts[1].urls:
        yield "link"
    if all(line.op in ("equal", "delete") for line in change.lines):
        yield "deletion"


def _changes_number(change: CodeChange) -> bool:
    return any(
        line.op == "change" and text_facts(line.old).numbers != text_facts(line.new).numbers for line in change.lines
    )


def _replaced_kinds(old: Block, new: Block) -> Iterator[ChangeKind]:
    before, after = old.plain(), new.plain()
    if before.split() != after.split():
        yield "wording"
        yield from _fact_kinds(text_facts(before), text_facts(after))
    if link_targets(old) != link_targets(new):
        yield "link"
    if code_texts(old) != code_texts(new):
        yield "code"
    if old.kind == new.kind and before.split() == after.split():
        yield "formatting"


def link_targets(block: Block) -> list[str]:
    """Return the targets of the links, images and files in a block and in the blocks inside it."""
    values = [each.attrs.get(name) for each in block.walk() for name in sorted(_LINK_ATTRIBUTES)]
    values += [value for each in block.walk() for run in each.runs for value in (run.link, run.attrs.get("src"))]
    return [str(value) for value in values if value]


def code_texts(block: Block) -> list[str]:
    """Return the code, formulas and expressions in a block and in the blocks inside it."""
    runs = (run for each in block.walk() for run in each.runs)
    inline_texts = [run.text for run in runs if _is_code(run) or run.kind in ("math", "expression")]
    return [*inline_texts, *(each.text for each in block.walk() if each.kind in _CODE_BLOCKS)]


def _is_code(run: Run) -> bool:
    return run.kind == "code" or bool(run.marks & {"code", "kbd"})


def _is_warning(block: Block) -> bool:
    return block.kind == "hint" and block.attrs.get("style") in _WARNING_STYLES


def _has_steps(block: Block) -> bool:
    return block.kind == "stepper" or (block.kind == "list" and bool(block.attrs.get("ordered")))


def _is_command_block(block: Block) -> bool:
    if block.kind != "code":
        return False
    language = str(block.attrs.get("language") or "").lower()
    return language in _SHELLS or (not language and _COMMAND.match(block.text) is not None)
