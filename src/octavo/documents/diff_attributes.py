"""Compares attributes of blocks, runs of text and front matter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from octavo.documents.blocks import Block, Run
from octavo.documents.diff_model import AttributeChange, TextPart
from octavo.documents.diff_nodes import compared_attributes

_MAX_NAME = 40
_SIGNATURE = re.compile(
    r"token|sig|signature|expires|policy|key-pair-id|googleaccessid|awsaccesskeyid|x-(?:amz|goog|ms)-.+|s[eprtv]",
    re.IGNORECASE,
)
"""Query parameters of signed URLs that contain the signature or its expiry."""
_MAX_SIGNATURE = 16
_WHITESPACE_NAMES = {" ": "space", "\n": "line break", "\t": "tab", "\u00a0": "non-breaking space"}


def changed_attributes(old: Block, new: Block) -> tuple[AttributeChange, ...]:
    """Return the attributes that differ between two blocks."""
    before, after = compared_attributes(old), compared_attributes(new)
    if old.kind != new.kind:
        before.pop("level", None)
        after.pop("level", None)
    return changed_values(before, after)


def changed_metadata(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[AttributeChange, ...]:
    """Return the values that differ between two front matters."""
    return changed_values(_flatten(old), _flatten(new))


def changed_run_attributes(words: Sequence[TextPart]) -> tuple[AttributeChange, ...]:
    """Return the changes of a text that are not changes of words: links, formatting, images and buttons."""
    found: dict[AttributeChange, None] = {}
    removed: list[Run] = []
    inserted: list[Run] = []
    for word, run in zip(words, _with_whole_links(words), strict=True):
        if word.op == "delete":
            removed.append(word.run)
        elif word.op == "insert":
            inserted.append(run)
        else:
            found |= dict.fromkeys(_replaced_run_changes(removed, inserted))
            removed, inserted = [], []
            if word.old is not None:
                found |= dict.fromkeys(_style_changes(word, run))
    return tuple(found | dict.fromkeys(_replaced_run_changes(removed, inserted)))


def _with_whole_links(words: Sequence[TextPart]) -> list[Run]:
    """Return the runs of `words`. Each run in a link gets the complete new text of the link."""
    runs = [word.run for word in words]
    kept = [at for at, word in enumerate(words) if word.op != "delete"]
    for link, group in groupby(kept, lambda at: runs[at].link):
        places = list(group) if link else []
        text = "".join(runs[at].text for at in places)
        for at in places:
            runs[at] = runs[at]._replace(text=text)
    return runs


def _style_changes(word: TextPart, run: Run) -> Iterator[AttributeChange]:
    """Yield the changes of format of an unchanged text. `run` has the new format and the complete text of its link."""
    old, new = word.old or word.run, word.run
    if (old.link or None) != (new.link or None):
        yield _link_change(old, run)
    if (old.marks, old.kind) != (new.marks, new.kind):
        yield AttributeChange("formatting", _style_name(old), _style_name(new))
    yield from _run_attribute_changes(old, new)
    if old.text != new.text:
        yield AttributeChange("white space", describe_whitespace(old.text), describe_whitespace(new.text))


def _replaced_run_changes(removed: Iterable[Run], inserted: Iterable[Run]) -> Iterator[AttributeChange]:
    """Yield the changes of links, images and buttons between removed runs and the runs that replaced them."""
    for old, new in zip(*([run for run in side if run.link] for side in (removed, inserted)), strict=False):
        if old.link != new.link:
            yield _link_change(old, new)
    for kind in ("image", "button"):
        for old, new in zip(*([run for run in side if run.kind == kind] for side in (removed, inserted)), strict=False):
            yield from _run_attribute_changes(old, new)


def _link_change(old: Run, new: Run) -> AttributeChange:
    return _attribute_change(f"link “{shorten(new.text or old.text or new.kind)}”", old.link or None, new.link or None)


def _attribute_change(name: str, old: str | None, new: str | None) -> AttributeChange:
    """Return the change of an attribute. If only the signature of a URL has changed, show only the signature."""
    before, after = (str(side).partition("?") for side in (old, new))
    if old is None or new is None or not (before[1] and after[1]) or before[0] != after[0]:
        return AttributeChange(name, old, new)
    ours, theirs = before[2].split("&"), after[2].split("&")
    old_only, new_only = [each for each in ours if each not in theirs], [each for each in theirs if each not in ours]
    names = [each.partition("=")[0] for each in (*old_only, *new_only)]
    if not (old_only and new_only) or not all(map(_SIGNATURE.fullmatch, names)) or "#" in f"{old}{new}":
        return AttributeChange(name, old, new)
    shortened = [", ".join(_short_signature(each) for each in side) for side in (old_only, new_only)]
    values = shortened if shortened[0] != shortened[1] else ["&".join(side) for side in (old_only, new_only)]
    return AttributeChange(f"{name}, only its signature", values[0], values[1])


def _short_signature(signature: str) -> str:
    name, _, value = signature.partition("=")
    return f"{name} {value if len(value) <= _MAX_SIGNATURE else value[: _MAX_SIGNATURE - 1] + '…'}"


def shorten(text: str) -> str:
    """Return a text as one line of at most 40 characters."""
    name = " ".join(text.split())
    return name if len(name) <= _MAX_NAME else name[: _MAX_NAME - 1] + "…"


def _style_name(run: Run) -> str:
    names = sorted(run.marks)
    return ", ".join(names if run.kind in ("text", *names) else [*names, run.kind]) or "plain"


def _run_attribute_changes(old: Run, new: Run) -> Iterator[AttributeChange]:
    for each in changed_values(old.attrs, new.attrs):
        name = each.name.replace("src", "URL", 1) if each.name.partition(",")[0] == "src" else each.name
        yield AttributeChange(name if new.kind == "text" else f"{new.kind} {name}", each.old, each.new)


def describe_whitespace(text: str) -> str:
    """Describe the white space and other invisible characters of a text, for example as `2 spaces, line break`. Return
    `none` if the text has none."""
    found = []
    for char, group in groupby(char for char in text if not char.isprintable() or char.isspace()):
        count = len(list(group))
        name = _WHITESPACE_NAMES.get(char, f"U+{ord(char):04X}")
        found.append(name if count == 1 else f"{count} {name}s")
    return ", ".join(found) or "none"


def changed_values(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[AttributeChange, ...]:
    """Return the differences between two mappings, by name."""
    names = [*before, *(name for name in after if name not in before)]
    found = []
    for name in names:
        old, new = before.get(name), after.get(name)
        if old != new:
            # A missing boolean counts as False, unless the other value is False: then the change is from missing to
            # “no”.
            if isinstance(old or new, bool) and bool(old) is not bool(new):
                old, new = old or False, new or False
            texts = [_value_text(side) for side in (old, new)]
            if texts[0] == texts[1] and isinstance(old, float) and isinstance(new, float):
                texts = [f"{side:g} %" for side in (old, new)]
            found.append(_attribute_change(name, *texts))
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
    """Return the value of an attribute as text for the user. None if it is not set."""
    if value is None or value == {}:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(filter(None, map(_value_text, value)))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_value_text(each)}" for name, each in value.items())
    return f"{value:.0f} %" if isinstance(value, float) else str(value)  # only widths in percent are floats
