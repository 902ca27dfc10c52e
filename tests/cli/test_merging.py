"""`octavo merge`, the script in the help topic `scripts`, and `octavo inbox --watch`."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from octavo.api import change_requests
from octavo.cli.arguments import build_parser
from octavo.cli.commands.changes import merge_one
from octavo.cli.refs import RefResolver
from octavo.cli.standard_streams import BLOCKED, FAILED, NOT_ALLOWED, NOT_FOUND, Failure
from octavo.help import text_of
from tests.cli.command_process import CommandLine
from tests.cli.dropping_proxy import DroppingProxy
from tests.cli.small_server import KEY
from tests.journeys.conftest import library, stage
from tests.journeys.stage import Stage

__all__ = ["library", "stage"]


@pytest.fixture
def demo(library: Path, tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path).with_demo(library)


def test_checks_are_listed_and_nothing_is_merged(demo: CommandLine) -> None:
    ran = demo.run("merge", "harbour-api/7", "--check", "--demo")
    assert (ran.code, ran.err) == (0, "")
    assert "  ! 1 open thread (open-threads)\n" in ran.out
    row = demo.run("merge", "harbour-api/7", "--check", "--demo", "--json").json
    assert {"name": "open-threads", "status": "care", "text": "1 open thread"} in row["checks"]
    assert demo.run("changes", "--demo", "-s", "harbour-api", "--json", "number").json[0] == {"number": 7}


def test_merge_needs_yes_without_a_terminal_and_runs_once(demo: CommandLine) -> None:
    assert demo.run("merge", "harbour-api/7", "--demo").code == 2
    merged = demo.run("merge", "harbour-api/7", "--yes", "--demo", "--json", "ref,merged")
    assert (merged.code, merged.json) == (0, {"ref": "harbour-api/7", "merged": True})
    again = demo.run("merge", "harbour-api/7", "--yes", "--demo")
    assert (again.code, again.err) == (
        6, "octavo: Could not merge harbour-api/7: this change request is already merged.\n",
    )  # fmt: skip


@pytest.mark.parametrize(("status", "code"), [(403, NOT_ALLOWED), (404, NOT_FOUND), (409, BLOCKED), (422, FAILED)])
async def test_refused_merge_ends_with_the_code_of_its_cause(stage: Stage, status: int, code: int) -> None:
    async with stage.play() as run:
        options = build_parser("merge").parse_args(["merge", "harbour-api/7", "--yes"])
        target = await RefResolver(run.app.session, options).resolve("harbour-api/7")
        run.platform.refuse_next(change_requests.Merge, status, "Not today.")
        with pytest.raises(Failure, match=r"Could not merge (harbour-api/|#)7: [Nn]ot today.") as refused:
            await merge_one(run.app.session, options, target)
        assert refused.value.code == code


def test_failed_check_blocks_the_merge_until_allowed(demo: CommandLine) -> None:
    blocked = demo.run("merge", "harbour-api/6", "--yes", "--demo")
    assert blocked.code == 6
    assert "Noor Haddad requested changes. To merge anyway, use --allow review" in blocked.err
    assert demo.run("merge", "harbour-api/6", "--yes", "--allow", "review", "--demo").code == 0


LINTER = """\
import sys
for number, line in enumerate(open(sys.argv[1], encoding="utf-8"), 1):
    if "header" in line:
        print(f"{sys.argv[1]}:{number}:{line.index('header') + 1}: Avoid “header”")
"""


def add_linter(demo: CommandLine, *command: str, blocks: bool) -> None:
    (demo.folder / "linter.py").write_text(LINTER, encoding="utf-8")
    (demo.folder / "config").mkdir(exist_ok=True)
    (demo.folder / "config" / "config.toml").write_text(
        f'[[linter]]\nname = "words"\ncommand = {json.dumps([*command, "{file}"])}\nformat = "lines"\n'
        f"blocks = {json.dumps(blocks)}\n"
    )


def edit_page(demo: CommandLine, text: str) -> None:
    """Add a page with a text to the change request harbour-api/7."""
    edit = [{"operation": "insert_page", "title": "Seeded", "document": {"markdown": text}}]
    where = ("spaceId=harbour-api", "changeRequestId=refused-times")
    assert demo.run("--demo", "api", "content.Edit", *where, f"changes:={json.dumps(edit)}").code == 0


def test_update_from_main_is_named_even_if_the_merge_fails(demo: CommandLine) -> None:
    ran = demo.run("merge", "harbour-api/4", "--yes", "--update", "--demo")
    assert ran.code == 6
    assert ran.err.startswith("octavo: Updated harbour-api/4 from main.\noctavo: Could not merge harbour-api/4: ")
    assert demo.run("show", "harbour-api/4", "--demo", "--json", "outdated").json == {"outdated": False}


def test_findings_of_a_linter_are_advice_unless_the_setting_blocks_merges(demo: CommandLine) -> None:
    edit_page(demo, "# Seeded\n\nSend the header.\n\nNo header, no answer.\n")
    command = (sys.executable, str(demo.folder / "linter.py"))
    add_linter(demo, *command, blocks=False)
    row = demo.run("merge", "harbour-api/7", "--check", "--demo", "--json").json
    assert "linters" not in {each["name"] for each in row["checks"]}
    add_linter(demo, *command, blocks=True)
    text = "2 findings of words on 1 changed page: Seeded"
    checked = demo.run("merge", "harbour-api/7", "--check", "--demo", "--json")
    assert checked.code == 6
    assert {"name": "linters", "status": "bad", "text": text} in checked.json["checks"]
    ran = demo.run("merge", "harbour-api/7", "--yes", "--demo")
    assert (ran.code, ran.out) == (6, "")
    assert ran.err == f"octavo: Could not merge harbour-api/7: {text}. To merge anyway, use --allow linters\n"
    assert demo.run("merge", "harbour-api/7", "--yes", "--allow", "linters", "--demo").code == 0


def test_blocking_linter_without_findings_lets_the_merge_pass(demo: CommandLine) -> None:
    add_linter(demo, sys.executable, str(demo.folder / "linter.py"), blocks=True)
    ran = demo.run("merge", "harbour-api/7", "--check", "--demo")
    assert ran.code == 0
    assert "  ✓ no findings of words on the added words (linters)\n" in ran.out


def test_blocking_linter_that_cannot_run_blocks_the_merge(demo: CommandLine) -> None:
    add_linter(demo, "no-such-linter", blocks=True)
    ran = demo.run("merge", "harbour-api/7", "--yes", "--demo")
    assert ran.code == 6
    assert "Could not run words: no-such-linter was not found. Set linter.command, or install it. To merge" in ran.err


def test_change_request_that_is_named_twice_is_merged_once(demo: CommandLine) -> None:
    ran = demo.run("merge", "harbour-api/7", "Harbour API/7", "--yes", "--demo")
    assert (ran.code, ran.out.count("\n"), ran.err) == (0, 1, "")


def test_several_merges_stop_at_the_first_failure(demo: CommandLine) -> None:
    ran = demo.run("merge", "harbour-api/6", "harbour-api/7", "--yes", "--demo", "--json")
    assert ran.code == 6
    assert {"number": 7} in demo.run("changes", "--demo", "-s", "harbour-api", "--json", "number").json


@pytest.mark.parametrize("output", [(), ("--ndjson",)], ids=["text", "ndjson"])
def test_merges_go_on_after_the_reader_of_the_output_has_ended(demo: CommandLine, output: tuple[str, ...]) -> None:
    refs = ("harbour-api/7", "stations/1")
    assert demo.run_with_closed_pipe("merge", *refs, "--yes", "--demo", *output).code == 0
    assert [demo.run("show", each, "--demo", "--json", "status").json["status"] for each in refs] == ["merged"] * 2


def test_terminal_asks_before_merging(demo: CommandLine) -> None:
    with demo.terminal("merge", "harbour-api/7", "--demo") as shown:
        shown.wait_for("Merge harbour-api/7? [y/N]")
        shown.write(b"n\r")
        assert shown.end() == 1
    assert demo.run("merge", "harbour-api/7", "--read-only", "--yes", "--demo").code == 5


@pytest.mark.before_release
def test_script_of_the_help_topic_reviews_waits_and_merges(demo: CommandLine) -> None:
    (script,) = re.findall(r"```sh\n(.*?)```", text_of("scripts"), re.S)
    lines = script.splitlines()
    assert len(lines) <= 30
    file = demo.folder / "review-and-merge"
    file.write_text(re.sub(r"(?<![\w])octavo (?=[a-z])", "octavo --demo ", script))

    def resolve_question() -> None:
        """Wait for the question of the script and resolve the thread, as a reader would."""
        for _ in range(60):
            rows = demo.run("show", "harbour-api/7", "--threads", "--json", "ref,text", "--demo").json
            asked = [each["ref"] for each in rows if each["text"] == "Which zone?"]
            if asked:
                demo.run("resolve", asked[0], "--demo")
                return
            time.sleep(1)

    answering = threading.Thread(target=resolve_question)
    answering.start()
    arguments = 'harbour-api/7 help/troubleshooting "drops the zone" "Which zone?"'
    ran = demo.shell(f"TRIES=40 PAUSE=1 sh {file} {arguments}")
    answering.join()
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("Approved harbour-api/7.\nMerged harbour-api/7.\nDone.\n")


class RefusingProxy(DroppingProxy):
    """A proxy that refuses to list change requests."""

    def forward(self, request: BaseHTTPRequestHandler) -> None:
        if "/change-requests?" in request.path:
            request.send_error(422)
        else:
            super().forward(request)


def test_watch_says_what_could_not_be_loaded(tmp_path: Path, server_url: str) -> None:
    with RefusingProxy(server_url).running() as proxy:
        home = CommandLine(tmp_path, {"OCTAVO_API_KEY": KEY, "OCTAVO_BASE_URL": proxy.origin})
        with home.start("inbox", "--watch") as watching:
            said = watching.stderr.readline()
            watching.kill()
    assert said.startswith("octavo: Watching the inbox. Could not load the whole inbox: the ")
    assert said.endswith(" To stop, press ctrl+c.\n")
    assert "need" not in said


def test_watch_with_a_limit_ends_after_as_many_rows(demo: CommandLine) -> None:
    with demo.start("inbox", "--demo", "--watch", "--limit", "1", "--ndjson", "reasons") as watching:
        try:
            assert watching.stderr.readline().startswith("octavo: Watching the inbox.")
            assert demo.run("comment", "harbour-api/7", "--demo", "-m", "Which zone?", "--pending").code == 0
            assert json.loads(watching.stdout.readline()) == {"reasons": ["review-requested", "draft"]}
            assert watching.wait(60) == 0
        finally:
            watching.kill()  # Otherwise a failed test would wait for it without end.


@pytest.mark.before_release
def test_watch_prints_new_rows_until_it_is_interrupted(demo: CommandLine) -> None:
    with subprocess.Popen(
        demo.command("inbox", "--demo", "--watch", "--ndjson", "title,reasons"), env=demo.environ,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as watching:  # fmt: skip
        assert watching.stderr is not None
        assert watching.stdout is not None
        try:
            assert watching.stderr.readline().startswith("octavo: Watching the inbox. 17 items need you now.")
            # A pending comment counts as an unsent draft: the watcher finds the comment without a request.
            written = demo.run("comment", "harbour-api/7", "--demo", "-m", "Which zone?", "--pending")
            assert written.code == 0, written.err
            row = json.loads(watching.stdout.readline())
            watching.send_signal(signal.SIGINT)
            assert watching.wait(60) == 130
        finally:
            watching.kill()  # Otherwise a failed test would wait for it without end.
    assert row["reasons"] == ["review-requested", "draft"]
    refused = demo.run("inbox", "--demo", "--watch", "--json")
    assert refused.code == 2
