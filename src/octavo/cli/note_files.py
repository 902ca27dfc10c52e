"""Reads the notes of a program from a JSONL file: one note a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from octavo.api.safety import safe_line
from octavo.cli.failures import USAGE, Failure
from octavo.data.proposed_notes import MAX_NOTES, sanitize_note_text, sanitize_source_name
from octavo.settings import did_you_mean
from octavo.untrusted_input import DuplicateKeyError, LimitExceededError, parse_strict_json

MAX_FILE = 1 << 20
"""Size of a file with notes in bytes."""
MAX_TEXT = 8 << 10
"""Size of a text, and of a suggestion, in bytes."""
MAX_QUOTE = 2_000
FIELDS = ("page", "block", "quote", "side", "revision", "text", "suggestion", "severity", "rule", "source")


@dataclass(frozen=True)
class Note:
    """A note as a program wrote it."""

    line: int
    """Number of its line in the JSONL file, counted from 1. 0 for a finding of a linter."""
    page: str
    """Path, id or title of the page."""
    source: str
    block: str = ""
    quote: str = ""
    text: str = ""
    suggestion: str | None = None
    """The whole block in Markdown as it should be. None without a suggestion."""
    side: Literal["after", "before"] = "after"
    revision: str = ""
    """Id of the revision that the program read. Empty if unknown."""
    severity: str = ""
    rule: str = ""
    where: str = ""
    """The file and line that a linter names. Empty for a note of a JSONL file."""


def read_notes(content: bytes, name: str) -> list[Note]:
    """Return the notes in a file, whose `name` is for messages. Raises Failure with the line if the file is wrong."""
    if len(content) > MAX_FILE:
        raise Failure(f"Could not read {name}: it is larger than {MAX_FILE >> 20} MiB.", USAGE)
    notes: list[Note] = []
    for number, row in enumerate(content.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not row.strip():
            continue
        try:
            notes.append(note_of(_object(row), number))
        except ValueError as error:
            raise Failure(f"{name}:{number}: {error}", USAGE) from None
        if len(notes) > MAX_NOTES:
            raise Failure(f"Could not read {name}: it has more than {MAX_NOTES} notes.", USAGE)
    return notes


def _object(row: bytes) -> dict[str, Any]:
    try:
        value = parse_strict_json(row)
    except (DuplicateKeyError, LimitExceededError) as error:
        raise ValueError(f"{error}.") from None
    except ValueError:
        raise ValueError("it is not JSON.") from None
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object.")
    return value


def note_of(value: dict[str, Any], number: int = 1) -> Note:
    """Return the note in a JSON object. Raises ValueError with the reason as a sentence."""
    for name in value:
        if name not in FIELDS:
            hint = did_you_mean(name, FIELDS) or f" The fields are {', '.join(FIELDS)}."
            raise ValueError(f"unknown field {safe_line(name[:40])}.{hint}")
    texts = {name: _text(name, value.get(name)) for name in FIELDS}
    if missing := [name for name in ("page", "source") if not texts[name]]:
        raise ValueError(f"{missing[0]} is missing.")
    if not texts["text"] and value.get("suggestion") is None:
        raise ValueError("text or suggestion is missing.")
    if not texts["block"] and not texts["quote"]:
        raise ValueError("block or quote is missing.")
    if texts["side"] not in ("", "after", "before"):
        raise ValueError("side must be after or before.")
    return Note(
        line=number,
        page=texts["page"],
        source=sanitize_source_name(texts["source"]),
        block=texts["block"],
        quote=texts["quote"],
        text=sanitize_note_text(texts["text"]),
        suggestion=None if value.get("suggestion") is None else sanitize_note_text(texts["suggestion"]),
        side="before" if texts["side"] == "before" else "after",
        revision=texts["revision"],
        severity=safe_line(texts["severity"]),
        rule=safe_line(texts["rule"]),
    )


def _text(name: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text.")
    limit = MAX_TEXT if name in ("text", "suggestion") else MAX_QUOTE
    if len(value.encode("utf-8", "surrogatepass")) > limit:
        raise ValueError(f"{name} is larger than {limit} bytes.")
    return value
