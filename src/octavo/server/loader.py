"""A folder of markdown becomes a space, and what changes in it later becomes a revision of that space.

What the folder said when it was last loaded is kept, so that loading again is a three-way merge: what changed in the
folder comes in, what was changed in the space meanwhile stays, and where both changed the same words both are kept
between the marks of a conflict, the folder's side under `>>>>>>> folder`. A page keeps its id while its file keeps
its path, or else its text; the comments on it and the change requests that speak of it stay with it.
"""

from __future__ import annotations

import hashlib
import math
import mimetypes
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from octavo.documents import front_matter, page_trees
from octavo.documents.merging import revision_merge
from octavo.documents.page_trees import Pages
from octavo.documents.revision_changes import EMPTY_REVISION, revision_differences
from octavo.server.behaviour import revisions, spaces
from octavo.server.folder import ELSEWHERE, Entry, Folder, Problem, shown, walk
from octavo.server.folders import ASSETS, SHARED, VARIABLES, addresses, includes, kept, named, read
from octavo.server.pictures import dimensions
from octavo.server.store import Json
from octavo.server.world import World

SIDE = "folder"
"""What the folder is called in the marks of a conflict."""

_FIELDS = ("description", "icon", "emoji")
_FLAGS = ("hidden", "noIndex", "noRobotsIndex")


@dataclass(frozen=True)
class Loaded:
    """The space a folder became, and how many pages differ from what it held before."""

    space_id: str
    revision_id: str
    created: int = 0
    edited: int = 0
    deleted: int = 0
    moved: int = 0
    conflicts: int = 0
    """How many things both the folder and the space had changed, each in its way."""
    problems: tuple[Problem, ...] = ()
    """What could not be loaded as it is."""


def load(
    world: World,
    folder: Path,
    *,
    organization: str,
    author: str,
    title: str | None = None,
    space_id: str | None = None,
    told: Callable[[int, int], object] | None = None,
) -> Loaded:
    """Make `folder` a space of an organization, or bring what changed in it since into the space it is already.

    A folder is known by its real path. `title` is for a new space, which is otherwise called as the folder is.
    With `space_id` the folder becomes that space. `told` hears how many of its pages are read, of how many; then search finds
    them only after `search.reindex_rest`. Raises OSError when the folder cannot be opened.
    """
    world = world.asked_by(author)
    found = read(folder)
    space = _space(world, found, space_id)
    record = world.store.find(f"/spaces/{space['id']}/folder") if space else None
    before = record or {**EMPTY_REVISION, "keys": {}}
    # What was loaded before is read without a transaction: hardly anything of it is written, and others may write meanwhile.
    with world.store.transaction() if record is None else nullcontext():
        after = _Loading(world, found, before, told or _nobody).content()
    with world.store.transaction():
        if space is None:
            name = (title or shown(found.top.name) or "Untitled")[: spaces.TITLE_LIMIT]
            space = spaces.new(world, organization, title=name)
        world.store.set(_setting(found), space["id"])
        revision, conflicts = _move(world, space, before, after, known=record is not None, found_later=told is not None)
        world.store.put(f"/spaces/{space['id']}/folder", {"id": "folder", **after})
    return _loaded(world, space, revision, conflicts, found)


def content(world: World, folder: Path) -> Json:
    """The pages and files of a folder that belongs to no space, and their ids by `page:` or `file:` and path."""
    return _Loading(world, read(folder), {**EMPTY_REVISION, "keys": {}}, _nobody).content()


def _nobody(read: int, count: int) -> None:
    """Nobody asked how far it is."""


def _setting(folder: Folder) -> str:
    return "folder:" + hashlib.sha256(os.fsencode(folder.top)).hexdigest()


def _space(world: World, folder: Folder, space_id: str | None) -> Json | None:
    """The space that the folder is, if it is one."""
    if space_id is not None:
        return world.store.get(f"/spaces/{space_id}")
    known = world.store.setting(_setting(folder))
    space = world.store.find(f"/spaces/{known}") if known else None
    return None if space is None or space.get("deletedAt") else space


def _move(
    world: World, space: Json, before: Json, after: Json, *, known: bool, found_later: bool
) -> tuple[Json | None, int]:
    """Bring what changed in the folder into the space: the new revision, or None, and how many conflicts it has."""
    if not space["revision"]:
        revision = revisions.add(world, space["id"], after, type="edits", parents=[])
        revisions.move_primary(world, space["id"], revision, found_later=found_later)
        return revision, 0
    if known and not revision_differences(before, after, _blob):
        return None, 0
    main = revisions.current(world, space["id"])
    outcome = revision_merge.merge_revisions(before, main, after, SIDE, world.store)
    held = {**outcome.held, "pages": page_trees.with_paths(outcome.held["pages"])}
    if not revision_differences(main, {**main, **held}, _blob):
        return None, 0
    revision = revisions.next_after(world, main, **held)
    revisions.move_primary(world, space["id"], revision, found_later=found_later)
    return revision, len(outcome.conflicts)


def _loaded(world: World, space: Json, revision: Json | None, conflicts: int, folder: Folder) -> Loaded:
    problems = tuple(folder.problems)
    if revision is None:
        return Loaded(space["id"], revisions.current(world, space["id"])["id"], problems=problems)
    parents = revision["parents"]
    before = revisions.get(world, space["id"], parents[0]) if parents else EMPTY_REVISION
    counts = Counter(change["type"] for change in revision_differences(before, revision, _blob))
    return Loaded(
        space["id"],
        revision["id"],
        created=counts["page_created"],
        edited=counts["page_edited"],
        deleted=counts["page_deleted"],
        moved=counts["page_moved"],
        conflicts=conflicts,
        problems=problems,
    )


def _blob(file: Json) -> str:
    return str(file["blob"])


@dataclass
class _Loading:
    """What a folder holds, made into pages and files with the ids they had before."""

    world: World
    folder: Folder
    before: Json
    told: Callable[[int, int], object]
    _keys: dict[str, str] = field(default_factory=dict)
    """Ids by what names a page or file in the folder."""
    _bodies: dict[Path, tuple[Json, str]] = field(default_factory=dict)
    """Front matter and text of the pages by path."""
    _not_read_now: dict[Path, Json] = field(default_factory=dict)
    """Pages as they were when their files could be read, by path."""
    _shared: dict[Path, tuple[Json, str]] = field(default_factory=dict)
    """The same of what pages include."""
    _seen: Counter[str] = field(default_factory=Counter)
    _entries: list[tuple[Entry, str]] = field(default_factory=list)

    def content(self) -> Json:
        """Pages, files and the keys of their ids, as they are kept of a folder that was loaded."""
        entries = list(walk(self.folder.entries))
        count, number = sum(entry.path is not None for entry in entries), 0
        for entry in entries:
            if entry.path is not None and entry.kind == "document":
                self.told(number := number + 1, count)
                self._bodies[entry.path] = self._read(entry.path)
            self._entries.append((entry, self._key(entry)))
        self._name_pages()
        self._read_shared()
        files = self._files()
        keys = {id(entry): key for entry, key in self._entries}
        old = {page["id"]: page for page in page_trees.walk(self.before["pages"])}
        pages = page_trees.with_paths(self._nodes(self.folder.entries, keys, old))
        shared = [self._reusable(path, *said) for path, said in self._shared.items()]
        held = {"pages": pages, "files": files, "reusableContents": shared, "variables": self._variables()}
        return {**held, "keys": self._keys}

    def _read(self, path: Path) -> tuple[Json, str]:
        """Front matter and text of a file."""
        if not os.path.lexists(self.folder.root / path):
            self.folder.report(path, "does not exist, so its page is empty.")
            return {}, ""
        text = self.folder.text(path)
        if text is None:
            return {}, self._not_read(path)
        try:
            return front_matter.parse_page(text)
        except front_matter.FrontMatterError as wrong:
            self.folder.report(
                path,
                f"has front matter that could not be read: {wrong}. The front matter is shown in the text of the page.",
            )
            return {}, text

    def _not_read(self, path: Path) -> str:
        """Return the text of a page whose file cannot be read: the one from before, else the reason."""
        page_id = self.before["keys"].get(f"page:{path}")
        if (page := page_trees.find(self.before["pages"], page_id or "")) is not None:
            self._not_read_now[path] = page
            return revisions.text(self.world, page)
        name = shown(str(path))
        why = next(each.message for each in reversed(self.folder.problems) if each.path == name)
        return f'{{% hint style="warning" %}}\n{page_trees.escape(f"{name} {why}")}\n{{% endhint %}}\n'

    def _read_shared(self) -> None:
        """What is kept to be included, and all that pages include, also by including it."""
        waiting = [path for path in kept(self.folder, SHARED) if path.suffix == ".md" and self.folder.holds(path)]
        waiting += [path for page, (_, body) in self._bodies.items() for path in self._included(page, body)]
        while waiting:
            path = waiting.pop()
            if path not in self._shared:
                self._shared[path] = self._read(path)
                waiting += self._included(path, self._shared[path][1])
        self._shared = {path: self._shared[path] for path in sorted(self._shared)}

    def _included(self, path: Path, body: str) -> Iterator[Path]:
        for target in includes(body):
            found = self.folder.within(target, path)
            if found is not None and found.suffix == ".md" and self.folder.holds(found):
                yield found

    def _reusable(self, path: Path, matter: Json, body: str) -> Json:
        key = f"shared:{path}"
        self._keys[key] = self.before["keys"].get(key) or self.world.new_id()
        title = _line(matter.get("title")) or named(shown(path.stem))
        git = {"oid": hashlib.sha1(body.encode("utf-8")).hexdigest(), "path": _wire_path(path)}
        return revisions.written(self.world, {"id": self._keys[key], "title": title, "git": git}, body)

    def _variables(self) -> Json:
        text = self.folder.text(VARIABLES) if self.folder.holds(VARIABLES) else None
        try:
            return front_matter.parse(text or "")
        except front_matter.FrontMatterError as wrong:
            self.folder.report(VARIABLES, f"could not be read: {wrong}. The space has no variables.")
            return {}

    def _key(self, entry: Entry) -> str:
        """What names an entry in the folder: its path, or its kind and words, counted where they occur again."""
        if entry.kind == "document" and entry.path is not None:
            return f"page:{entry.path}"
        key = f"{entry.kind}:{entry.address or entry.title}"
        self._seen[key] += 1
        return key if self._seen[key] == 1 else f"{key}#{self._seen[key]}"

    def _name_pages(self) -> None:
        """Give each entry its id: the one it had, or that of a page that is gone and said the same, or a new one."""
        known: dict[str, str] = self.before["keys"]
        here = {key for _, key in self._entries}
        gone = {name for key, name in known.items() if key not in here}
        by_text = {
            page["text"]: page["id"]
            for page in page_trees.walk(self.before["pages"])
            if page["id"] in gone and "text" in page
        }
        for entry, key in self._entries:
            name = known.get(key)
            if name is None and entry.path in self._bodies and (body := self._bodies[entry.path][1]):
                name = by_text.pop(self.world.store.put_blob(body), None)
            self._keys[key] = name or self.world.new_id()

    def _nodes(self, entries: list[Entry], keys: dict[int, str], old: dict[str, Json]) -> Pages:
        result = []
        for entry in entries:
            page_id = self._keys[keys[id(entry)]]
            page: Json = {"id": page_id, "type": entry.kind, **self._says(entry)}
            before = old.get(page_id, {})
            if entry.kind == "document":
                same = {name: value for name, value in before.items() if name not in _SETTLED} == {
                    name: value for name, value in page.items() if name not in _SETTLED
                }
                now = self.world.timestamp()
                page |= {"createdAt": before.get("createdAt", now), "updatedAt": before["updatedAt"] if same else now}
            if entry.kind != "link":
                page["pages"] = self._nodes(entry.children, keys, old)
            result.append(page)
        return result

    def _says(self, entry: Entry) -> Json:
        """The fields of a page but for its place."""
        if entry.kind == "link":
            return {
                "title": entry.title or named(Path(entry.address).stem),
                "target": self._reference(entry.address, Path()),
            }
        if entry.kind == "group" or entry.path is None:
            title = entry.title or named(Path(entry.address).name)
            return {"title": title, "slug": page_trees.page_slug(Path(entry.address).name or title)}
        if (page := self._not_read_now.get(entry.path)) is not None:
            return {name: value for name, value in page.items() if name not in _OF_PLACE}
        matter, body = self._bodies[entry.path]
        stem = shown(_stem(entry.path))
        heading = page_trees.first_heading(body)
        title = _line(matter.get("title")) or heading or entry.title or named(stem)
        says: Json = {"title": title, "slug": page_trees.page_slug(stem)}
        says |= {name: line for name in _FIELDS if (line := _line(matter.get(name)))}
        says |= {name: True for name in _FLAGS if matter.get(name) is True}
        if layout := _layout(matter.get("layout")):
            says["layout"] = layout
        if cover := self._cover(entry.path, matter):
            says["cover"] = cover
        says["git"] = {"oid": hashlib.sha1(body.encode("utf-8")).hexdigest(), "path": _wire_path(entry.path)}
        return revisions.written(self.world, says, body)

    def _cover(self, page: Path, matter: Json) -> Json | None:
        address = _line(matter.get("cover"))
        if not address:
            return None
        return {"ref": self._reference(address, page), "yPos": _number(matter.get("coverY"))}

    def _reference(self, address: str, start: Path) -> Json:
        """Where a link page or a cover leads: to a page or heading of the folder, to a file in it, or anywhere."""
        if ELSEWHERE.match(address):
            return {"kind": "url", "url": address}
        path = self.folder.within(address, start)
        anchor = address.partition("#")[2]
        if path is not None and (page := self._keys.get(f"page:{path}")):
            return {"kind": "anchor", "anchor": anchor, "page": page} if anchor else {"kind": "page", "page": page}
        if path is not None and (file := self._keys.get(f"file:{path}")):
            return {"kind": "file", "file": file}
        return {"kind": "url", "url": address}

    def _files(self) -> list[Json]:
        """The files kept for pages and those that pages, covers and links speak of, each once."""
        wanted = dict.fromkeys(kept(self.folder, ASSETS))
        for path, (matter, body) in (*self._bodies.items(), *self._shared.items()):
            for address in (*addresses(body), _line(matter.get("cover")) or ""):
                self._want(wanted, address, path)
        for entry, _ in self._entries:
            if entry.kind == "link":
                self._want(wanted, entry.address, Path())
        old = {file["id"]: file for file in self.before["files"]}
        files = []
        for path in wanted:
            data = self.folder.data(path)
            if data is None:
                continue
            key = f"file:{path}"
            self._keys[key] = self.before["keys"].get(key) or self.world.new_id()
            files.append(self._file(path, data, old.get(self._keys[key], {})))
        return files

    def _want(self, wanted: dict[Path, None], address: str, start: Path) -> None:
        if not address or address.startswith("#") or ELSEWHERE.match(address):
            return
        path = self.folder.within(address, start)
        if path is not None and path.suffix and path not in self._bodies and self.folder.holds(path):
            wanted.setdefault(path)

    def _file(self, path: Path, data: bytes, before: Json) -> Json:
        blob = self.world.store.put_blob(data)
        if before.get("blob") == blob:
            return before
        name = shown(path.name)
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        file: Json = {
            "id": self._keys[f"file:{path}"],
            "name": name,
            "contentType": kind,
            "size": len(data),
            "blob": blob,
        }
        if size := dimensions(data):
            file["dimensions"] = size
        return {**file, "git": {"oid": hashlib.sha1(data).hexdigest(), "path": _wire_path(path)}}


_OF_PLACE = {"id", "type", "pages", "path", "createdAt", "updatedAt"}
_SETTLED = {"pages", "path", "slug", "createdAt", "updatedAt"}
"""What of a page follows from its place, or from when it was loaded."""


def _stem(path: Path) -> str:
    """What a page is called in addresses: its file, or for the first page of a folder the folder."""
    first = path.stem.lower() in ("readme", "index")
    return path.parent.name if first and path.parent.name else path.stem


def _line(value: Any) -> str | None:
    return " ".join(value.split()) or None if isinstance(value, str) else None


def _number(value: Any) -> float:
    """The number that front matter says, 0 when it says none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0
    return number if math.isfinite(number) else 0


def _layout(value: Any) -> Json:
    """The layout of a page, from the way front matter writes it: each part with whether it is visible."""
    layout: Json = {}
    for part, says in value.items() if isinstance(value, dict) else ():
        if isinstance(says, dict):
            if isinstance(says.get("visible"), bool):
                layout[part] = says["visible"]
            if part == "cover" and isinstance(says.get("size"), str):
                layout["coverSize"] = says["size"]
        elif isinstance(says, str | bool):
            layout[part] = says
    return layout


def _wire_path(path: Path) -> str:
    return shown(path.as_posix())
