"""Sanitizes untrusted text for display, and checks and encodes untrusted URLs for requests.

Control characters and direction overrides become visible symbols or U+FFFD. Other direction marks and invisible
characters are removed. Long runs of combining marks are cut. Sanitized text stays unchanged.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import chain
from typing import Any
from urllib.parse import SplitResult, quote

from octavo.untrusted_input import MAX_DEPTH

LINE_LIMIT = 300

_OVERRIDES = (0x202D, 0x202E)
_INVISIBLE: tuple[Iterable[int], ...] = (
    (0x202A, 0x202B, 0x202C, 0x2066, 0x2067, 0x2068, 0x2069, 0x200E, 0x200F, 0x061C),
    (0x200B, 0x2060, 0x2061, 0x2062, 0x2063, 0x2064, 0xFEFF, 0x00AD, 0x180E, 0x034F),
    (0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0),
    range(0x206A, 0x2070),
    range(0xFFF9, 0xFFFC),
    range(0xE0000, 0xE0080),
    range(0xE0100, 0xE01F0),
)
_NEW_LINES = {0x85, 0x2028, 0x2029}
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
)
# These patterns are compiled on first use, because compiling is slow, and almost no text needs them.
_MANY_MARKS = f"([{_MARKS}]{{4}})[{_MARKS}]+"
_PRINTABLE = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\U000e0100-\U000e01ef"
"""Characters that Python considers printable, but that are unsafe in a terminal."""
_SPACES = "[\u00a0\u2000-\u200a\u200c\u200d\u202f\u205f\u3000]+"
"""Matches characters that Python considers unprintable, but that are safe in a terminal."""
_SUSPECT = f"[{_PRINTABLE}]|[{_MARKS}]{{5}}"
_UNUSUAL = "[^\t\n -~\u00a0-\u00ac\u00ae-\u02ff\u2010-\u2027]+"
_USUAL = bytes([0x09, 0x0A, *range(0x20, 0x7F)])


def safe_text(value: str) -> str:
    """Return `value`, safe for a terminal: unsafe characters are replaced or removed. Tabs stay, and line breaks become
    line feeds."""
    if "\r" in value:
        value = value.replace("\r\n", "\n").replace("\r", "\n")
    # This is the fastest way to find unusual characters, even in megabytes of text.
    unusual = value.encode("utf-8", "surrogatepass").translate(None, _USUAL).decode("utf-8", "surrogatepass")
    if not unusual or (re.sub(_SPACES, "", unusual).isprintable() and not re.search(_SUSPECT, unusual)):
        return value
    return re.sub(_UNUSUAL, _replace_unusual, value)


def _replace_unusual(found: re.Match[str]) -> str:
    return _sanitize(found[0], _text_replacements)


def _sanitize(part: str, table: Callable[[], Mapping[int, str | None]]) -> str:
    # This check is ten times faster than a replacement, which most texts do not need.
    if part.isprintable() and not re.search(_SUSPECT, part):
        return part
    return re.sub(_MANY_MARKS, r"\1", part.translate(table()))


@cache
def _text_replacements() -> Mapping[int, str | None]:
    """Return the replacement of each unsafe character, by code point for `str.translate`. None removes it."""
    replacements: dict[int, str | None] = {code: chr(0x2400 + code) for code in range(0x20)}
    replacements[0x7F] = "\u2421"
    replacements |= dict.fromkeys({*range(0x80, 0xA0), *_OVERRIDES, *range(0xD800, 0xE000)}, "\ufffd")
    replacements |= dict.fromkeys(chain(*_INVISIBLE))
    replacements |= dict.fromkeys([plane << 16 | end for plane in range(17) for end in (0xFFFE, 0xFFFF)], "\ufffd")
    replacements |= dict.fromkeys(_NEW_LINES, "\n")
    del replacements[0x0A], replacements[0x09]
    return replacements


@cache
def _line_replacements() -> Mapping[int, str | None]:
    return {**_text_replacements(), **dict.fromkeys({*_NEW_LINES, 0x0A, 0x09, 0x0D}, " ")}


def safe_line(value: str) -> str:
    """Return `value` on one line without unsafe characters. After 300 characters, it is cut."""
    if len(value) <= LINE_LIMIT and value.isascii() and value.isprintable():
        return value  # For speed: almost all values in long lists are ASCII.
    value = safe_address(value[: LINE_LIMIT * 4])
    return value if len(value) <= LINE_LIMIT else value[: LINE_LIMIT - 1] + "…"


def safe_address(value: str) -> str:
    """Return `value` on one line without unsafe characters. Unlike `safe_line`, this never cuts the value."""
    if value.isascii() and value.isprintable():
        return value
    return _sanitize(value, _line_replacements)


def safe_json(value: Any, depth: int = 0) -> Any:
    """Return a JSON value with sanitized keys and strings. Raises ValueError if it is nested too deeply."""
    if depth > MAX_DEPTH:
        raise ValueError(f"it has more than {MAX_DEPTH} nested levels")
    if isinstance(value, str):
        return safe_text(value)
    if isinstance(value, dict):
        return {safe_text(key): safe_json(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list):
        return [safe_json(each, depth + 1) for each in value]
    return value


_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Return whether an IP address is public: not local, private or reserved. Raises ValueError for other text."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        embedded_address = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            embedded_address = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if embedded_address is not None:
            return is_public(str(embedded_address))
        if ip.is_site_local:
            return False
    return ip.is_global and not ip.is_multicast


def request_target(parts: SplitResult) -> str:
    """Return the path and query of a URL in ASCII, as an HTTP request line needs them."""
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    return f"{path}?{quote(parts.query, safe='/%:@!$&()*+,;=~-._?')}" if parts.query else path
