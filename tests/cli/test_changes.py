"""`octavo changes`, and the output, options and errors that all commands share."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from octavo.cli.arguments import build_parser
from octavo.cli.commands.changes import ChangeList
from tests.cli.command_process import CommandLine
from tests.journeys.conftest import library, stage
from tests.journeys.faulty_server import altered
from tests.journeys.stage import Stage

__all__ = ["library", "stage"]


@pytest.fixture(scope="module")
def demo(library: Path, tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    return CommandLine(tmp_path_factory.mktemp("home")).with_demo(library)


async def test_change_request_without_a_space_does_not_hide_the_others(stage: Stage) -> None:
    def remove_space(body: Any) -> None:
        body["items"][0]["space"] = None

    async with stage.play(over=altered("/v1/orgs/[^/]+/change-requests", remove_space)) as run:
        options = build_parser("changes").parse_args(["changes", "--all", "--json", "ref"])
        options.sink = []
        await ChangeList(run.app.session, options).print()
    assert len(options.sink) == 6


def test_pipe_gets_plain_lines_with_complete_times(demo: CommandLine) -> None:
    ran = demo.run("changes", "--demo", "-s", "harbour-api")
    assert (ran.code, ran.err) == (0, "")
    rows = [line.split("\t") for line in ran.out.splitlines()]
    assert rows[0][:5] == ["#7", "Show what a refused time looks like", "open", "approved", "Tomás Okafor"]
    assert rows[0][5].endswith("Z")
    assert "\x1b" not in ran.out


def test_terminal_gets_a_table_cut_to_its_width(demo: CommandLine) -> None:
    with demo.terminal("--demo", "changes", columns=90) as shown:
        assert shown.end() == 0
        lines = [line.rstrip() for line in shown.look().splitlines() if line.strip()]
    assert lines[0].split() == ["REF", "SUBJECT", "STATUS", "REVIEW", "FROM", "UPDATED"]
    assert lines[1].startswith("harbour-api/7")
    assert lines[1].endswith("ago")
    assert "…" in lines[2]
    assert max(map(len, lines)) <= 90


@pytest.mark.before_release
def test_colors_are_off_if_the_terminal_or_the_user_says_so(demo: CommandLine) -> None:
    for environ, options in (({"NO_COLOR": "1"}, ()), ({"TERM": "dumb"}, ()), ({}, ("--color", "never"))):
        with demo.terminal("--demo", "changes", *options, environ=environ) as shown:
            assert shown.end() == 0
            assert b"\x1b[3" not in b"".join(each.data for each in shown.chunks)


def test_fields_are_chosen_and_filtered(demo: CommandLine) -> None:
    chosen = demo.run("changes", "--demo", "-s", "harbour-api", "--json", "ref,outdated")
    assert chosen.json[0] == {"ref": "harbour-api/7", "outdated": False}
    expression = '.[] | "\\(.number)\\t\\(.subject)"'
    filtered = demo.run(
        "changes", "--demo", "--reviewer", "@me", "--json", "number,subject,reviewers", "-q", expression
    )
    assert (filtered.code, filtered.err) == (0, "")
    assert "5\tRotate webhook secrets without downtime\n" in filtered.out
    lines = demo.run("changes", "--demo", "--ndjson", "number").out.splitlines()
    assert json.loads(lines[0]) == {"number": 7}


def test_fields_that_cost_requests_are_loaded_on_request(demo: CommandLine) -> None:
    ran = demo.run("changes", "--demo", "-s", "harbour-api", "--json", "number,reviewers,threadsOpen,pagesChanged")
    seven = next(each for each in ran.json if each["number"] == 7)
    assert seven["threadsOpen"] == 1
    assert seven["pagesChanged"] > 0
    assert {"id": "noor-haddad", "name": "Noor Haddad", "status": "approved", "outdated": False} in seven["reviewers"]


def test_shortened_list_says_how_to_get_all_rows(demo: CommandLine) -> None:
    ran = demo.run("changes", "--demo", "--limit", "2")
    assert len(ran.out.splitlines()) == 2
    assert ran.err == "octavo: Showing 2 of 7. Use --limit 7 or --all.\n"
    assert demo.run("changes", "--demo", "--all").err == ""
    everything = demo.run("changes", "--demo", "--status", "all", "--json", "status", "--all").json
    assert {each["status"] for each in everything} == {"draft", "open", "archived", "merged"}


def test_empty_list_ends_with_zero(demo: CommandLine) -> None:
    ran = demo.run("changes", "--demo", "-s", "limpet", "--status", "archived", "--json")
    assert (ran.code, ran.out, ran.err) == (0, "[]\n", "")


def test_changes_are_filtered_by_author_and_state(demo: CommandLine) -> None:
    by_mara = demo.run("changes", "--demo", "--author", "mara", "--json", "author").json
    assert {each["author"] for each in by_mara} == {"Mara Lindqvist"}
    outdated = demo.run("changes", "--demo", "--outdated", "--json", "outdated,number").json
    assert outdated
    assert all(each["outdated"] for each in outdated)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("-s", "harbor-api"), 3, "Could not find the space harbor-api. Did you mean harbour-api?"),
        (("--author", "marra"), 3, "Could not find the user marra. Did you mean mara?"),
        (("--json", "subjekt"), 2, "Unknown field 'subjekt'. Did you mean subject? The fields are number, id, ref,"),
        (("-q", "]["), 2, "Could not filter: "),
        (("--limit", "0"), 2, "'0' is not a limit"),
        (("--limit", "3", "--all"), 2, "not allowed with argument"),
        (("--status", "closed"), 2, "invalid choice: 'closed'"),
        (("--web", "--json"), 2, "use --web without --json"),
        (("--web",), 1, "the demo is not on the web"),
        (("--folder", "."), 2, "use --demo without --folder"),
    ],
)
def test_wrong_arguments_are_named_with_the_next_step(
    demo: CommandLine, arguments: tuple[str, ...], code: int, said: str
) -> None:
    ran = demo.run("changes", "--demo", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


def test_errors_are_json_if_the_output_is_json(demo: CommandLine) -> None:
    ran = demo.run("changes", "--demo", "-s", "nothing-like-it", "--json")
    assert (ran.code, ran.out, ran.err.count("\n")) == (3, "", 1)
    assert ran.error["code"] == "not-found"
    assert ran.error["exit"] == 3
    assert demo.run("changes", "--demo", "--json", "--oops").error["code"] == "usage"
    signed_out = demo.run("changes", "--json", environ={"OCTAVO_BASE_URL": "http://127.0.0.1:9"})
    assert (signed_out.code, signed_out.error["code"]) == (4, "not-signed-in")
    assert signed_out.error["message"].startswith("You are not signed in to http://127.0.0.1:9.")


def test_unreachable_server_is_named(demo: CommandLine) -> None:
    environ = {"OCTAVO_BASE_URL": "http://127.0.0.1:9", "OCTAVO_API_KEY": "key-of-nobody-0123456789"}
    ran = demo.run("changes", environ=environ)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("octavo: Could not load the change requests: the connection to")


def test_key_is_hidden_from_filters(demo: CommandLine) -> None:
    ran = demo.run("changes", "--demo", "-q", "env|keys|.[]", environ={"OCTAVO_API_KEY": "key-of-nobody-0123456789"})
    assert ran.code == 0
    assert "PATH" in ran.out.splitlines()
    assert "OCTAVO_API_KEY" not in ran.out


@pytest.mark.before_release
def test_endless_filter_ends_on_interrupt(demo: CommandLine) -> None:
    with subprocess.Popen(
        demo.command("changes", "--demo", "-q", "def f: f; f"), env=demo.environ, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as running:  # fmt: skip
        time.sleep(8)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=120)
    assert running.returncode in (-signal.SIGINT, 130)  # a shell shows both as 130
    assert (out, err) == (b"", b"")


@pytest.mark.before_release
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full on this machine")
def test_full_disk_and_closed_pipe_cause_no_traceback(demo: CommandLine) -> None:
    for options in ((), ("--json",), ("--ndjson",), ("-q", ".")):
        with Path("/dev/full").open("wb") as full:
            ran = demo.run_with_output(full.fileno(), "changes", "--demo", *options)
        assert ran.code == 1
        assert "Could not write the output: no space left on device." in ran.err
        ran = demo.run_with_closed_pipe("changes", "--demo", *options)
        assert (ran.code, ran.err) == (0, "")


def test_space_comes_from_the_option_the_environment_or_the_folder(demo: CommandLine, tmp_path: Path) -> None:
    listed = demo.run("changes", "--demo", "--json", "ref", environ={"OCTAVO_SPACE": "LIMPET"}).json
    assert [each["ref"] for each in listed] == ["limpet/2"]
    (tmp_path / "docs" / ".octavo").mkdir(parents=True)
    (tmp_path / "docs" / ".octavo" / "state.json").write_text('{"schema": "octavo.files/1", "space": "handbook"}')
    listed = demo.run("changes", "--demo", "--json", "ref", cwd=tmp_path / "docs").json
    assert [each["ref"] for each in listed] == ["handbook/2"]


def test_changes_in_a_deleted_folder_are_listed(demo: CommandLine) -> None:
    ran = demo.shell("mkdir gone && cd gone && rmdir ../gone && octavo --demo changes --json ref")
    assert ran.code == 0, ran.err
    assert {"ref": "limpet/2"} in ran.json


def test_help_has_fields_examples_and_exit_codes(demo: CommandLine) -> None:
    ran = demo.run("changes", "--help")
    assert ran.code == 0
    for part in ("octavo changes --status merged --all", "fields: number, id, ref", "more fields: ", "exit codes:"):
        assert part in ran.out


def test_unknown_command_names_a_similar_one(demo: CommandLine) -> None:
    ran = demo.run("chagnes")
    assert ran.code == 2
    assert "Unknown command 'chagnes'. Did you mean changes?" in ran.err


def test_unknown_option_without_a_command_is_named(demo: CommandLine) -> None:
    ran = demo.run("--oops")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("unrecognized arguments: --oops. For help, run: octavo --help\n")
    assert "Did you mean --profile?" in demo.run("--profil-e").err


def test_limit_is_for_the_rows_of_the_reviewer(demo: CommandLine) -> None:
    of_reviewer = ("changes", "--demo", "--status", "all", "--reviewer", "noor", "--json", "ref")
    everything = demo.run(*of_reviewer, "--all").json
    assert len(everything) > 2
    assert demo.run(*of_reviewer, "--limit", "2").json == everything[:2]


def test_merge_checks_are_an_extra_field(demo: CommandLine) -> None:
    rows = demo.run("changes", "--demo", "-s", "harbour-api", "--json", "number,checks").json
    checks = {row["number"]: {each["name"]: each["status"] for each in row["checks"]} for row in rows}
    merged = demo.run("merge", "harbour-api/6", "--check", "--demo", "--json", "checks").json
    assert checks[6] == {each["name"]: each["status"] for each in merged["checks"]}
    assert (checks[6]["review"], checks[7]["open-threads"]) == ("bad", "care")
    shown = demo.run("show", "harbour-api/7", "--demo", "--json", "checks").json
    assert {each["name"]: each["status"] for each in shown["checks"]} == checks[7]


@pytest.mark.before_release("1", "20", "40", "60")
@pytest.mark.parametrize("columns", [1, 5, 20, 40, 60])
def test_table_fits_a_narrow_terminal(demo: CommandLine, columns: int) -> None:
    with demo.terminal("changes", "--demo", "--color", "never", columns=columns) as shown:
        assert shown.end() == 0
        output = b"".join(each.data for each in shown.chunks).decode()
    lines = re.sub(r"\x1b]8;[^\x1b]*\x1b\\", "", output).splitlines()
    assert max(map(len, lines)) <= columns
    assert len(lines) == 8
