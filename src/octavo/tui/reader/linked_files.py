"""Files of a space, as links and pictures of its pages name them."""

from __future__ import annotations

from octavo.api import content
from octavo.api.content import File
from octavo.api.folding import fold
from octavo.api.places import ContentRef
from octavo.data.live import Live
from octavo.documents import links

MOST_FILES = 1000
"""How many files of a space are read to find one by its name."""


async def file_of(live: Live, at: ContentRef, target: links.ToFile) -> File | None:
    """The file of a link, by its id, its path or its name. None for an id that is none. Raises ApiError."""
    if target.file:
        try:
            op = content.GetFile(at=at, file_id=target.file)
        except ValueError:
            return None
        return await live.cached_or_fetch(op)
    files = (await live.cached_or_fetch(content.ListFiles(at=at, limit=MOST_FILES))).items
    there = (file for file in files if file.git is not None and file.git.path == target.path)
    called = (file for file in files if file.name == target.name)
    alike_there = (file for file in files if file.git is not None and fold(file.git.path or "") == fold(target.path))
    alike = (file for file in files if fold(file.name) == fold(target.name))
    return next(there, None) or next(called, None) or next(alike_there, None) or next(alike, None)
