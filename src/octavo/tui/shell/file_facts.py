"""What is known of a file, in words: its format, kind, size, and how many pixels it has."""

from __future__ import annotations

from octavo.api.content import File

_FORMATS = {
    "svg+xml": "SVG",
    "jpeg": "JPEG",
    "plain": "text",
    "octet-stream": "",
    "markdown": "Markdown",
    "mpeg": "MPEG",
}


def format_of(file: File) -> str:
    """`PNG`, `PDF`; nothing when neither its type nor its name says."""
    kind = _type(file)[1]
    ending = file.name.rpartition(".")[2][:8].upper() if "." in file.name else ""
    return _FORMATS.get(kind, kind.removeprefix("x-").upper() if len(kind) <= 6 else "") or ending


def kind_of(file: File) -> str:
    """What a file is, in a word or two: `PNG image`, `PDF`, `CSV text`."""
    family, name = _type(file)[0], format_of(file)
    if family in ("image", "audio", "video", "text", "font") and name.lower() != family:
        return f"{name} {family}".strip()
    return name or family or "file"


def pixels_of(file: File) -> str:
    """`640 × 480`; nothing for what is no picture."""
    sides = file.dimensions
    return f"{sides.width:.0f} × {sides.height:.0f}" if sides is not None else ""


def in_short(file: File) -> str:
    """`PDF, 1.2 MB`; of a picture its pixels as well."""
    facts = (format_of(file), pixels_of(file), size_in_words(file.size) if file.size else "")
    return ", ".join(filter(None, facts))


def size_in_words(size: int) -> str:
    """`812 bytes`, `3.4 kB`, `12 MB`."""
    if size < 1000:
        return "1 byte" if size == 1 else f"{size} bytes"
    amount = float(size)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.5 or unit == "GB":
            break
    return f"{amount:.1f} {unit}" if amount < 9.95 else f"{amount:.0f} {unit}"


def _type(file: File) -> tuple[str, str]:
    family, _, kind = file.content_type.partition(";")[0].strip().lower().partition("/")
    return family, kind
