"""Which attributes of a block, of runs of text, or lines of a page's front matter, are others now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from octavo.documents.blocks import Block, Run
from octavo.documents.diff_model import AttributeChange, TextPart
from octavo.documents.diff_nodes import compared_attributes

_LONGEST_NAME = 40
_SIGNATURE = re.compile(
    r"token|sig|signature|expires|policy|key-pair-id|googleaccessid|awsaccesskeyid|x-(?:amz|goog|ms)-.+|s[eprtv]",
    re.IGNORECASE,
)
"""What signed addresses have in their queries that says until when, and that, they may be asked for."""
_LONGEST_SIGNATURE = 16
_WHITESPACE_NAMES = {" ": "space", "\n": "line break", "\t": "tab", "\u00a0": "non-breaking space"}


def changed_attributes(old: Block, new: Block) -> tuple[AttributeChange, ...]:
    """The attributes that differ between two blocks."""
    before, after = compared_attributes(old), compared_attributes(new)
    if old.kind != new.kind:
        before.pop("level", None)
        after.pop("level", None)
    return changed_values(before, after)


def changed_metadata(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[AttributeChange, ...]:
    """What differs between two front matters."""
    return changed_values(_flatten(old), _flatten(new))


def changed_run_attributes(words: Sequence[TextPart]) -> tuple[AttributeChange, ...]:
    """What became of a text beside its words: of its links, of how it looks, of its images and buttons."""
    found: dict[AttributeChange, None] = {}
    gone: list[Run] = []
    come: list[Run] = []
    for word, run in zip(words, _with_whole_links(words), strict=True):
        if word.op == "delete":
            gone.append(word.run)
        elif word.op == "insert":
            come.append(run)
        else:
            found |= dict.fromkeys(_replaced_run_changes(gone, come))
            gone, come = [], []
            if word.old is not None:
                found |= dict.fromkeys(_style_changes(word, run))
    return tuple(found | dict.fromkeys(_replaced_run_changes(gone, come)))


def _with_whole_links(words: Sequence[TextPart]) -> list[Run]:
    """The runs, those of a link with all of the words that it has now."""
    runs = [word.run for word in words]
    kept = [at for at, word in enumerate(words) if word.op != "delete"]
    for link, group in groupby(kept, lambda at: runs[at].link):
        places = list(group) if link else []
        text = "".join(runs[at].text for at in places)
        for at in places:
            runs[at] = runs[at]._replace(text=text)
    return runs


def _style_changes(word: TextPart, run: Run) -> Iterator[AttributeChange]:
    """How words that stayed differ from what they were. `run`: as they are, or all words of their link."""
    old, new = word.old or word.run, word.run
    if (old.link or None) != (new.link or None):
        yield _link_change(old, run)
    if (old.marks, old.kind) != (new.marks, new.kind):
        yield AttributeChange("formatting", _style_name(old), _style_name(new))
    yield from _run_attribute_changes(old, new)
    if old.text != new.text:
        yield AttributeChange("white space", describe_whitespace(old.text), describe_whitespace(new.text))


def _replaced_run_changes(gone: Iterable[Run], come: Iterable[Run]) -> Iterator[AttributeChange]:
    """What differs, and is not on show, between runs that went and those that came in their place."""
    for old, new in zip(*([run for run in side if run.link] for side in (gone, come)), strict=False):
        if old.link != new.link:
            yield _link_change(old, new)
    for kind in ("image", "button"):
        for old, new in zip(*([run for run in side if run.kind == kind] for side in (gone, come)), strict=False):
            yield from _run_attribute_changes(old, new)


def _link_change(old: Run, new: Run) -> AttributeChange:
    return _attribute_change(f"link “{shorten(new.text or old.text or new.kind)}”", old.link or None, new.link or None)


def _attribute_change(name: str, old: str | None, new: str | None) -> AttributeChange:
    """What became of an attribute: of an address that was signed anew, only its signature."""
    before, after = (str(side).partition("?") for side in (old, new))
    if old is None or new is None or not (before[1] and after[1]) or before[0] != after[0]:
        return AttributeChange(name, old, new)
    ours, theirs = before[2].split("&"), after[2].split("&")
    one, other = [each for each in ours if each not in theirs], [each for each in theirs if each not in ours]
    names = [each.partition("=")[0] for each in (*one, *other)]
    if not (one and other) or not all(map(_SIGNATURE.fullmatch, names)) or "#" in f"{old}{new}":
        return AttributeChange(name, old, new)
    brief = [", ".join(_short_signature(each) for each in side) for side in (one, other)]
    whole = brief if brief[0] != brief[1] else ["&".join(side) for side in (one, other)]
    return AttributeChange(f"{name}, only its signature", whole[0], whole[1])


def _short_signature(signature: str) -> str:
    name, _, value = signature.partition("=")
    return f"{name} {value if len(value) <= _LONGEST_SIGNATURE else value[: _LONGEST_SIGNATURE - 1] + '…'}"


def shorten(text: str) -> str:
    """A text as a name: in one line, and not long."""
    name = " ".join(text.split())
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _style_name(run: Run) -> str:
    names = sorted(run.marks)
    return ", ".join(names if run.kind in ("text", *names) else [*names, run.kind]) or "plain"


def _run_attribute_changes(old: Run, new: Run) -> Iterator[AttributeChange]:
    for each in changed_values(old.attrs, new.attrs):
        name = each.name.replace("src", "URL", 1) if each.name.partition(",")[0] == "src" else each.name
        yield AttributeChange(name if new.kind == "text" else f"{new.kind} {name}", each.old, each.new)


def describe_whitespace(text: str) -> str:
    """White space, and what else does not show in a text, in words: `2 spaces, line break`. The rest of it is left out."""
    found = []
    for char, group in groupby(char for char in text if not char.isprintable() or char.isspace()):
        count = len(list(group))
        name = _WHITESPACE_NAMES.get(char, f"U+{ord(char):04X}")
        found.append(name if count == 1 else f"{count} {name}s")
    return ", ".join(found) or "none"


def changed_values(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[AttributeChange, ...]:
    """What differs between two mappings of names to values."""
    names = [*before, *(name for name in after if name not in before)]
    found = []
    for name in names:
        old, new = before.get(name), after.get(name)
        if old != new:
            # What can be yes or no is no where it is not said, unless that is all that differs.
            if isinstance(old or new, bool) and bool(old) is not bool(new):
                old, new = old or False, new or False
            said = [_value_text(side) for side in (old, new)]
            if said[0] == said[1] and isinstance(old, float) and isinstance(new, float):
                said = [f"{side:g} %" for side in (old, new)]
            found.append(_attribute_change(name, *said))
    return tuple(found)


def _flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= _flatten(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def _value_text(value: Any) -> str | None:
    """An attribute as a reader may see it."""
    if value is None or value == {}:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(filter(None, map(_value_text, value)))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_value_text(each)}" for name, each in value.items())
    return f"{value:.0f} %" if isinstance(value, float) else str(value)  # only shares of a width are no whole numbers
