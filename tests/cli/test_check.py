"""`octavo check FOLDER`: seeded faults and their places, formats, rules, and exit codes."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from octavo.cli.checking import broken_urls
from octavo.server.fetcher import Fetcher
from tests.benchmarks.terminal import Terminal
from tests.cli.conftest import Octavo, RecordedTerminal
from tests.server.web_server import run_web_server

FAULT = re.compile(r"«([a-z-]+)\|([^»]*)»")
"""A fault in the text of a seeded file: the rule, and the text that the finding must point to."""
Place = tuple[str, str, int, int, int, int]

SEEDED = {
    "README.md": """\
---
title: Harbour
hidden: «»
---

# Harbour

🎉 Read [the guide](«link|guides/stup.md») and [its end](«anchor|guides/setup.md#the-end»), or [here](«anchor|#nowhere»).
Zero\u200bwidth [space](«anchor|#zero»), *again* [twice](«link|gone.md») and [twice](«link|gone.md»), `gone.md` is code.

| Page | Image |
|-|-|
| [cell](«link|cell.md») | ![tide](«image|.gitbook/assets/tide.png») |

<table data-view="cards"><thead><tr><th></th><th data-hidden data-card-target data-type="content-ref"></th>
<th data-hidden data-card-cover data-type="files"></th></tr></thead><tbody><tr><td>Card</td>
<td><a href="«link|card.md»">card.md</a></td><td><a href="«image|.gitbook/assets/cover.png»">cover.png</a></td></tr></tbody></table>

> Quoted [link](«link|quoted.md»)

* Item
  * Deep [item](«link|deep%20item.md»)

{% hint style="info" %}
See [the hint](«link|/guides/hint»).
{% endhint %}

{% tabs %}
{% tab title="One" %}
{% content-ref url="«link|ref.md»" %}
[ref.md](ref.md)
{% endcontent-ref %}
{% endtab %}
{% endtabs %}

<details>

<summary>Title with <a href="«link|title.md»">a link</a></summary>

Inside [it](«link|inside.md»).

</details>

<figure><img src="«image|.gitbook/assets/a&b.png»" alt="Both"><figcaption></figcaption></figure>

{% file src="«file|.gitbook/assets/form.pdf»" %}

A [paper](«file|files/paper.pdf») by [label][label], with a note[^1] and [no page](«link|broken-reference»).

{% include "«include|.gitbook/includes/gone.md»" %}

[label]: «link|labelled.md»

[^1]: A note with [a link](«link|note.md»).
""",
    "guides/setup.md": """\
# Setup

«heading-order|#### Too deep»

![](«alt-text|../.gitbook/assets/logo.png»)

{% tabs %}
«unclosed-tag|{% tab title="Open" %}»
Text
{% endtabs %}

«unclosed-tag|{% endhint %}»

«unknown-block|{% hnt style="info" %}»

1. Item

   «unknown-block|{% youtube id="7" %}»

«unclosed-tag|<details>»

<summary>Never closed</summary>

«unclosed-tag|{% hint style="info" %}»

Text
""",
    "guides/yaml.md": "---\ndescription: a«front-matter|: b»\nicon: x\n---\n\n# Yaml\n",
    "guides/types.md": """\
---
«front-matter|hidden: perhaps»
«front-matter|title:»
  - one
cover: "«image|../.gitbook/assets/lost.png»"
---

# Types

«unclosed-tag|{% hint style="x"»
""",
    "guides/setup/README.md": "# The other setup\n\n[Up](../setup.md#setup) and [home](../../README.md).\n",
    "guides/unlisted.md": "# Unlisted\n",
    "SUMMARY.md": """\
# Table of contents

* [Harbour](README.md)
* [Gone](«link|gone.md»)

## Guides

* [Setup](guides/setup.md)
* [Other setup](«duplicate-path|guides/setup/README.md»)
* [Yaml](guides/yaml.md)
* [Types](guides/types.md)
* [Again](«duplicate-path|guides/yaml.md»)
""",
    ".gitbook.yaml": """\
root: ./
redirects:
  «redirect-loop|old/a»: old/b
  «redirect-loop|old/b»: ./old/a.md
  «link|old/c»: guides/none.md
  old/d: guides/setup.md
  old/e: https://docs.example.com/
""",
    ".gitbook/assets/logo.png": "used",
    ".gitbook/assets/spare.png": "not used",
}
WHOLE_FILES = {("not-in-summary", "guides/unlisted.md"), ("unused-file", ".gitbook/assets/spare.png")}


def write_seeded(folder: Path, files: Mapping[str, str] = SEEDED) -> set[Place]:
    """Write files without the marks of their faults. Return the rule, file and place of each fault."""
    expected: set[Place] = set()
    for name, marked in files.items():
        text = ""
        position = 0
        for mark in FAULT.finditer(marked):
            text += marked[position : mark.start()]
            line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
            expected.add((mark[1], name, line, column, line, column + len(mark[2])))
            text += mark[2]
            position = mark.end()
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((text + marked[position:]).replace("«»", "true"), encoding="utf-8")
    return expected | {(rule, name, 1, 1, 1, 1) for rule, name in WHOLE_FILES if name in files}


def places(out: str, folder: Path) -> list[Place]:
    return [
        (
            each["rule"], each["path"].removeprefix(f"{folder}/"),
            each["line"], each["column"], each["endLine"], each["endColumn"],
        )
        for each in json.loads(out)
    ]  # fmt: skip


def test_seeded_faults_are_found_at_their_line_and_column(octavo: Octavo, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    expected = write_seeded(folder)
    ran = octavo(
        "check", str(folder), "--format", "json", "--rule", "default", "--rule", "alt-text", "--rule", "heading-order"
    )
    found = places(ran.out, folder)
    assert ran.code == 1
    assert len(expected) >= 40
    assert set(found) == expected
    assert len(found) == len(expected)


CLEAN = {
    "SUMMARY.md": "# Table of contents\n\n* [Home](README.md)\n\n## API\n\n* [API](api/README.md)\n  * [Keys](api/keys.md)\n* [Site](https://docs.example.com)\n",
    ".gitbook.yaml": "root: ./\nstructure:\n  readme: README.md\nredirects:\n  old: api/keys.md\n  older: old\n",
    ".gitbook/includes/note.md": "# Shared heading\n\n[Keys](../../api/keys.md)\n",
    ".gitbook/assets/a b (1).png": "",
    ".gitbook/assets/cover.png": "",
    "README.md": (
        "---\ncover: .gitbook/assets/cover.png\n---\n\n# Home & hearth\n\n"
        "[By folder](api/) [by URL path](/api/keys#rotate-a-key) [again](api/keys.md#Rotate-a-key) [up](../README.md)\n"
        "[mail](mailto:a@b.example) [site](//docs.example.com) [app](https://app.gitbook.com/s/abc/page) "
        "[here](#home-and-hearth) [shared](#shared-heading) [text](#:~:text=Home) ![A](<.gitbook/assets/a b (1).png>)\n\n"
        "`[code](gone.md)` \\[escaped](gone.md)\n\n```md\n[fence](gone.md)\n{% hint %}\n```\n\n"
        '{% include ".gitbook/includes/note.md" %}\n'
    ),
    "api/README.md": '# API\n\n{% openapi-operation spec="x" path="/a" method="get" %}\n[a](https://x.example)\n{% endopenapi-operation %}\n\n[There](#get-a)\n',
    "api/keys.md": "# Keys\n\n## Rotate a key <a href=\"#rotate-a-key\" id=\"rotate-a-key\"></a>\n\n[Home](../README.md#shared-heading)\n",
    "LICENSE.md": "# Licence\n",
}  # fmt: skip


def test_folder_without_faults_is_clean(octavo: Octavo, tmp_path: Path) -> None:
    write_seeded(tmp_path, CLEAN)
    ran = octavo("check", str(tmp_path), "--fail-on", "warning")
    assert (ran.code, ran.out, ran.err) == (0, "No problems in 5 files\n", "")


def test_text_names_the_place_the_rule_and_the_nearest_heading(
    octavo: Octavo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {
        "docs/quick-start.md": "# Quick\n\n## Start\n",
        "docs/a/README.md": "# A\n\nSee [x](../quick-start.md#start-here).\n",
    }
    write_seeded(tmp_path, files)
    ran = octavo("check", "docs")
    assert ran.out == (
        "docs/a/README.md:3:9: error: no heading “#start-here” in ../quick-start.md. Did you mean #start? (anchor)\n"
        "1 error in 2 files\n"
    )
    monkeypatch.chdir("docs")
    assert octavo("check").out.startswith("a/README.md:3:9: error:")


@pytest.mark.parametrize(
    ("options", "code", "rules"),
    [
        ((), 1, {"link", "unused-file"}),
        (("--rule", "unused-file"), 0, {"unused-file"}),
        (("--rule", "unused-file", "--fail-on", "warning"), 1, {"unused-file"}),
        (("--ignore", "link"), 0, {"unused-file"}),
        (("--rule", "default", "--rule", "alt-text", "--fail-on", "never"), 0, {"link", "unused-file", "alt-text"}),
        (("--rule", "link", "--ignore", "link"), 0, set()),
    ],
)
def test_rules_and_severity_decide_what_fails(
    octavo: Octavo, tmp_path: Path, options: tuple[str, ...], code: int, rules: set[str]
) -> None:
    write_seeded(tmp_path, {"README.md": "[a](b.md) ![](https://x.example/i.png)\n", ".gitbook/assets/a.png": ""})
    ran = octavo("check", str(tmp_path), "--format", "ndjson", *options)
    assert ran.code == code
    assert {json.loads(each)["rule"] for each in ran.out.splitlines()} == rules


def test_settings_of_the_folder_choose_and_ignore_rules(octavo: Octavo, tmp_path: Path) -> None:
    settings = 'rules = ["link", "alt-text"]\n[paths."drafts/**"]\nignore = ["link"]\n[paths."*.txt.md"]\nignore = ["alt-text"]\n'
    page = "[a](b.md) ![](https://x.example/i.png)\n"
    write_seeded(tmp_path, {".octavo.toml": settings, "README.md": page, "drafts/x/d.md": page, "notes/n.txt.md": page})
    found = {(each[0], each[1]) for each in places(octavo("check", str(tmp_path), "--format", "json").out, tmp_path)}
    assert found == {
        ("link", "README.md"),
        ("alt-text", "README.md"),
        ("alt-text", "drafts/x/d.md"),
        ("link", "notes/n.txt.md"),
    }
    chosen = octavo("check", str(tmp_path), "--format", "json", "--rule", "link", "--ignore", "alt-text")
    assert {each[0] for each in places(chosen.out, tmp_path)} == {"link"}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ('ignore = ["lnk"]', "Unknown rule 'lnk' in .octavo.toml. Did you mean link?"),
        ('ignored = ["link"]', "ignored is not a setting. Did you mean ignore?"),
        ('command = ["sh"]', "a folder cannot name commands. Add linters to config.toml"),
        ('[[linter]]\ncommand = ["sh"]', "a folder cannot name commands"),
        ('rules = ["external-link"]', "a folder cannot send requests"),
        ("rules = 3", "rules must be a list of rules"),
        ("paths = 3", "paths must have at most 500 sections"),
        ("[paths]\na = 3", "paths must have sections"),
        ('[paths."a"]\nrules = []', "paths.'a'.rules is not a setting"),
        ("rules =", "Invalid value"),
        ("a = " + "[" * 1000, "it has too many levels"),
    ],
)
def test_wrong_settings_of_the_folder_are_named(octavo: Octavo, tmp_path: Path, settings: str, reason: str) -> None:
    write_seeded(tmp_path, {".octavo.toml": settings, "README.md": "# A\n"})
    ran = octavo("check", str(tmp_path))
    assert (ran.code, ran.out) == (2, "")
    assert reason in ran.err
    assert ran.err.count("\n") == 1


def test_settings_outside_the_folder_or_no_file_are_not_read(octavo: Octavo, tmp_path: Path) -> None:
    write_seeded(tmp_path, {"outside.toml": 'ignore = ["link"]', "docs/README.md": "[a](b.md)\n"})
    (tmp_path / "docs" / ".octavo.toml").symlink_to(tmp_path / "outside.toml")
    assert octavo("check", str(tmp_path / "docs")).code == 1
    (tmp_path / "docs" / ".octavo.toml").unlink()
    (tmp_path / "docs" / ".octavo.toml").mkdir()
    assert octavo("check", str(tmp_path / "docs")).code == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("./nowhere",), "octavo: Could not check ./nowhere: there is no such folder.\n"),
        (("file.md",), "octavo: Could not check file.md: it is not a folder.\n"),
        ((".", "--rule", "anchors"), "octavo: Unknown rule 'anchors'. Did you mean anchor?\n"),
        ((".", "--ignore", "zzz"), "octavo: Unknown rule 'zzz'. For a list, run: octavo help check\n"),
    ],
)
def test_check_that_cannot_run_ends_with_two(
    octavo: Octavo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_seeded(tmp_path, {"file.md": "# A\n"})
    ran = octavo("check", *arguments)
    assert (ran.code, ran.out, ran.err) == (2, "", reason)


def test_unreadable_files_are_named_and_the_others_checked(octavo: Octavo, tmp_path: Path) -> None:
    write_seeded(tmp_path, {"README.md": "[a](b.md)\n"})
    (tmp_path / "scan.md").write_bytes(b"no\0text")
    ran = octavo("check", str(tmp_path))
    assert ran.err == "octavo: scan.md is not text, so it is left out.\n"
    assert "(link)" in ran.out


def test_json_has_the_fields_and_a_suggestion(octavo: Octavo, tmp_path: Path) -> None:
    write_seeded(tmp_path, {"guides/a.md": "[x](sub/../setup2.md#end)\n", "guides/setup.md": "# Setup\n"})
    found = json.loads(octavo("check", str(tmp_path), "--format", "json").out)
    assert found == [
        {
            "rule": "link", "severity": "error",
            "message": "no page at “sub/../setup2.md”. Did you mean setup.md?",
            "path": f"{tmp_path}/guides/a.md", "line": 1, "column": 5, "endLine": 1, "endColumn": 25,
            "page": "guides/a", "block": found[0]["block"], "words": "sub/../setup2.md#end",
            "suggestion": "setup.md#end", "source": "octavo",
        }
    ]  # fmt: skip
    assert found[0]["block"]


def test_empty_list_of_findings_is_json_too(octavo: Octavo, tmp_path: Path) -> None:
    write_seeded(tmp_path, {"README.md": "# A\n"})
    assert octavo("check", str(tmp_path), "--format", "json").out == "[]\n"
    assert octavo("check", str(tmp_path), "--format", "ndjson").out == ""
    sarif = json.loads(octavo("check", str(tmp_path), "--format", "sarif").out)
    assert sarif["runs"][0]["results"] == []


def test_columns_count_bytes_in_rdjsonl_and_code_points_in_sarif(
    octavo: Octavo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_seeded(tmp_path, {"a b.md": "🎉 é [x](gone.md)\n"})
    line = json.loads(octavo("check", ".", "--format", "rdjsonl").out)
    assert line["location"] == {
        "path": "a b.md",
        "range": {"start": {"line": 1, "column": 13}, "end": {"line": 1, "column": 20}},
    }
    run = json.loads(octavo("check", ".", "--format", "sarif").out)["runs"][0]
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["tool"]["driver"]["rules"][0]["defaultConfiguration"] == {"level": "error"}
    location = run["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "a%20b.md"}
    assert location["region"] == {"startLine": 1, "startColumn": 9, "endLine": 1, "endColumn": 16}


def test_github_commands_cannot_be_forged_by_names(
    octavo: Octavo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_seeded(tmp_path, {"a,b:\n::error::c.md": "[x](<100%25 gone.md>)\n"})
    ran = octavo("check", ".", "--format", "github")
    assert ran.out.count("\n") == 1
    assert ran.out.startswith(
        "::error file=a%2Cb%3A%0A%3A%3Aerror%3A%3Ac.md,line=1,col=6,endLine=1,endColumn=20,title=link::"
    )


def test_names_with_control_characters_are_shown_as_symbols(
    octavo: Octavo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_seeded(tmp_path, {"a\x1b[31m\u202eb.md": "[x](gone\x1b]0;t\x07.md)\n"})
    assert not set(octavo("check", ".").out) & {"\x1b", "\x07", "\u202e"}


@pytest.mark.parametrize("form", ["json", "ndjson", "rdjsonl", "sarif"])
def test_json_is_valid_if_standard_output_is_ascii(octavo: Octavo, tmp_path: Path, form: str) -> None:
    write_seeded(tmp_path / "docs", {"é.md": "[é](gone-é.md)\n"})
    with (tmp_path / "output").open("w", encoding="ascii") as output, redirect_stdout(output):
        octavo("check", str(tmp_path / "docs"), "--format", form)
    written = (tmp_path / "output").read_bytes()
    parts = written.splitlines() if form in ("ndjson", "rdjsonl") else [written]
    assert parts
    assert all("é" in json.dumps(json.loads(each), ensure_ascii=False) for each in parts)


@pytest.mark.parametrize("form", ["json", "ndjson", "github", "rdjsonl", "sarif"])
def test_control_characters_of_all_formats_are_symbols_on_a_terminal(
    octavo: Octavo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_seeded(tmp_path, {"a\x1b[31m\u202e\x9b.md": "[x](gone\x1b]0;t\x07.md)\n"})
    with RecordedTerminal() as shown:
        octavo("check", ".", "--format", form)
    assert not set(shown.text) & {"\x1b", "\x07", "\u202e", "\x9b"}
    assert ".md" in shown.text


def test_encoded_control_characters_in_urls_are_shown_as_symbols(octavo: Octavo, tmp_path: Path) -> None:
    url = "%1b]0;title%07%0aerror.md"
    write_seeded(tmp_path, {"README.md": f"[x](gone{url})\n", "SUMMARY.md": f"* [x](README.md)\n* [y](../{url})\n"})
    ran = octavo("check", str(tmp_path))
    assert "no page at “gone␛]0;title␇ error.md”" in ran.out
    assert "../␛]0;title␇ error.md points outside the folder" in ran.err
    assert not set(ran.out + ran.err) & {"\x1b", "\x07"}


@pytest.mark.before_release
def test_terminal_gets_colors_unless_they_are_switched_off(tmp_path: Path) -> None:
    write_seeded(tmp_path, {"README.md": "[a](b.md)\n"})
    command = [sys.executable, "-m", "octavo", "check", str(tmp_path)]
    for environ, is_colored in (({}, True), ({"NO_COLOR": "1"}, False)):
        with Terminal(command, {**environ, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}) as shown:
            assert shown.end() == 1
            out = b"".join(chunk.data for chunk in shown.chunks).decode()
        assert ("\x1b[31merror:" in out) is is_colored
        assert "1 error in 1 file" in out


def test_check_requests_public_websites_only_and_only_on_request(octavo: Octavo, tmp_path: Path) -> None:
    with run_web_server() as web:
        write_seeded(tmp_path, {"README.md": f"[a]({web.origin}/gone) [b](http://nowhere.invalid/x#y)\n"})
        assert octavo("check", str(tmp_path)).code == 0
        ran = octavo("check", str(tmp_path), "--rule", "external-link", "--fail-on", "warning")
        assert web.requested_paths == []
    assert ran.code == 1
    assert "README.md:1:" in ran.out
    assert "warning: the host nowhere.invalid was not found" in ran.out
    assert ran.out.count("(external-link)") == 1


def test_website_without_the_page_is_broken_and_other_statuses_are_not() -> None:
    with run_web_server() as web:
        urls = [web.put("/there", "x"), web.put("/busy", "x", status=429), web.move("/old", "/there")]
        gone = [f"{web.origin}/gone", web.put("/left", "x", status=410), web.move("/loop", "/loop")]
        slow = web.make_endless("/slow")
        fetcher = Fetcher(allows_private=True, time_limit=1.0)
        assert broken_urls([*urls, *gone, slow], fetcher, []) == {
            gone[0]: "the website responded with status 404",
            gone[1]: "the website responded with status 410",
            gone[2]: "the URL redirects more than 5 times",
        }
