"""Switch the demo user, on the command line and in the command palette."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.benchmarks.terminal import Terminal
from tests.cli.conftest import Octavo
from tests.journeys.conftest import library

__all__ = ["library"]

ROOT = Path(__file__).parents[2]


@pytest.fixture
def environ(library: Path, tmp_path: Path) -> dict[str, str]:
    (demo := tmp_path / "data" / "demo").mkdir(parents=True, mode=0o700)
    shutil.copyfile(library, demo / "platform.db")
    folders = {f"OCTAVO_{name}_DIR": str(tmp_path / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    return {**folders, "HOME": str(tmp_path), "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}


@pytest.mark.before_release
def test_palette_switches_the_demo_user_without_a_restart(environ: dict[str, str]) -> None:
    command = [sys.executable, "-m", "octavo", "demo", "--as", "reader", "--read-only"]
    with Terminal(command, environ) as app:
        app.wait_for("DEMO as reader", "read-only", "updated")
        app.write(b":")
        app.wait_for("Type to filter")
        app.write(b"act as")
        app.wait_for("Switch demo user…")
        app.write(b"\r")
        app.wait_for("current", "can read")
        app.write(b"admin")
        app.wait_for("1 of 7")
        app.write(b"\r")
        app.wait_for("DEMO as administrator", "read-only", "Switched to the demo user with the role administrator.")
        app.write(b"\x11")
        assert app.end() == 0


def test_name_of_a_person_as_the_role_is_refused(octavo: Octavo) -> None:
    ran = octavo("demo", "--as", "mara")
    assert ran.code == 2
    assert "reviewer" in ran.err


def test_role_with_a_folder_is_refused(octavo: Octavo, tmp_path: Path) -> None:
    ran = octavo("serve", "--load", str(tmp_path), "--as", "reader")
    assert ran.code == 2
    assert "--as works only with the demo" in ran.err
