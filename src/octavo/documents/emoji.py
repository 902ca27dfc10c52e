"""The characters that names such as `:rocket:` stand for."""

from __future__ import annotations

import re
import unicodedata

from octavo.api.safety import text as safe

_NAMES = {
    "+1": "👍",
    "-1": "👎",
    "100": "💯",
    "arrow_down": "⬇️",
    "arrow_left": "⬅️",
    "arrow_right": "➡️",
    "arrow_up": "⬆️",
    "bangbang": "‼️",
    "bar_chart": "📊",
    "beginner": "🔰",
    "blue_book": "📘",
    "book": "📖",
    "books": "📚",
    "bookmark": "🔖",
    "bulb": "💡",
    "calendar": "📅",
    "chart": "💹",
    "chart_with_upwards_trend": "📈",
    "check": "✔️",
    "clipboard": "📋",
    "cloud": "☁️",
    "computer": "💻",
    "construction": "🚧",
    "dart": "🎯",
    "desktop": "🖥️",
    "eyes": "👀",
    "exclamation": "❗",
    "file_folder": "📁",
    "fire": "🔥",
    "floppy_disk": "💾",
    "gear": "⚙️",
    "globe_with_meridians": "🌐",
    "green_heart": "💚",
    "hammer": "🔨",
    "hammer_and_wrench": "🛠️",
    "heart": "❤️",
    "heavy_check_mark": "✔️",
    "heavy_plus_sign": "➕",
    "hugging": "🤗",
    "information_source": "ℹ️",
    "joy": "😂",
    "key": "🔑",
    "laughing": "😆",
    "link": "🔗",
    "lock": "🔒",
    "loudspeaker": "📢",
    "mag": "🔍",
    "man_technologist": "👨‍💻",
    "memo": "📝",
    "moneybag": "💰",
    "muscle": "💪",
    "new": "🆕",
    "no_entry": "⛔",
    "notebook": "📓",
    "ok": "🆗",
    "ok_hand": "👌",
    "one": "1️⃣",
    "two": "2️⃣",
    "three": "3️⃣",
    "four": "4️⃣",
    "five": "5️⃣",
    "package": "📦",
    "page_facing_up": "📄",
    "partying_face": "🥳",
    "pencil": "📝",
    "pencil2": "✏️",
    "pray": "🙏",
    "pushpin": "📌",
    "question": "❓",
    "raised_hands": "🙌",
    "red_circle": "🔴",
    "robot": "🤖",
    "rotating_light": "🚨",
    "scroll": "📜",
    "shield": "🛡️",
    "slight_smile": "🙂",
    "slightly_smiling_face": "🙂",
    "smile": "😄",
    "smiley": "😃",
    "sparkles": "✨",
    "speech_balloon": "💬",
    "star": "⭐",
    "star2": "🌟",
    "sunglasses": "😎",
    "tada": "🎉",
    "thinking": "🤔",
    "thumbsdown": "👎",
    "thumbsup": "👍",
    "tools": "🛠️",
    "triangular_flag_on_post": "🚩",
    "unlock": "🔓",
    "warning": "⚠️",
    "wave": "👋",
    "white_check_mark": "✅",
    "wink": "😉",
    "wrench": "🔧",
    "x": "❌",
    "zap": "⚡",
}


_CODES = re.compile(r"[0-9a-fA-F]{4,6}(?:[-_ ][0-9a-fA-F]{2,6})*")


def of_code(code: str) -> str | None:
    """The character whose code points, in hexadecimal, are `code`."""
    if not _CODES.fullmatch(code):
        return None
    points = [int(point, 16) for point in re.split("[-_ ]", code)]
    return safe("".join(map(chr, points))) if max(points) <= 0x10FFFF else None


def character(name: str) -> str | None:
    """The character called `name`: a common short name or a Unicode name."""
    if known := _NAMES.get(name):
        return known
    try:
        found = unicodedata.lookup(name.replace("_", " ").replace("-", " "))
    except KeyError:
        return None
    return found if len(found) == 1 and _is_pictorial(ord(found)) else None


def _is_pictorial(point: int) -> bool:
    return 0x1F000 <= point <= 0x1FAFF or 0x2190 <= point <= 0x2BFF or point in (0x3030, 0x303D, 0x3297, 0x3299)
