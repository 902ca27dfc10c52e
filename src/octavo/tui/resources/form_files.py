"""Fields of a form that are filled from files: a path stands there, and goes out as what was made of the file."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from pydantic import BaseModel

from octavo.api.places import OrganizationRef
from octavo.data.writes import uploads
from octavo.data.writes.uploads import FileToUpload
from octavo.documents import yaml_values
from octavo.documents.yaml_values import YamlError
from octavo.tui.resources.form_fields import FormField, file_of
from octavo.tui.shell.item_labels import format_size

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

STAND_IN = "https://file.invalid/"
"""Stands for the address of a file that was not sent yet. No host is called so."""
_SOURCES = {"md": "markdown", "markdown": "markdown", "html": "html", "htm": "html", "docx": "docx", "zip": "zip"}
_PATH = re.compile(r"\s*(?:~|\.{0,2})/[^\n]*\s*")
_WEIGHTS = {
    "thin": 100,
    "hairline": 100,
    "extralight": 200,
    "ultralight": 200,
    "light": 300,
    "medium": 500,
    "semibold": 600,
    "demibold": 600,
    "extrabold": 800,
    "ultrabold": 800,
    "bold": 700,
    "black": 900,
    "heavy": 900,
}
"""What names of font files call their weights, the longer words first."""

Say = Callable[[str], None]


def is_path(text: str | None) -> bool:
    """Whether a path is written, and neither an address nor the text itself."""
    return text is not None and _PATH.fullmatch(text) is not None


def stood_in(field: FormField, text: str | None) -> str | None:
    """What stands for what is written until the file is sent: an address is to have the form of one."""
    return STAND_IN + quote(text.strip()) if field.file == "import_file" and text and is_path(text) else text


def with_file(field: FormField, written: str | None, path: str) -> str:
    """What is written in a field once a file was chosen for it."""
    if field.file != "customization_font":
        return path
    try:
        read = yaml_values.parse_yaml(written or "")
        faces = read.value if read is not None and isinstance(read.value, list) else []
    except YamlError:
        return written or ""
    return yaml_values.to_yaml([*faces, {"weight": weight_of(path), "storageKey": path}]).rstrip("\n")


def told_by(field: FormField, text: str | None) -> Mapping[str, str]:
    """What the name of a file says of other fields: what kind of pages are in it."""
    source = _SOURCES.get((text or "").strip().rpartition(".")[2].lower())
    return {"source": source} if field.file == "import_file" and is_path(text) and source is not None else {}


def weight_of(path: str) -> int:
    """The weight of a font file as its name says it. 400 where it says none."""
    name = re.sub(r"[\W_]", "", path.rpartition("/")[2].lower())
    number = re.search(r"(?<!\d)([1-9]00)(?!\d)", path.rpartition("/")[2])
    return next((weight for word, weight in _WEIGHTS.items() if word in name), int(number[1]) if number else 400)


class SentFiles:
    """Makes of the paths in a request what goes out for them. A file that was sent is not sent again."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._sent: dict[FileToUpload, tuple[str, str]] = {}
        """The address and storage key of what was sent."""

    async def put_in(self, operation: Any, say: Say) -> Any:
        """`operation` with its files sent, or read. `say` is told how far that is. Raises ApiError, NotSendable."""
        swaps: dict[tuple[str, str], str] = {}
        asked = list(dict.fromkeys(_files_in(operation)))
        looked = {
            (kind, text): await asyncio.to_thread(uploads.check_file, _path(text), kind)
            for kind, text in asked
            if kind != "text"
        }
        for kind, text in asked:
            if kind == "text":
                swaps[kind, text] = await asyncio.to_thread(uploads.read_text, text)
            else:
                address, key = await self._send(looked[kind, text], say)
                swaps[kind, text] = key if kind == "customization_font" else address
        return _swapped(operation, swaps) if swaps else operation

    async def _send(self, file: FileToUpload, say: Say) -> tuple[str, str]:
        organization = self._shell.workspace.organization
        if file not in self._sent:
            assert organization is not None, "a form must belong to an organization"
            all_of_it = format_size(file.size)

            def told(done: int, size: int) -> None:
                so_far = format_size(done) if done else "0"
                say(f"Sending {file.path.name}: {so_far} of {all_of_it}, {100 * done // size}%. Press esc to cancel.")

            at = OrganizationRef(organization_id=organization.id)
            session = self._shell.session
            there = await uploads.upload(session.live, session.upload, at, file, told)
            self._sent[file] = (there.url, there.key)
        return self._sent[file]

    def forget(self) -> None:
        """What was sent is not there any more, or was used: it would be sent again."""
        self._sent.clear()


def _path(text: str) -> str:
    return unquote(text.removeprefix(STAND_IN)) if text.startswith(STAND_IN) else text


def _files_in(value: Any) -> Iterator[tuple[Any, str]]:
    """The kinds and paths of the files a request speaks of."""
    for name, each in value if isinstance(value, BaseModel) else ():
        kind = _kind(value, name)
        if isinstance(each, str) and kind and _is_file(kind, each):
            yield kind, each
        for inner in each if isinstance(each, tuple) else (each,):
            if isinstance(inner, BaseModel):
                yield from _files_in(inner)


def _swapped(value: Any, swaps: dict[tuple[str, str], str]) -> Any:
    if isinstance(value, tuple):
        return tuple(_swapped(each, swaps) for each in value)
    if not isinstance(value, BaseModel):
        return value
    changes: dict[str, Any] = {}
    for name in value.model_fields_set:
        each = getattr(value, name)
        found = swaps.get((_kind(value, name), each)) if isinstance(each, str) else None
        changes[name] = found if found is not None else _swapped(each, swaps)
    return value.model_copy(update=changes)


def _kind(value: BaseModel, name: str) -> str:
    info = type(value).model_fields[name]
    found: Sequence[Any] = (info.annotation, *info.metadata)
    return file_of(found, deep=False)


def _is_file(kind: str, text: str) -> bool:
    if kind == "import_file":
        return text.startswith(STAND_IN)
    return kind == "customization_font" or is_path(text)
