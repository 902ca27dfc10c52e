"""Format, kind, size and dimensions of a file as text."""

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


def format_name(file: File) -> str:
    """Return a format such as `PNG` or `PDF`. Empty if neither the MIME type nor the name tells."""
    kind = _mime_type(file)[1]
    ending = file.name.rpartition(".")[2][:8].upper() if "." in file.name else ""
    return _FORMATS.get(kind, kind.removeprefix("x-").upper() if len(kind) <= 6 else "") or ending


def file_kind(file: File) -> str:
    """Return the kind of a file, such as `PNG image`, `PDF` or `CSV text`."""
    family, name = _mime_type(file)[0], format_name(file)
    if family in ("image", "audio", "video", "text", "font") and name.lower() != family:
        return f"{name} {family}".strip()
    return name or family or "file"


def format_dimensions(file: File) -> str:
    """Return the dimensions of an image, such as `640 × 480`. Empty for other files."""
    sides = file.dimensions
    return f"{sides.width:.0f} × {sides.height:.0f}" if sides is not None else ""


def file_summary(file: File) -> str:
    """Return format and size, such as `PDF, 1.2 MB`. For an image, also its dimensions."""
    facts = (format_name(file), format_dimensions(file), format_size(file.size) if file.size else "")
    return ", ".join(filter(None, facts))


def format_size(size: int) -> str:
    """Return a size, such as `812 bytes`, `3.4 kB` or `12 MB`."""
    if size < 1000:
        return "1 byte" if size == 1 else f"{size} bytes"
    amount = float(size)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.5 or unit == "GB":
            break
    return f"{amount:.1f} {unit}" if amount < 9.95 else f"{amount:.0f} {unit}"


def _mime_type(file: File) -> tuple[str, str]:
    family, _, kind = file.content_type.partition(";")[0].strip().lower().partition("/")
    return family, kind
