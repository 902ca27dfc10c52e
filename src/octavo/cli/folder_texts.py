"""The changed files of a pulled folder, for `octavo diff`."""

from __future__ import annotations

from octavo.api.content import Change, PageReference
from octavo.cli.comparisons import PageTexts
from octavo.cli.failures import USAGE, Failure
from octavo.cli.pulled_folders import file_failures, has_pulled_folder, path_in, this_folder
from octavo.documents.changed_items import ChangedPage
from octavo.files.local_changes import FileChange, LocalFiles, files_title

_CHANGES = {"A": "page_created", "D": "page_deleted", "R": "page_moved", "?": "page_created"}


def folder_texts(argument: str | None) -> list[PageTexts] | None:
    """Return the changed text files of the pulled folder of the working directory, or the one that `argument` names. None
    if `argument` names no file, which means that it is a REF. Raises Failure."""
    if not has_pulled_folder():
        if argument is None:
            raise Failure("Not a pulled folder. Write a REF, or run: octavo pull SPACE DIR", USAGE)
        return None
    folder = this_folder()
    with file_failures("read the folder"):
        local = LocalFiles.read(folder)
        changes = [each for each in local.changes() if each.kind != "file"]
        if argument is not None:
            try:
                path = path_in(folder, argument)
            except Failure:
                return None
            known = {*local.data, *folder.files, *local.unlisted}
            if path not in known:
                return None
            changes = [each for each in changes if path in (each.path, each.before)]
        return [_texts(local, each) for each in changes]


def _texts(local: LocalFiles, change: FileChange) -> PageTexts:
    folder = local.folder
    old_path = change.before or next(
        (file.path for file in folder.files.values() if local.current_path(file) == change.path), ""
    )
    file = folder.files.get(old_path)
    before = folder.base_text(file.base_sha256) if file is not None else ""
    after = local.text(change.path)
    title = files_title(after or before)
    page = PageReference(id="file", title=title, path=change.path)
    kind = Change(type=_CHANGES.get(change.status, "page_edited"))
    return PageTexts(ChangedPage(change.path, title, (kind,), page), before, after, change.before)
