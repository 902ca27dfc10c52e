"""Tracebacks and log messages of unhandled errors contain no API key, in whichever thread or hook they occur."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from octavo.cli.platform_folders import PlatformFolder
from octavo.client.profiles import parse_token
from octavo.redaction import redact

KEY = "0d-key/of+nobody%42"
PROGRAM = """
import asyncio, logging, sys, threading
from octavo.__main__ import main
from octavo.cli import operations
from octavo.client.profiles import parse_token

KEY = parse_token({key!r}).get_secret_value()
def fail():
    raise ValueError(f"it had {{KEY}} \\x1b[2J")

class Unclean:
    def __del__(self):
        fail()

async def forget():
    task = asyncio.ensure_future(asyncio.to_thread(fail))
    await asyncio.sleep(0.05)
    del task

def run(options):
    {work}

operations.run = run
sys.argv = ["octavo", "operations"]
sys.exit(main())
"""


@pytest.mark.before_release(
    "Unclean(); return 0-0",
    "asyncio.run(forget()); return 0-0",
    "logging.getLogger('a.library').error('it had %s %d', KEY); return 0-0",
    "logging.getLogger('a.library').error('it had %s', KEY); return 0-0",
)
@pytest.mark.parametrize(
    ("work", "code"),
    [
        ("fail()", 1),
        ("worker = threading.Thread(target=fail, name='the-worker'); worker.start(); worker.join(); return 0", 0),
        ("Unclean(); return 0", 0),
        ("asyncio.run(forget()); return 0", 0),
        ("logging.getLogger('a.library').error('it had %s', KEY); return 0", 0),
        ("logging.getLogger('a.library').error('it had %s %d', KEY); return 0", 0),
    ],
)
def test_unhandled_error_is_printed_without_the_key(work: str, code: int) -> None:
    command = [sys.executable, "-c", PROGRAM.format(key=KEY, work=work)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "OCTAVO_API_KEY": ""})
    assert ran.returncode == code, ran.stderr
    assert "it had" in ran.stderr
    assert "[redacted]" in ran.stderr
    assert KEY not in ran.stderr
    if "logging" not in work:
        assert "in fail" in ran.stderr


def test_typed_and_generated_keys_are_redacted(tmp_path: Path) -> None:
    given = parse_token("  Bearer a-key-that-looks-like-nothing ")
    made = PlatformFolder(tmp_path / "platform").read_key()
    for key in (given, made):
        assert key.get_secret_value() not in redact(f"it had {key.get_secret_value()}")
