"""Import order of the version, the first picture and the first screen."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from octavo import __version__
from octavo.tui.app.routes import CHANGE_REQUEST, OWN_CONFLICTS, SEARCH, VIEWS
from tests.benchmarks.terminal import THIS_TREE, Terminal
from tests.journeys.conftest import hide_greeting, library

__all__ = ["library"]

PAGE, TREE = "The Harbour API answers", "Your first tide"
CTRL_Q = b"\x11"

HEAVY = {"textual", "rich", "pydantic", "httpx", "keyring", "starlette", "uvicorn", "markdown_it", "sqlite3", "asyncio"}
API_AREAS_OF_THE_FIRST_SCREEN = {"octavo.api"} | {
    f"octavo.api.{name}"
    for name in (
        *("errors", "operation", "safety", "text", "wire"),
        *("bodies", "comments", "organizations", "users"),  # The first screen needs these areas.
    )
}
AFTER_THE_FIRST_SCREEN = {
    *("httpx", "httpcore", "keyring", "truststore", "starlette", "uvicorn", "anyio", "h11"),
    *("pygments", "rapidfuzz", "shtab", "tomllib", "unittest", "http.client"),
    *(
        "octavo.server",
        "octavo.client.client",
        "octavo.client.http",
        "octavo.client.credentials",
        "octavo.data.writes.optimistic_updates",
    ),
    *(
        "octavo.client.profiles",
        "octavo.data.proposed_notes",
        "octavo.documents.source_blocks",
        "octavo.settings.programs",
    ),
    *(
        "octavo.documents.diff",
        "octavo.documents.diff_model",
        "octavo.documents.openapi",
        "octavo.documents.yaml_values",
        "octavo.data.search_text",
    ),
    *("octavo.api.change_requests", "octavo.api.reviews", "octavo.api.search", "octavo.api.sites", "octavo.api.system"),
    *("octavo.tui.render.diagrams", "octavo.tui.app.user_programs"),
    *("octavo.tui.review", "encodings.idna"),
    *("octavo.tui.widgets.confirm", "octavo.tui.widgets.chooser", "octavo.tui.comments.composer"),
    *(
        "octavo.tui.comments.thread_dialog",
        "octavo.tui.reader.page_dialogs",
        "octavo.tui.reader.page_dialogs",
    ),
    *("textual.widgets._text_area", "textual.widgets._markdown", "textual.widgets._data_table"),
}
"""Modules and packages that the first screen of a known library does without."""


@pytest.fixture(scope="module")
def home(library: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment of a home in which the demo was opened once and its first picture was saved."""
    folder = tmp_path_factory.mktemp("home")
    (demo_folder := folder / "data" / "demo").mkdir(parents=True, mode=0o700)
    shutil.copyfile(library, demo_folder / "platform.db")
    hide_greeting(folder)
    environ = {f"OCTAVO_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    environ |= {"HOME": str(folder), **THIS_TREE}
    with demo(environ) as first:
        first.wait_for("Inbox", "updated")
        first.write(b"2")
        first.wait_for(PAGE, TREE, "updated")
        while not picture(environ):
            first.read(0.1)
        quit_from(first)
    return environ


def demo(environ: dict[str, str]) -> Terminal:
    return Terminal([sys.executable, "-m", "octavo", "demo"], environ)


def quit_from(app: Terminal) -> None:
    app.write(CTRL_Q)
    assert app.end() == 0


def picture(environ: dict[str, str]) -> list[Path]:
    return list(Path(environ["OCTAVO_CACHE_DIR"]).glob("first-screen-????????"))


def test_version_option_imports_nothing() -> None:
    code = "import sys; from octavo.__main__ import main; known = set(sys.modules); main(['--version']); print(known ^ set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == [f"octavo {__version__}", "set()"]

    timed = [sys.executable, "-X", "importtime", "-m", "octavo", "--version"]
    told = subprocess.run(timed, capture_output=True, text=True, check=True).stderr
    imported = {line.rpartition("|")[2].strip() for line in told.splitlines()}
    assert {name for name in imported if name.partition(".")[0] == "octavo"} == {"octavo"}
    assert not {name.partition(".")[0] for name in imported} & HEAVY


def test_command_line_of_httpx_is_not_imported() -> None:
    code = "import sys; import octavo.client.http; print(*sys.modules)"
    imported = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "httpx" in imported
    assert not {"click", "pygments"} & {*imported}


def test_command_line_parser_imports_no_heavy_modules() -> None:
    code = "import sys; import octavo.cli.arguments as a; a.build_parser(''); print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {name.partition(".")[0] for name in told.split()} & HEAVY


def test_inbox_imports_no_diffs_merges_and_checks() -> None:
    code = "import sys, octavo.tui.app.octavo, octavo.tui.inbox.inbox_screen; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {*told.split()} & {
        "rapidfuzz",
        "octavo.documents.diff",
        "octavo.documents.merging.page_merge",
        "octavo.documents.checks.findings",
        "octavo.documents.linters.readers",
        "octavo.tui.render.comparison",
    }


@pytest.mark.before_release
def test_first_picture_is_shown_before_the_app_is_imported(home: dict[str, str], tmp_path: Path) -> None:
    noted = tmp_path / "modules"
    code = f"""
import sys
from octavo import first_picture
write = first_picture._write_to_terminal
def noting(text):
    write(text)
    open({str(noted)!r}, "w").write("\\n".join(name for name, module in sys.modules.items() if module is not None))
    sys.exit(0)
first_picture._write_to_terminal = noting
from octavo.__main__ import main
main(["demo"])
"""
    assert picture(home)
    with Terminal([sys.executable, "-c", code], home) as starting:
        starting.end()
    imported = noted.read_text().split()
    assert "octavo.first_picture" in imported
    assert not {name.partition(".")[0] for name in imported} & HEAVY


def test_first_screen_imports_no_late_modules(home: dict[str, str], tmp_path: Path) -> None:
    for kept in picture(home):
        kept.unlink()
    noted = tmp_path / "modules"
    recording = {
        "TEXTUAL_DRIVER": "tests.module_recorder:ModuleRecorder",
        "RECORD_TEXT": PAGE,
        "RECORD_FILE": str(noted),
    }
    with demo(home | recording) as second:
        second.wait_for(PAGE, TREE)
        quit_from(second)
    imported = noted.read_text().split()
    assert "octavo.tui.content.content_screen" in imported
    early = [name for name in imported if any(f"{name}.".startswith(f"{late}.") for late in AFTER_THE_FIRST_SCREEN)]
    assert not early, early
    named = (*VIEWS.values(), CHANGE_REQUEST, SEARCH, OWN_CONFLICTS)
    assert {name.partition(":")[0] for name in named} & set(imported) == {"octavo.tui.content.content_screen"}


@pytest.mark.before_release("-0.1-True", "-600-False")
@pytest.mark.parametrize(("keys", "pause", "is_imported"), [(b"", 600, False), (b"j", 600, True), (b"", 0.1, True)])
def test_other_views_are_imported_after_the_first_key_or_a_pause(
    home: dict[str, str], tmp_path: Path, keys: bytes, pause: float, is_imported: bool
) -> None:
    noted = tmp_path / "modules"
    code = f"""
import atexit, sys
from pathlib import Path
from octavo.__main__ import main
from octavo.tui.app import pauses
pauses.PAUSE_BEFORE_IMPORTS = {pause}
atexit.register(lambda: Path({str(noted)!r}).write_text(chr(10).join(sys.modules)))
main(["demo"])
"""
    with Terminal([sys.executable, "-c", code], home) as app:
        app.wait_for(PAGE, TREE, "updated")
        app.write(keys)
        app.rest()
        app.write(CTRL_Q)
        app.end()
    imported = {*noted.read_text().split()}
    assert ("octavo.tui.review.request_list" in imported) == is_imported
    assert "octavo.server.handlers.content" in imported
    assert (
        not imported & {"octavo.server.handlers.sites", "octavo.server.handlers.uploads", "octavo.api.openapi"}
        or is_imported
    )


def test_import_of_data_loads_only_the_api_areas_of_the_first_screen() -> None:
    code = "import sys, octavo.data.live, octavo.data.response_cache, octavo.data.state_db, octavo.data.drafts; print(*sys.modules)"
    modules = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    of_api = {name for name in modules if name.startswith("octavo.api")}
    assert of_api == API_AREAS_OF_THE_FIRST_SCREEN
    assert not {
        "octavo.data.writes.optimistic_updates",
        "octavo.data.writes.comment_kinds",
        "octavo.data.writes.change_request_kinds",
    } & set(modules)
    assert not {"textual", "httpx", "starlette", "keyring"} & set(modules)
