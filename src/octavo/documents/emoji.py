"""Finds emoji by name, such as `:rocket:`, and by code points, such as `1f680`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple
from unicodedata import category, east_asian_width
from unicodedata import name as unicode_name

from octavo.api.folding import fold
from octavo.api.safety import safe_line

MAX_FOUND = 40
"""Maximum number of emoji in a search result."""
_CODES = re.compile(r"[0-9a-fA-F]{4,6}(?:[-_ ][0-9a-fA-F]{2,6})*")
_BETWEEN_WORDS = re.compile(r"[^a-z0-9]+")
_ALIASES = (
    *(
        ("pound_symbol", "hash"),
        ("asterisk_symbol", "asterisk"),
        ("keycap_star", "asterisk"),
        ("ladybug", "lady_beetle"),
    ),
    *(("(mostly_sunny|sun_small_cloud)", "sun_behind_small_cloud"), ("barely_sunny", "sun_behind_large_cloud")),
    *(("partly_sunny_rain", "sun_behind_rain_cloud"), ("(rain|snow|lightning|tornado)_cloud", r"cloud_with_\1")),
    *(("lightning", "cloud_with_lightning"), ("cloud_with_tornado", "tornado"), ("mate_drink", "mate")),
    *(
        ("knife_fork_plate", "fork_and_knife_with_plate"),
        ("spock_hand", "vulcan_salute"),
        ("flag_un", "united_nations"),
    ),
    *(("the_horns", "sign_of_the_horns"), ("i_love_you_hand_sign", "love_you_gesture")),
    *(("(fe)?male_doctor", r"\1male_health_worker"), ("(wo)?man_wrestling", r"\1men_wrestling")),
    *(("(red|curly|white)_haired_person", r"person_\1_hair"), ("bald_person", "person_bald")),
    *(("((?:wo)?man)_with_beard", r"\1_beard"), ("(wo)?man_with_bunny_ears_partying", r"\1men_with_bunny_ears")),
    *(("large_(.+_(?:circle|square))", r"\1"), ("digit_(.+)", r"\1"), ("male_(.+)", r"man_\1")),
    ("female_(.+)", r"woman_\1"),
)
"""Patterns for emoji names from other programs, each with the replacement that gives the usual name."""
_FAMILY = re.compile(r"(?:(?:wo)?man_){1,2}(?:boy|girl)(?:_(?:boy|girl))?")
_COUPLE = re.compile(r"((?:wo)?man)_(heart|kiss)_((?:wo)?man)")
_PEOPLE = {"man": "1f468", "woman": "1f469", "boy": "1f466", "girl": "1f467"}
_JOINERS = {"heart": "2764-fe0f", "kiss": "2764-fe0f-200d-1f48b"}
_EMOJI_NAME = re.compile(r"[a-z0-9_+]{1,60}")
_TONE = re.compile("skin_tone_([2-6])")
_EMOJI_STYLE, _KEYCAP = "\ufe0f", "\u20e3"


def from_code(code: str) -> str | None:
    """Return the emoji with the hexadecimal code points `code`. None if `code` is invalid."""
    if not _CODES.fullmatch(code):
        return None
    points = [int(point, 16) for point in re.split("[-_ ]", code)]
    return safe_line("".join(map(chr, points))) if max(points) <= 0x10FFFF else None


def to_emoji(code: str | None) -> str:
    """Return the emoji for a code of the API, such as `👍` for `1f44d`, or any other text unchanged. Empty for None."""
    return from_code(code) or code if code else ""


@lru_cache(1024)
def from_name(name: str) -> str | None:
    """Return the emoji with a name from the platform's editor, Unicode or other programs. None if unknown."""
    name = name.replace("-", "_")
    code = _code_of(name, _common_code) or _code_of(name, _all_codes().get) or _composed_code(name)
    return _to_character(code) if code else None


def from_editor_name(name: str) -> str | None:
    """Return the emoji with a name that the platform's editor knows, or with a common alias. None if unknown."""
    code = _code_of(name.replace("-", "_"), _common_code)
    return _to_character(code) if code else None


def _to_character(code: str) -> str:
    character = "".join(chr(int(point, 16)) for point in code.split("-"))
    if character[-1] == _KEYCAP:
        return f"{character[0]}{_EMOJI_STYLE}{_KEYCAP}"
    return character + _EMOJI_STYLE if len(character) == 1 and _is_drawn_as_text(character) else character


class NamedEmoji(NamedTuple):
    """An emoji with one of its names."""

    name: str
    character: str

    @property
    def code(self) -> str:
        """The emoji in the form of the API, such as `1f44d` for `👍`."""
        return api_code(self.character)


def api_code(character: str) -> str:
    """Return an emoji in the form of the API, such as `1f44d` for `👍`."""
    is_sequence = len(character) > 2
    return "-".join(f"{ord(each):04x}" for each in character if is_sequence or each != _EMOJI_STYLE)


def search(text: str, limit: int = MAX_FOUND) -> list[NamedEmoji]:
    """Return up to `limit` emoji with `text` in a name, best first. If `text` is an emoji, return only this emoji."""
    text = text.strip().strip(":")
    if (named_emoji := _known_characters().get(_without_style(text))) is not None:
        return [named_emoji]
    query = "_".join(fold(text).replace("-", "_").split())
    if not _EMOJI_NAME.fullmatch(query):
        return []
    ranked_names, codes = [], _all_codes()
    for name in codes:
        position = f"_{name}".find(query)
        if position >= 0:
            rank = 0 if name == query else 1 if name.startswith(query) else 2 if f"_{query}" in f"_{name}" else 3
            ranked_names.append((rank, "tone" in name, len(name), name))
    found_emoji: dict[str, NamedEmoji] = {}
    for *_, name in sorted(ranked_names):
        if len(found_emoji) == limit:
            break
        character = _to_character(codes[name])
        found_emoji.setdefault(_without_style(character), NamedEmoji(name, character))
    return list(found_emoji.values())


@cache
def _known_characters() -> dict[str, NamedEmoji]:
    emoji_by_character: dict[str, NamedEmoji] = {}
    for name, code in _all_codes().items():
        character = _to_character(code)
        emoji_by_character.setdefault(_without_style(character), NamedEmoji(name, character))
    return emoji_by_character


def _without_style(character: str) -> str:
    return character.replace(_EMOJI_STYLE, "")


def _code_of(name: str, find: Callable[[str], str | None]) -> str | None:
    """Return the code from `find` for a name, or for the usual name of an alias. None if `find` knows neither name."""
    code = find(name)
    for pattern, usual_name in _ALIASES:
        if code is None and re.fullmatch(pattern, name):
            name = re.sub(pattern, usual_name, name)
            code = find(name)
    return code


def _composed_code(name: str) -> str | None:
    if _FAMILY.fullmatch(name):
        return "-200d-".join(_PEOPLE[each] for each in name.split("_"))
    if couple_match := _COUPLE.fullmatch(name):
        return "-200d-".join((_PEOPLE[couple_match[1]], _JOINERS[couple_match[2]], _PEOPLE[couple_match[3]]))
    tone_match = _TONE.fullmatch(name)
    return f"1f3f{int(tone_match[1]) + 9:x}" if tone_match else None


def _is_drawn_as_text(character: str) -> bool:
    """Return whether terminals show a character as text, unless a variation selector follows."""
    return east_asian_width(character) != "W" and category(character) != "Cn"


_FILE = Path(__file__).with_name("emoji_names.txt")
"""File with names and codes of emoji. `tests/emoji_table.py` writes it."""


@cache
def _common_names() -> str:
    return _section("editor") + _section("aliases")


def _common_code(name: str) -> str | None:
    """Return the code for a common name, else None. Searches the text, because a parsed table would need 1.5 MiB."""
    _, separator, text_after = _common_names().partition(f"\n{name} ")
    return text_after.partition("\n")[0] if separator else None


def _section(title: str) -> str:
    """Return the text after `[title]` in `_FILE`, up to the next title. It begins and ends with a line break."""
    return _FILE.read_text(encoding="utf-8").partition(f"[{title}]")[2].partition("[")[0]


@cache
def _all_codes() -> dict[str, str]:
    codes: dict[str, str] = {}
    for title in ("editor", "aliases", "descriptions", "others"):
        names_and_codes = _section(title).split()
        for name, code in zip(names_and_codes[::2], names_and_codes[1::2], strict=True):
            codes.setdefault(name, code)
    for code in dict.fromkeys(codes.values()):
        if "-" not in code and (name := unicode_name(chr(int(code, 16)), "")):
            codes.setdefault(_BETWEEN_WORDS.sub("_", name.lower()), code)
    return codes
