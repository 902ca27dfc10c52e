"""Text as an index of words keeps it: SQLite's `unicode61` finds only whole words and beginnings of words in it.

apart("C++/C#")                    "C++" and "C#" are words, and another word than "C"
parts("call getStationId")         "get Station Id StationId": what is also found in the words of a text
mention("/pages/p1")               stands in a text for the page, until `with_titles` says how that is called
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from octavo.api.folding import Range, fold

_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])")
_JOINT = "\u200b"
"""Put around characters of scripts without spaces, so that each is a word. No text that is safe to show has it."""
SIGNED = r"(?:\+\+|#)(?![^\W\d_])"
"""What is part of a word at its end: `C++`, `C#`, `C++17`."""
_SIGNED = re.compile(rf"(?<=[^\W_])(?:{SIGNED}|[\U000f002b\U000f0023]+)")
_SIGNS = {ord("+"): "\U000f002b", ord("#"): "\U000f0023"}
"""Signs as letters of private use, which `unicode61` takes for parts of words."""
_NO_SIGNS = {ord(letter): chr(sign) for sign, letter in _SIGNS.items()}
_MENTION_BASE = 0xF1000
_MENTION = re.compile("[\U000f1021-\U000f107e]+")
"""An address that stands for the title of a page, in letters of private use: one word, which nobody types."""
LONGEST_WORD, MOST_PARTS = 60, 8
"""Letters and parts of a word whose parts are found. What has more is data, not a name."""


def apart(text: str) -> str:
    """Return `text` as SQLite's `unicode61` is given it: characters of scripts without spaces are words of their own, and
    the signs of `C++` and `C#` are letters."""
    if "+" in text or "#" in text or not text.isascii():
        text = _SIGNED.sub(lambda found: found[0].translate(_SIGNS) + _JOINT, text)
    return text if text.isascii() else _UNSPACED.sub(rf"{_JOINT}\1{_JOINT}", text)


def together(text: str) -> str:
    """Return the text that `apart` was given."""
    return text if text.isascii() else text.replace(_JOINT, "").translate(_NO_SIGNS)


def indexed(text: str) -> str:
    """Return `text` as an index of words keeps it."""
    return apart(fold(text))


# Parts of words

_WORD = re.compile(r"[^\W_]+")


@cache
def _seam() -> re.Pattern[str]:
    """Return what matches where a part of a word begins in its middle: `get|Station`, `HTTP|Server`, but not `URLs`."""
    letters = [chr(code) for code in range(0x530)]  # Latin, Greek and Cyrillic: few other scripts have two cases
    lower, upper = ("".join(each for each in letters if test(each)) for test in (str.islower, str.isupper))
    return re.compile(f"(?<=[{lower}0-9])(?=[{upper}])|(?<=[{upper}])(?=[{upper}](?!s(?![{lower}]))[{lower}])")


def part_starts(text: str) -> list[int]:
    """Return where parts of words begin in the middle of them: before each capital of `getStationId`."""
    return [found.start() for found in _seam().finditer(text)]


def parts(text: str) -> str:
    """Return the parts of words like `getStationId` in `text`, and what begins with each. Empty if there are none."""
    found: dict[str, None] = {}
    for word in _WORD.findall(text):
        if word.islower() or word.isupper() or len(word) > LONGEST_WORD or not (starts := part_starts(word)):
            continue
        if len(starts) < MOST_PARTS:
            pieces = [word[start:end] for start, end in zip([0, *starts], [*starts, len(word)], strict=True)]
            found[" ".join([*pieces, *(word[start:] for start in starts[:-1])])] = None
    return " ".join(found)


# Mentions


def mention(address: str) -> str:
    """Return what stands in the words of a page for a mention of the page at `address`."""
    quoted = "".join(
        each if "!" <= each <= "~" else "".join(f"%{byte:02X}" for byte in each.encode()) for each in address
    )
    return "".join(chr(_MENTION_BASE + ord(each)) for each in quoted)


def mentions(text: str) -> Iterator[str]:
    """Yield the addresses of the pages that are mentioned in `text`."""
    for found in _MENTION.finditer(text):
        yield _address(found[0])


def whole_mention(text: str, end: int) -> int:
    """Return where `text` may be cut, at `end` or after the mention that stands there."""
    return next((found.end() for found in _MENTION.finditer(text) if found.start() < end < found.end()), end)


def with_titles(
    text: str, title: Callable[[str], str | None], marks: Iterable[Range] = ()
) -> tuple[str, tuple[Range, ...]]:
    """Return `text` with the titles of the pages it mentions, and where `marks` stand in it then. A page that `title` does not
    know goes by the last part of its address."""
    said: list[str] = []
    moved = list(marks)
    last = shift = 0
    for found in _MENTION.finditer(text):
        address = _address(found[0])
        words = (
            title(address) or address.partition("#")[0].rstrip("/").rpartition("/")[2].removesuffix(".md") or address
        )
        said += [text[last : found.start()], words]
        last = found.end()
        at = found.start() + shift
        change = len(words) - len(found[0])
        moved = [
            Range(each.start + change, each.end + change) if each.start >= at + len(found[0]) else each
            for each in moved
        ]
        shift += change
    return "".join([*said, text[last:]]), tuple(moved)


def _address(found: str) -> str:
    return "".join(chr(ord(each) - _MENTION_BASE) for each in found)


# Diagrams

_LABEL = re.compile(r'"([^"\n]{1,300})"|[\[({|>]+([^][(){}|"\n]{1,300})[\])}|]+')
_SAID = re.compile(r"^[^:\n]{1,200}:[ \t]*([^\n]+)$")
_BARE = re.compile(r"^[ \t]*(?:title|section|subgraph|accTitle:?|accDescr:?)[ \t]+([^\n]+)$")
_UNSAID = re.compile(r"^[ \t]*(?:%%|---|(?:style|classDef|class|linkStyle|click|direction)\b(?![ \t]*[:\[({]))")
"""How lines begin that say how something looks."""


def diagram_labels(line: str) -> str:
    """Return the words that a line of a Mermaid diagram shows, without its source."""
    if _UNSAID.match(line):
        return ""
    if bare := _BARE.match(line):
        line = f"[{bare[1]}]" if not _LABEL.search(line) else line
    labels = [first or second for first, second in _LABEL.findall(line)]
    if not labels and (said := _SAID.match(line)):
        labels = [said[1]]
    return " ".join(filter(None, (each.strip(" /\\;") for each in labels)))
