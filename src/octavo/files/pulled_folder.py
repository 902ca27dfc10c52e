"""Reads and writes a folder that was pulled from a space, and reads the content of the space.

`.octavo/state.json` names the space, the revision and each file. It contains no text and no token. `.octavo/base` has
the pulled text of each file, compressed, by its hash.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import zlib
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Self, get_args

from octavo.api import content
from octavo.api.content import File, Page, Revision
from octavo.api.folding import fold
from octavo.api.operation import ContentRef
from octavo.concurrency import gather_bounded
from octavo.data.access import Send
from octavo.documents.folders.folder import (
    IGNORED_FOLDERS,
    SPECIAL_FOLDER,
    THROUGH_LINK,
    composed_path,
    is_same_file,
    passes_link,
    why_unsafe,
)
from octavo.documents.folders.layout import normalize
from octavo.documents.folders.table_of_contents import read_folder
from octavo.private_files import try_lock_file
from octavo.untrusted_input import parse_json

STATE_FOLDER = ".octavo"
SCHEMA = "octavo.files/1"
CONFLICTS_FOLDER = f"{STATE_FOLDER}/conflicts"
"""Folder for copies of files that a pull or a restore replaced or could not merge."""
MAX_STATE_BYTES = 64 << 20
_MAX_TEXT_BYTES = 64 << 20
FileKind = Literal["page", "summary", "reusable", "variables", "file"]
KINDS = get_args(FileKind)
_TEMPORARY_NAME = re.compile(r"\.octavo-(\d{1,9})-\w+\.part")
"""Name of a temporary file, with the ID of the process that writes it."""


class NotPulled(Exception):
    """Raised if a folder was not pulled, or if its state cannot be read. The text is a sentence for the user."""


class FolderInUse(Exception):
    """Raised if another process is changing the folder or its files. The text is a sentence for the user."""


@dataclass(frozen=True)
class TrackedFile:
    """A file in the state of the last pull. `path` is relative to the root of the pages."""

    path: str
    kind: FileKind
    id: str = ""
    """ID of the page, the file or the reusable content. Empty for `SUMMARY.md` and the variables."""
    base_sha256: str = ""
    """Hash of the pulled content: the `text_digest` of a text, else the hash of the bytes."""
    pulled_path: str = ""
    """Path that a first pull would give the file. `path` differs after a local rename, for example."""

    @property
    def is_text(self) -> bool:
        """True if the text of the file is stored in `.octavo/base`."""
        return self.kind != "file"

    def has_content(self, data: bytes) -> bool:
        """Return whether `data` is the content that was pulled last. Line ends of texts do not matter."""
        digest = text_digest(text_of(data)) if self.is_text else sha256(data).hexdigest()
        return digest == self.base_sha256


@dataclass
class PulledFolder:
    """A pulled folder and its state. `save` stores the fields."""

    top: Path
    origin: str
    """Origin of the server's URL, such as `https://api.gitbook.com`."""
    space_id: str
    revision_id: str = ""
    """ID of the revision that was pulled. Empty before the first pull."""
    root: str = ""
    """The folder inside `top` that has the pages, as `.gitbook.yaml` sets it. Empty if the pages are in `top`."""
    files: dict[str, TrackedFile] = field(default_factory=dict)
    """Files of the last pull, by path."""
    proposal: dict[str, Any] = field(default_factory=dict)
    """The last proposal that is not merged yet, in the form that `proposal.py` stores. Empty if there is none."""
    skipped_ids: set[str] = field(default_factory=set)
    """IDs of the pages and files that the last pull could not read or write. The next pull reads them again."""

    @property
    def pages(self) -> Path:
        """The folder of the pages, to which the paths of files are relative."""
        return self.top / self.root

    @classmethod
    def new(cls, top: Path, origin: str, space_id: str) -> Self:
        """Return a folder before its first pull. `.gitbook.yaml` may name the folder of the pages. Raises OSError."""
        root = read_folder(top).root
        return cls(
            top, origin, space_id, root="" if root == top.resolve() else root.relative_to(top.resolve()).as_posix()
        )

    @classmethod
    def find(cls, start: Path) -> Self:
        """Return the pulled folder that contains the path `start`. Raises NotPulled if there is none."""
        for folder in (start.absolute(), *start.absolute().parents):
            if (folder / STATE_FOLDER / "state.json").is_file():
                return cls.read(folder)
        raise NotPulled("Not a pulled folder. Run: octavo pull SPACE DIR")

    @classmethod
    def read(cls, top: Path) -> Self:
        """Return the pulled folder at `top`. Raises NotPulled if it has no state that can be read."""
        path = top / STATE_FOLDER / "state.json"
        try:
            if path.stat().st_size > MAX_STATE_BYTES:
                raise ValueError("it is too large")
            state = parse_json(path.read_bytes())
            if not isinstance(state, dict) or state.get("schema") != SCHEMA:
                raise ValueError("another version of Octavo wrote it")
            files = {name: _parse_tracked_file(name, each) for name, each in state["files"].items()}
            root = _text(state, "root")
            if root and why_unsafe(root):
                raise ValueError("its root leaves the folder")
            proposal = _read_proposal(state.get("proposal", {}))
            origin, space_id, revision_id = (_text(state, name) for name in ("origin", "space", "revision"))
            skipped_ids = set(map(str, state.get("skipped", ())))
            return cls(top, origin, space_id, revision_id, root, files, proposal, skipped_ids)
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            message = f"Could not read {path}: {reason}. To start over, delete {path.parent} and pull again."
            raise NotPulled(message) from error

    def save(self) -> None:
        """Store the state of the folder. Raises OSError."""
        state: dict[str, Any] = {"schema": SCHEMA, "origin": self.origin, "space": self.space_id}
        state |= {"revision": self.revision_id, **({"root": self.root} if self.root else {})}
        state["files"] = {path: _stored_file(file) for path, file in sorted(self.files.items())}
        state |= {"proposal": self.proposal} if self.proposal else {}
        state |= {"skipped": sorted(self.skipped_ids)} if self.skipped_ids else {}
        (self.top / STATE_FOLDER).mkdir(exist_ok=True)
        gitignore = self.top / STATE_FOLDER / ".gitignore"
        if not gitignore.exists():
            _replace_atomically(gitignore, b"*\n")
        _replace_atomically(
            self.top / STATE_FOLDER / "state.json", json.dumps(state, indent=1, ensure_ascii=False).encode()
        )

    @contextmanager
    def locked(self) -> Iterator[Self]:
        """Lock the folder against changes by other processes during the `with` block. Yield the folder with the state
        that is stored now. Raises FolderInUse, NotPulled or OSError."""
        (self.top / STATE_FOLDER).mkdir(parents=True, exist_ok=True)
        unlock = try_lock_file(self.top / STATE_FOLDER / "lock")
        if unlock is None:
            raise FolderInUse(f"Could not change {self.top}: another Octavo is changing it. Try again.")
        try:
            has_state = (self.top / STATE_FOLDER / "state.json").exists()
            yield self.read(self.top) if has_state else self
        finally:
            unlock()

    def base_text(self, digest: str) -> str:
        """Return the text with this hash from `.octavo/base`. Raises NotPulled if the text is missing or damaged."""
        try:
            data = (self.top / STATE_FOLDER / "base" / digest[:2] / digest[2:]).read_bytes()
            text = zlib.decompressobj().decompress(data, _MAX_TEXT_BYTES)
            stored_text = text.decode("utf-8", "surrogatepass")
            if text_digest(stored_text) != digest:
                raise ValueError
            return stored_text
        except (OSError, ValueError, zlib.error) as error:
            message = f"Could not read the last pull in {self.top / STATE_FOLDER}: it is damaged."
            raise NotPulled(f"{message} Delete that folder and pull again.") from error

    def store_base(self, text: str) -> str:
        """Store a text in `.octavo/base`, and return its hash. Raises OSError."""
        digest = text_digest(text)
        path = self.top / STATE_FOLDER / "base" / digest[:2] / digest[2:]
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace_atomically(path, zlib.compress(text.encode("utf-8", "surrogatepass"), 6))
        return digest

    def remove_unused_texts(self) -> None:
        """Delete the texts of `.octavo/base` that no file and no proposal needs."""
        used_digests = {file.base_sha256 for file in self.files.values()} | set(_strings(self.proposal))
        for path in (self.top / STATE_FOLDER / "base").glob("??/*"):
            if path.parent.name + path.name not in used_digests:
                with suppress(OSError):
                    path.unlink()

    def has(self, path: str) -> bool:
        """Return whether there is a file, folder or symbolic link at `path`."""
        return os.path.lexists(self.pages / path)

    def data(self, path: str) -> bytes | None:
        """Return the bytes of a file. None if it is no regular file, or behind a symbolic link. Raises OSError."""
        file_path = self.pages / path
        if passes_link(self.pages, path) or not file_path.is_file():  # Reading a named pipe would wait for a writer.
            return None
        try:
            return file_path.read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def text(self, path: str) -> str:
        """Return the normalized text of a file. Empty if there is no such file. Raises OSError."""
        return text_of(self.data(path) or b"")

    def write(
        self,
        data_by_path: Mapping[str, bytes],
        deleted: Collection[str] = (),
        read_data_by_path: Mapping[str, bytes] | None = None,
    ) -> dict[str, str]:
        """Write files, and delete the files `deleted`. Files are replaced after all new contents are on disk. Unsafe
        paths are skipped. Return the reason for each skipped path. `read_data_by_path` has the contents of files that
        the caller has read. Raises OSError, or FolderInUse if one of these contents would be replaced, but has changed.
        """
        self._delete_leftovers()
        new_folders = {each.as_posix() for path in data_by_path for each in PurePosixPath(path).parents}
        for path in deleted:
            old_folders = {each.as_posix() for each in PurePosixPath(path).parents}
            if path in new_folders or old_folders & data_by_path.keys():
                self._delete(path)  # A file becomes a folder, or a folder becomes a file.
        reasons: dict[str, str] = {}
        with ExitStack() as replacements:
            for path, data in data_by_path.items():
                if reason := why_unsafe(path) or (THROUGH_LINK if passes_link(self.pages, path) else ""):
                    reasons[path] = reason
                    continue
                (self.pages / path).parent.mkdir(parents=True, exist_ok=True)
                replacements.enter_context(_replacement(self.pages / path, data))
            for path, read_data in (read_data_by_path or {}).items():
                if (path in data_by_path or path in deleted) and self.data(path) not in (None, read_data):
                    raise FolderInUse(f"Could not change {self.top}: {path} was changed meanwhile. Try again.")
        new_paths = {fold(path): path for path in data_by_path}
        for path in deleted:
            # On a disk that ignores case, a new file may have replaced this one.
            if not is_same_file(self.pages / path, self.pages / new_paths.get(fold(path), "")):
                self._delete(path)
        return reasons

    def _delete_leftovers(self) -> None:
        """Delete the temporary files of processes that were killed."""
        for folder in (self.top, self.top / STATE_FOLDER):
            for path in regular_files(folder):
                match = _TEMPORARY_NAME.fullmatch(PurePosixPath(path).name)
                if match is not None and not _is_running(int(match[1])):
                    with suppress(OSError):
                        (folder / path).unlink()

    def _delete(self, path: str) -> None:
        """Delete a file, and folders that become empty. Do nothing for folders and symbolic links. Raises OSError."""
        if passes_link(self.pages, path) or (self.pages / path).is_dir():
            return
        (self.pages / path).unlink(missing_ok=True)
        for folder in (self.pages / path).parents:
            if folder == self.pages:
                break
            try:
                folder.rmdir()
            except OSError:
                break

    def keep_copy(self, path: str, data: bytes) -> str:
        """Store a copy of a file that will be replaced, and return the path of the copy. Raises OSError."""
        copy, number = f"{CONFLICTS_FOLDER}/{path}", 1
        while (self.top / copy).exists() and (self.top / copy).read_bytes() != data:
            number += 1
            copy = f"{CONFLICTS_FOLDER}/{path}.{number}"
        (self.top / copy).parent.mkdir(parents=True, exist_ok=True)
        _replace_atomically(self.top / copy, data)
        return copy


def regular_files(top: Path) -> Iterator[str]:
    """Yield the paths of files in `top`, except links and files in ignored or hidden folders other than `.gitbook`."""
    for folder, subfolders, file_names in os.walk(top):
        is_top = Path(folder) == top
        subfolders[:] = sorted(
            name
            for name in subfolders
            if name not in IGNORED_FOLDERS and (not name.startswith(".") or (is_top and name == SPECIAL_FOLDER))
        )
        for name in sorted(file_names):
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink():
                yield composed_path(top, path.relative_to(top).as_posix())


def _is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def text_digest(text: str) -> str:
    """Return the hash of a text. Texts that differ only in their line ends have the same hash."""
    return sha256(normalize(text).encode("utf-8", "surrogatepass")).hexdigest()


def text_of(data: bytes) -> str:
    """Return the normalized text of a file. Bytes that are not UTF-8 become U+FFFD."""
    return normalize(data.decode("utf-8", "replace"))


def is_utf8(data: bytes) -> bool:
    """Return whether a file is UTF-8. If not, `text_of` loses characters."""
    return data.decode("utf-8", "ignore").encode() == data


def _replace_atomically(path: Path, data: bytes) -> None:
    with _replacement(path, data):
        pass


@contextmanager
def _replacement(path: Path, data: bytes) -> Iterator[None]:
    """Store `data` in a temporary file, which replaces the file at `path` if the `with` block ends without an error."""
    is_replaced = path.exists()
    handle, temporary_path = tempfile.mkstemp(dir=path.parent, prefix=f".octavo-{os.getpid()}-", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            if is_replaced:  # Otherwise, a crash could lose both the old and the new bytes.
                os.fsync(out.fileno())
        try:
            mode = path.stat(follow_symlinks=False).st_mode & 0o777
        except OSError:
            umask = os.umask(0o077)
            os.umask(umask)
            mode = 0o666 & ~umask
        os.chmod(temporary_path, mode)
        yield
        os.replace(temporary_path, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary_path)
        raise


def _parse_tracked_file(path: str, fields: Mapping[str, Any]) -> TrackedFile:
    kind = fields["kind"]
    if why_unsafe(path) or kind not in KINDS:
        raise ValueError(f"it names a file that Octavo does not write: {path!r}")
    identity, base, pulled_path = (_text(fields, name) for name in ("id", "baseSha256", "serverPath"))
    return TrackedFile(path, kind, identity, base, pulled_path or path)


def _read_proposal(stored_proposal: Any) -> dict[str, Any]:
    for path, page in stored_proposal.get("pages", {}).items():
        _parse_tracked_file(path, {"kind": "page", "id": page["id"], "baseSha256": page["sha256"]})
    for name in ("files", "hashes"):
        for path, value in stored_proposal.get(name, {}).items():
            _parse_tracked_file(path, {"kind": "file", "id": value})
    for name in ("changeRequest", "creating", "revision", "summary"):
        _text(stored_proposal, name)
    set(stored_proposal.get("earlierDrafts", ()))
    for other in stored_proposal.get("others", {}).values():
        _read_proposal(other)
    return dict(stored_proposal)


def _stored_file(file: TrackedFile) -> dict[str, str]:
    moved_fields = {"serverPath": file.pulled_path} if file.pulled_path not in ("", file.path) else {}
    return {"id": file.id, "kind": file.kind, "baseSha256": file.base_sha256, **moved_fields}


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name, "")
    if not isinstance(value, str):
        raise ValueError(f"{name} is not text")
    return value


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in _strings(each)]
    return [value] if isinstance(value, str) else []


_MAX_DOWNLOAD_BYTES = 256 << 20
Download = Callable[[str, int], AsyncGenerator[bytes, None]]


@dataclass(frozen=True)
class SpaceReader:
    """Reads the content of a space, change request or revision. `send` and `download` are methods of a session."""

    send: Send
    download: Download
    at: ContentRef

    async def revision(self) -> Revision:
        """Return the page tree and the list of files, without texts. Raises ApiError."""
        return await self.send(content.Get(at=self.at, computed=False))

    async def text(self, page: Page) -> str | None:
        """Return the Markdown of a page. None if the response has none. Empty for a group or link. Raises ApiError."""
        if page.type != "document":
            return ""
        raw = await self.send(content.GetRawPage(at=self.at, page_id=page.id))
        return raw.markdown.text if raw.markdown is not None else None

    async def texts(self, pages: Iterable[Page], report: Callable[[int], object] = lambda _: None) -> dict[str, str]:
        """Return the Markdown of pages by ID, without pages for which the server returns none. `report` gets the number
        of texts read so far. Raises ApiError."""
        texts: dict[str, str] = {}

        async def read(page: Page) -> None:
            if (text := await self.text(page)) is not None:
                texts[page.id] = text
            report(len(texts))

        await gather_bounded(read, list(pages))
        return texts

    async def file(self, file: File) -> bytes | None:
        """Return the content of a file. None if the server gives no link to it. Raises ApiError."""
        if not file.download_url:
            return None
        async with aclosing(self.download(file.download_url, _MAX_DOWNLOAD_BYTES)) as chunks:
            return b"".join([chunk async for chunk in chunks])
