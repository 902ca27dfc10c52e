"""Finds the pulled folder of a command, and checks its server. Reports errors and progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.cli.standard_streams import USAGE, Failure, is_terminal, tell
from octavo.files.pulled_folder import FolderInUse, NotPulled, PulledFolder
from octavo.settings import error_in_words

if TYPE_CHECKING:
    from octavo.tui.core.session import Session


@contextmanager
def file_errors_as_failure(action: str) -> Iterator[None]:
    """Convert NotPulled and FolderInUse to a Failure with their text, and OSError to `Could not ACTION: …`."""
    try:
        yield
    except NotPulled as error:
        raise Failure(str(error), USAGE) from error
    except FolderInUse as error:
        raise Failure(str(error)) from error
    except OSError as error:
        raise Failure(f"Could not {action}: {error_in_words(error, is_own=False)}") from error


def find_pulled_folder() -> PulledFolder:
    """Return the pulled folder that contains the working directory. Raises Failure."""
    with file_errors_as_failure("read the folder"):
        return PulledFolder.find(Path.cwd())


def session_origin(session: Session) -> str:
    """Return the server of a session as pulled folders name it: a URL, `octavo:demo` or `octavo:folder`."""
    return session.account.origin if session.account is not None else f"octavo:{session.kind}"


def check_origin(session: Session, folder: PulledFolder) -> None:
    """Raise Failure if the folder was not pulled from the server of this session."""
    origin = session_origin(session)
    if folder.origin != origin:
        hint = {"octavo:demo": "--demo", "octavo:folder": "--folder"}.get(folder.origin, "--profile")
        raise Failure(f"This folder was pulled from {folder.origin}, not from {origin}. Use {hint}.", USAGE)


def path_in(folder: PulledFolder, argument: str) -> str:
    """Return a path of the command line relative to the pulled folder. Raises Failure if the path is outside."""
    path = Path(os.path.abspath(argument))  # Removes `..`, but does not resolve symbolic links.
    for base in (folder.pages, folder.pages.resolve()):
        if path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    raise Failure(f"{argument} is not in the pulled folder {folder.top}.", USAGE)


def report_progress(sentence: str) -> None:
    """If standard error is a terminal, replace its current line by `sentence`. An empty text clears the line."""
    if is_terminal(sys.stderr):
        sys.stderr.write(f"\r\x1b[K{sentence}")
        sys.stderr.flush()


def tell_first(sentences: list[str], maximum: int = 20) -> None:
    """Write the first `maximum` sentences to standard error, and the number of the omitted sentences."""
    tell(*sentences[:maximum])
    if len(sentences) > maximum:
        tell(f"… and {len(sentences) - maximum} more.")
