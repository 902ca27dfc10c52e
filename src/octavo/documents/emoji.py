"""The characters that names such as `:rocket:` stand for."""

from __future__ import annotations

import unicodedata

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


def character(name: str) -> str | None:
    """The character called `name`: a common short name, a Unicode name, or its code points in hexadecimal."""
    if known := _NAMES.get(name):
        return known
    try:
        found = unicodedata.lookup(name.replace("_", " ").replace("-", " "))
    except KeyError:
        return None
    return found if len(found) == 1 and _is_pictorial(ord(found)) else None


def from_code_points(code: str) -> str | None:
    """The character that code points such as `1f4a1` or `1f468-200d-1f4bb` stand for."""
    parts = code.split("-")
    if not 0 < len(parts) <= 8:
        return None
    try:
        points = [int(part, 16) for part in parts]
    except ValueError:
        return None
    if any(not (_is_pictorial(point) or point in (0x200D, 0xFE0F, 0x20E3) or 0x23 <= point < 0x3A) for point in points):
        return None
    return "".join(map(chr, points))


def _is_pictorial(point: int) -> bool:
    return 0x1F000 <= point <= 0x1FAFF or 0x2190 <= point <= 0x2BFF or point in (0x3030, 0x303D, 0x3297, 0x3299)
