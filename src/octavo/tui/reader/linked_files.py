"""Files of a space that its pages link to."""

from __future__ import annotations

from octavo.api import content
from octavo.api.content import File
from octavo.api.folding import fold
from octavo.api.places import ContentRef
from octavo.data.live import Live
from octavo.documents import links

MAX_RECREATIONS = 1000
"""Maximum number of files that are listed to find a file by its name."""


async def file_of(live: Live, at: ContentRef, target: links.FileLink) -> File | None:
    """Return the file of a link by its id, path or name. None if there is none. Raise ApiError if it cannot be
    loaded."""
    if target.file:
        try:
            op = content.GetFile(at=at, file_id=target.file)
        except ValueError:
            return None
        return await live.cached_or_fetch(op)
    files = (await live.cached_or_fetch(content.ListFiles(at=at, limit=MAX_RECREATIONS))).items
    same_path = (file for file in files if file.git is not None and file.git.path == target.path)
    same_name = (file for file in files if file.name == target.name)
    similar_path = (file for file in files if file.git is not None and fold(file.git.path or "") == fold(target.path))
    similar_name = (file for file in files if fold(file.name) == fold(target.name))
    return next(same_path, None) or next(same_name, None) or next(similar_path, None) or next(similar_name, None)
