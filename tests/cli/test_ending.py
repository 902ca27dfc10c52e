"""A process ends with its exit code while threads are still running. Each test starts a process, since only a process can end."""

from __future__ import annotations

import subprocess
import sys

MAIN = """
import atexit, sys
from octavo.__main__ import main
from octavo.api import comments
from octavo.api.operation import SPECS
from octavo.cli import operations
from octavo.concurrency import Overdue, run_with_timeout

def read_on():
    many = b'{"items": [' + b", ".join([b'{"id": "k1", "body": {"markdown": "Is it so?"}}'] * 2000) + b"]}"
    while True:
        SPECS[comments.List].codec.validate_json(many)

def run(options):
    for _ in range(4):
        try:
            run_with_timeout(0.1, read_on)
        except Overdue:
            print("It took too long.")
    return 4

operations.run = run
atexit.register(print, "And that was all.")
sys.argv = ["octavo", "operations"]
sys.exit(main())
"""

STORE = """
import atexit

def ask():
    print(store.setting("library"))

atexit.register(ask)  # Registered before the store is imported: exit handlers run in reverse order.
from octavo.server.store import Store
store = Store()
store.set_setting("library", "demo")
"""


def test_process_exits_while_threads_parse_a_long_response() -> None:
    ran = subprocess.run([sys.executable, "-c", MAIN], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (4, 4 * "It took too long.\n" + "And that was all.\n", "")


def test_store_is_open_in_exit_handlers() -> None:
    ran = subprocess.run([sys.executable, "-c", STORE], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "demo\n", "")
