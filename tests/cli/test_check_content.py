"""`octavo check REF`: the pages of a change request, what it added, and the findings of linters."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.cli.command_process import CommandLine, ProcessResult
from tests.journeys.conftest import library

__all__ = ["library"]

CHANGES = {
    "harbour-api/7": "refused-times",
    "harbour-api/6": "middle-of-six-minutes",
    "stations/1": "limpet-classic",
    "handbook/2": "one-word-endpoint",
    "limpet/2": "cold-batteries",
}
"""Open change requests of the demo, with their ids."""
PAGE = """\
# Seeded

🎉 The level was utilised, as [the guide](gone.md) says.

* One
* We utilised two

{% hint style="info" %}
Never utilised here.
{% endhint %}

| Word |
| --- |
| utilised |

{% hint style="info" %}
Not closed.
"""
LINTER = """\
import re, sys
for number, line in enumerate(open(sys.argv[1], encoding="utf-8"), 1):
    for found in re.finditer(r"utilised", line):
        print(f"{sys.argv[1]}:{number}:{found.start() + 1}: Use “used” instead of “{found[0]}” [warning/Words]")
    for found in re.finditer("time|level|Limpet|endpoint|battery", line):
        print(f"{sys.argv[1]}:{number}:{found.start() + 1}: {found[0]} is fine (Noise)")
sys.exit(1)
"""


@pytest.fixture(scope="module")
def seeded(library: Path, tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """Return a demo with five change requests, each with a page with seven faults, and with a linter in the settings."""
    home = CommandLine(tmp_path_factory.mktemp("home")).with_demo(library)
    for ref, change in CHANGES.items():
        space = ref.partition("/")[0]
        edit = {"operation": "insert_page", "title": "Seeded", "document": {"markdown": PAGE}}
        ran = home.run(
            *("--demo", "api", "content.Edit", f"spaceId={space}", f"changeRequestId={change}"),
            f"changes:={json.dumps([edit])}",
        )
        assert ran.code == 0, ran.err
    script = home.folder / "linter.py"
    script.write_text(LINTER, encoding="utf-8")
    config = home.folder / "config" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    command = json.dumps([sys.executable, str(script), "{file}"])
    config.write_text(f'[[linter]]\nname = "words"\ncommand = {command}\nformat = "lines"\n', encoding="utf-8")
    return home


def check(home: CommandLine, *arguments: str) -> ProcessResult:
    return home.run("--demo", "check", *arguments, "--format", "json")


@pytest.mark.before_release("harbour-api/6", "harbour-api/7")
@pytest.mark.parametrize("ref", CHANGES)
def test_seeded_faults_of_a_change_are_on_their_blocks(seeded: CommandLine, ref: str) -> None:
    ran = check(seeded, ref, "--added", "--linters")
    assert (ran.code, ran.err) == (1, "")
    own = [each for each in ran.json if each["page"] == "seeded"]
    assert [(each["rule"], each["line"], each["column"], each["source"]) for each in own] == [
        ("Noise", 3, 7, "words"),
        ("Words", 3, 17, "words"),
        ("link", 3, 42, "octavo"),
        ("Words", 6, 6, "words"),
        ("Words", 9, 7, "words"),
        ("Words", 14, 3, "words"),
        ("unclosed-tag", 16, 1, "octavo"),
    ]
    words = [each for each in own if each["rule"] == "Words"]
    assert len({each["block"] for each in words}) == len(words) == 4
    noise = [each for each in ran.json if each["rule"] == "Noise" and each["page"] != "seeded"]
    added = "".join(re.findall(r"\{\+(.*?)\+\}", seeded.run("--demo", "diff", ref).out))
    assert len(noise) <= len(re.findall("time|level|Limpet|endpoint|battery", added))


def test_without_added_the_changed_pages_are_checked_completely(seeded: CommandLine) -> None:
    ran = check(seeded, "harbour-api/7", "--rule", "alt-text", "--rule", "link")
    assert {each["rule"] for each in ran.json} == {"link"}
    assert {each["path"] for each in ran.json} == {"seeded.md"}


def test_one_page_of_a_change_request_is_checked(seeded: CommandLine) -> None:
    assert check(seeded, "harbour-api/7:concepts/time", "--added").json == []
    assert {each["page"] for each in check(seeded, "harbour-api/7:seeded").json} == {"seeded"}


def test_space_is_checked_on_main(seeded: CommandLine) -> None:
    ran = seeded.run("--demo", "check", "harbour-api", "--fail-on", "never")
    assert ran.code == 0
    assert " in " in ran.out.splitlines()[-1]
    assert "seeded.md" not in ran.out


def test_links_to_pages_with_reusable_content_are_checked(library: Path, tmp_path: Path) -> None:
    home = CommandLine(tmp_path).with_demo(library)
    footer = '{% include "../.gitbook/includes/support-footer.md" %}'
    errors = "/look-up/reference/errors"
    text = f"## One\n\n[a](#one) [b](#two) [c]({errors}#errors) [d]({errors}#gone)\n\n{footer}\n"
    edit = {"operation": "insert_page", "title": "Seeded", "document": {"markdown": text}}
    space = ("spaceId=harbour-api", "changeRequestId=refused-times")
    ran = home.run("--demo", "api", "content.Edit", *space, f"changes:={json.dumps([edit])}")
    assert ran.code == 0, ran.err
    found = check(home, "harbour-api/7:seeded", "--rule", "anchor").json
    assert [each["words"] for each in found] == ["#two", f"{errors}#gone"]


def test_sarif_of_a_change_request_has_a_run_for_each_linter(seeded: CommandLine) -> None:
    ran = seeded.run("--demo", "check", "harbour-api/7", "--linters", "--format", "sarif")
    assert [run["tool"]["driver"]["name"] for run in ran.json["runs"]] == ["octavo", "words"]


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("harbour-api", "--added"), 2, "--added needs a change request"),
        (("harbour-api/999",), 3, "Could not find change request 999"),
        (("nowhere",), 3, "There is no folder nowhere. Could not find the space nowhere."),
        (("x" * 300,), 3, "There is no folder xxx"),
        (("./nowhere",), 2, "there is no such folder"),
        ((".", "--added"), 2, "--added needs a REF, such as handbook/7."),
        ((".", "--linters"), 2, "--linters needs a REF, such as handbook/7."),
    ],
)
def test_check_that_cannot_run_says_why(
    seeded: CommandLine, arguments: tuple[str, ...], code: int, reason: str
) -> None:
    ran = seeded.run("--demo", "check", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert reason in ran.err


def test_check_of_a_missing_folder_without_an_account_names_it(library: Path, tmp_path: Path) -> None:
    ran = CommandLine(tmp_path).run("check", "dosc")
    assert ran.code == 4
    assert ran.err.startswith("octavo: There is no folder dosc. ")


def test_linter_that_fails_is_named_and_the_rules_are_checked(seeded: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        '[[linter]]\nname = "vale"\ncommand = ["no-such-vale", "{file}"]\nformat = "vale"\n'
        f'[[linter]]\nname = "odd"\ncommand = ["{sys.executable}", "-c", "print(1)", "-"]\nformat = "sarif"\n'
        f'[[linter]]\nname = "other"\ncommand = ["no-such", "-"]\nformat = "vale"\nspaces = ["handbook"]\n'
    )
    ran = seeded.run(
        "--demo", "check", "harbour-api/7", "--linters", "--format", "json",
        environ={"OCTAVO_CONFIG_DIR": str(tmp_path)},
    )  # fmt: skip
    assert ran.code == 1
    assert {each["source"] for each in ran.json} == {"octavo"}
    assert ran.err == (
        "octavo: Could not run vale: no-such-vale was not found. Set linter.command, or install it.\n"
        "octavo: Could not read the output of odd: it has another structure than its format. Check linter.format.\n"
    )


def test_without_linters_in_the_settings_the_option_is_refused(seeded: CommandLine, tmp_path: Path) -> None:
    environ = {"OCTAVO_CONFIG_DIR": str(tmp_path)}
    ran = seeded.run("--demo", "check", "harbour-api/7", "--linters", environ=environ)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "octavo: Could not run linters: there are none in config.toml. To add one, run: octavo help linters\n"
    )


def test_websites_that_are_not_checked_are_counted(library: Path, tmp_path: Path) -> None:
    home = CommandLine(tmp_path).with_demo(library)
    # Addresses of this computer are not requested.
    text = "\n\n".join(f"[a](http://127.0.0.1/{number})" for number in range(2_001))
    edit = {"operation": "insert_page", "title": "Links", "document": {"markdown": text}}
    at = ("spaceId=limpet", "changeRequestId=cold-batteries")
    assert home.run("--demo", "api", "content.Edit", *at, f"changes:={json.dumps([edit])}").code == 0
    ran = home.run("--demo", "check", "limpet/2:links", "--rule", "external-link")
    assert (ran.code, ran.err) == (0, "octavo: Only 2,000 of 2,001 links to websites were checked.\n")
