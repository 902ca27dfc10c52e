"""Form fields that are filled from files: the field contains a path, and the request contains the uploaded file."""

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
from octavo.tui.resources.form_fields import FormField, upload_kind_of
from octavo.tui.shell.file_facts import size_in_words

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

PLACEHOLDER_URL = "https://file.invalid/"
"""Prefix of a URL that represents a file until the file is uploaded. No host has this name."""
_FORMATS_BY_SUFFIX = {
    "md": "markdown",
    "markdown": "markdown",
    "html": "html",
    "htm": "html",
    "docx": "docx",
    "zip": "zip",
}
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
"""Font weights by their names in file names, longer names first."""

ReportProgress = Callable[[str], None]


def is_path(text: str | None) -> bool:
    """Return whether a text is a file path."""
    return text is not None and _PATH.fullmatch(text) is not None


def with_placeholder(field: FormField, text: str | None) -> str | None:
    """Return the text to validate: a path gets a placeholder URL, because the field must contain a URL."""
    return (
        PLACEHOLDER_URL + quote(text.strip()) if field.upload_kind == "import_file" and text and is_path(text) else text
    )


def text_with_file(field: FormField, text: str | None, path: str) -> str:
    """Return the text of a field after a file was chosen for it."""
    if field.upload_kind != "customization_font":
        return path
    try:
        parsed = yaml_values.parse_yaml(text or "")
        font_faces = parsed.value if parsed is not None and isinstance(parsed.value, list) else []
    except YamlError:
        return text or ""
    return yaml_values.to_yaml([*font_faces, {"weight": font_weight(path), "storageKey": path}]).rstrip("\n")


def values_from_file_name(field: FormField, text: str | None) -> Mapping[str, str]:
    """Return values for other fields that follow from a file name: the format of the pages in the file."""
    source = _FORMATS_BY_SUFFIX.get((text or "").strip().rpartition(".")[2].lower())
    return {"source": source} if field.upload_kind == "import_file" and is_path(text) and source is not None else {}


def font_weight(path: str) -> int:
    """Return the font weight in the name of a font file. 400 if the name contains none."""
    name = re.sub(r"[\W_]", "", path.rpartition("/")[2].lower())
    number = re.search(r"(?<!\d)([1-9]00)(?!\d)", path.rpartition("/")[2])
    return next((weight for word, weight in _WEIGHTS.items() if word in name), int(number[1]) if number else 400)


class FormUploads:
    """Replaces the paths in a request by uploaded files. No file is uploaded twice."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._uploaded: dict[FileToUpload, tuple[str, str]] = {}
        """URL and storage key of each uploaded file."""

    async def upload_all(self, operation: Any, report_progress: ReportProgress) -> Any:
        """Return the operation with all files uploaded or read. `say` is called with the progress. Raises ApiError,
        NotSendable."""
        replacements: dict[tuple[str, str], str] = {}
        references = list(dict.fromkeys(_files_in(operation)))
        checked_files = {
            (kind, text): await asyncio.to_thread(uploads.check_file, _path(text), kind)
            for kind, text in references
            if kind != "text"
        }
        for kind, text in references:
            if kind == "text":
                replacements[kind, text] = await asyncio.to_thread(uploads.read_text, text)
            else:
                address, key = await self._upload(checked_files[kind, text], report_progress)
                replacements[kind, text] = key if kind == "customization_font" else address
        return _replace_paths(operation, replacements) if replacements else operation

    async def _upload(self, file: FileToUpload, report_progress: ReportProgress) -> tuple[str, str]:
        organization = self._shell.workspace.organization
        if file not in self._uploaded:
            assert organization is not None, "a form must belong to an organization"
            total_size = size_in_words(file.size)

            def report_bytes(done: int, size: int) -> None:
                sent_size = size_in_words(done) if done else "0"
                report_progress(
                    f"Sending {file.path.name}: {sent_size} of {total_size}, {100 * done // size}%. Press esc to cancel."
                )

            organization_ref = OrganizationRef(organization_id=organization.id)
            session = self._shell.session
            uploaded = await uploads.upload(session.live, session.upload, organization_ref, file, report_bytes)
            self._uploaded[file] = (uploaded.url, uploaded.key)
        return self._uploaded[file]

    def forget(self) -> None:
        """Forget the uploaded files: the server has deleted or used them, so they must be uploaded again."""
        self._uploaded.clear()


def _path(text: str) -> str:
    return unquote(text.removeprefix(PLACEHOLDER_URL)) if text.startswith(PLACEHOLDER_URL) else text


def _files_in(value: Any) -> Iterator[tuple[Any, str]]:
    """Return the upload kinds and paths in a request."""
    for name, each in value if isinstance(value, BaseModel) else ():
        kind = _upload_kind(value, name)
        if isinstance(each, str) and kind and _is_file(kind, each):
            yield kind, each
        for inner in each if isinstance(each, tuple) else (each,):
            if isinstance(inner, BaseModel):
                yield from _files_in(inner)


def _replace_paths(value: Any, replacements: dict[tuple[str, str], str]) -> Any:
    if isinstance(value, tuple):
        return tuple(_replace_paths(each, replacements) for each in value)
    if not isinstance(value, BaseModel):
        return value
    changes: dict[str, Any] = {}
    for name in value.model_fields_set:
        each = getattr(value, name)
        found = replacements.get((_upload_kind(value, name), each)) if isinstance(each, str) else None
        changes[name] = found if found is not None else _replace_paths(each, replacements)
    return value.model_copy(update=changes)


def _upload_kind(value: BaseModel, name: str) -> str:
    info = type(value).model_fields[name]
    found: Sequence[Any] = (info.annotation, *info.metadata)
    return upload_kind_of(found, deep=False)


def _is_file(kind: str, text: str) -> bool:
    if kind == "import_file":
        return text.startswith(PLACEHOLDER_URL)
    return kind == "customization_font" or is_path(text)
