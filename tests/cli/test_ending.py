"""A process ends as it said it would, whatever its threads are in the middle of. Each is run, for there is no other end to see."""

from __future__ import annotations

import subprocess
import sys

MAIN = """
import atexit, sys
from octavo.__main__ import main
from octavo.api import comments
from octavo.api.operation import SPECS
from octavo.cli import operations
from octavo.client.threads import Overdue, run_with_timeout

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

atexit.register(ask)  # what is registered first is done last
from octavo.server.store import Store
store = Store()
store.set_setting("library", "demo")
"""


def test_the_process_ends_as_it_said_while_a_long_answer_is_read() -> None:
    told = subprocess.run([sys.executable, "-c", MAIN], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout, told.stderr) == (4, 4 * "It took too long.\n" + "And that was all.\n", "")


def test_a_library_is_not_closed_under_the_thread_that_is_in_it_when_the_process_ends() -> None:
    told = subprocess.run([sys.executable, "-c", STORE], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout, told.stderr) == (0, "demo\n", "")
