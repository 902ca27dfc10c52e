"""`octavo review`: a program reads a change request and proposes notes. Only a user sends the notes."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from octavo.cli.review_export import BlockFinder
from octavo.documents.source_reader import parse
from tests.cli.command_process import CommandLine
from tests.cli.conftest import Octavo
from tests.journeys.conftest import library

__all__ = ["library"]

DEMO = Path(__file__).parents[2] / "src" / "octavo" / "server" / "demo"
PAGES = (
    "handbook/writing/style-guide.md",
    "harbour-api/get-started/authentication.md",
    "harbour-api/concepts/predictions.md",
    "harbour-api/help/migrate-v2.md",
    "limpet/operate/lights.md",
)
INSERTED = (
    "Ships that arrive early wait at the outer buoys until their berth is free.",
    "A notice to mariners replaces every notice that was sent before.",
    "Two pilots share one boat when the wind is above seven.",
    "The harbour office counts containers twice, at noon and at midnight.",
    "Nobody paints the sea wall in winter, because the paint does not dry.",
)


@pytest.fixture
def demo(library: Path, tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path).with_demo(library)


def call(demo: CommandLine, name: str, *values: str, body: object = None) -> Any:
    """Call an operation on the demo."""
    ran = demo.run(
        "api", name, *values, "--demo", *(["--input", "-"] if body is not None else []), input=json.dumps(body)
    )
    assert ran.code == 0, ran.err
    return json.loads(ran.out) if ran.out else None


@dataclass
class PreparedChangeRequest:
    """A change request that changes one page."""

    demo: CommandLine
    id: str
    number: int
    page: str

    @property
    def ref(self) -> str:
        return f"harbour-api/{self.number}"

    def write(self, markdown: str) -> None:
        """Replace the text of the page, which creates a revision."""
        at = ("spaceId=harbour-api", f"changeRequestId={self.id}")
        change = {"operation": "update_page", "page": self.page, "document": {"markdown": markdown}}
        call(self.demo, "content.Edit", *at, body={"changes": [change]})

    def export(self, *options: str) -> Any:
        ran = self.demo.run("review", self.ref, "--demo", "--json", *options)
        assert ran.code == 0, ran.err
        return ran.json

    def threads(self) -> int:
        at = ("spaceId=harbour-api", f"changeRequestId={self.id}")
        return len(call(self.demo, "comments.List", *at)["items"])


def start(demo: CommandLine, markdown: str) -> PreparedChangeRequest:
    page = demo.run("show", "harbour-api:concepts/predictions", "--demo", "--json", "id").json["id"]
    made = call(demo, "change_requests.Create", "spaceId=harbour-api", "subject=Notes")
    request = PreparedChangeRequest(demo, made["id"], made["number"], page)
    request.write(markdown)
    call(demo, "change_requests.Update", "spaceId=harbour-api", f"changeRequestId={request.id}", "status=open")
    return request


def import_notes(request: PreparedChangeRequest, notes: Sequence[Mapping[str, Any]], *options: str) -> Any:
    lines = "\n".join(json.dumps(note) for note in notes)
    return request.demo.run("review", request.ref, "--demo", "--import", "-", *options, input=lines)


def edit_page(chunks: list[str], noted: list[tuple[int, int]], seed: int) -> tuple[str, dict[tuple[int, int], int]]:
    """Return the edited page, and the new line number of each noted line."""
    randomly = random.Random(seed)
    texts = [chunk.split("\n") for chunk in chunks]
    sentences = [each for each in noted if re.match(r"(\* |#+ |\d\. )?[A-Z].* .* ", texts[each[0]][each[1]])]
    for chunk, number in randomly.sample(sentences, min(5, len(sentences))):
        words = texts[chunk][number].split(" ")
        place = randomly.randrange(2, len(words) - 1)
        texts[chunk][number] = " ".join([*words[:place], "carefully", "and", "again", *words[place + 1 :]])
    order = list(range(len(chunks)))
    order.insert(randomly.randrange(len(order)), order.pop(randomly.randrange(len(order))))
    inserted = dict(zip(randomly.sample(range(1, len(order)), 5), INSERTED, strict=True))
    lines: list[str] = []
    new_lines: dict[tuple[int, int], int] = {}
    for place, chunk in enumerate(order):
        if place in inserted:
            lines += [inserted[place], ""]
        new_lines |= {(chunk, number): len(lines) + number for number in range(len(texts[chunk]))}
        lines += [*texts[chunk], ""]
    return "\n".join(lines), new_lines


@dataclass
class NotedPage:
    """A change request of one long page, and 40 of its blocks. `edit` changes the page once."""

    request: PreparedChangeRequest
    chunks: list[str]
    chosen: list[dict[str, Any]]
    """The blocks in an export."""
    revision: str
    """The revision of the export."""
    _places: dict[str, tuple[int, int]]
    """Chunk and line in it by the name of the block."""
    _right: dict[str, int]
    """The line of each block after the edit, by its name before."""
    _lines: dict[str, int]
    """The line of each block after the edit, by its name then."""

    @classmethod
    def create(cls, demo: CommandLine, seed: int) -> NotedPage:
        chunks: list[str] = []
        for name in PAGES:
            document = parse((DEMO / name).read_text())
            source = document.source.split("\n")
            blocks = (block.lines for block in document.blocks)
            chunks += ["\n".join(source[first:last]).rstrip() for first, last in blocks]
        first_lines = [0]
        for chunk in chunks:
            first_lines.append(first_lines[-1] + chunk.count("\n") + 2)
        request = start(demo, "\n\n".join(chunks) + "\n")
        exported = request.export()
        changed = [
            each for page in exported["pages"] for each in page["blocks"] if each["after"] and each["change"] != "same"
        ]
        chosen = random.Random(seed).sample(changed, 40)
        places: dict[str, tuple[int, int]] = {}
        for each in chosen:
            number = max(number for number, first in enumerate(first_lines) if first < each["line"])
            places[each["block"]] = (number, each["line"] - 1 - first_lines[number])
        return cls(request, chunks, chosen, exported["change"]["revision"], places, {}, {})

    def edit(self, seed: int) -> None:
        changed, new_lines = edit_page(self.chunks, list(self._places.values()), seed)
        self.request.write(changed)
        self._right = {block: new_lines[place] for block, place in self._places.items()}
        self._lines = {block.key: block.lines[0] for block in parse(changed).walk()}

    def check(self, refused: Collection[int] = ()) -> None:
        """Check the proposed notes: on the right blocks, and no suggestion on a block that may be another one. A review and
        a merge send none of them. `refused` has the numbers of the notes that could not be placed."""
        proposed = self.request.export("proposed")["proposed"]
        placed = [each for number, each in enumerate(self.chosen) if number not in refused]
        right = 0
        for noted, each in zip(placed, proposed, strict=True):
            right += self._lines[each["block"]] == self._right[noted["block"]]
            is_applicable = "```suggestion" in each["text"]
            assert is_applicable <= (each["placed"] != "likely")
        assert right >= 39
        at = ("spaceId=harbour-api", f"changeRequestId={self.request.id}")
        assert call(self.request.demo, "reviews.Submit", *at, "status=approved")["status"] == "approved"
        call(self.request.demo, "change_requests.Merge", *at)
        assert self.request.threads() == 0


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.before_release), pytest.param(3, marks=pytest.mark.before_release)]
)
def test_forty_notes_are_placed_after_the_request_changed_once(demo: CommandLine, seed: int) -> None:
    """30 comments and 10 suggestions: at least 39 on the right block, none sent, and none twice."""
    page = NotedPage.create(demo, seed)
    page.edit(seed)
    notes = [
        {
            "page": "concepts/predictions",
            "block": each["block"],
            "quote": each["after"].strip()[:80],
            "revision": page.revision,
            "source": "claude",
            "text": f"Note {number}.",
            **({"suggestion": each["after"] + " Better."} if number < 10 else {}),
        }
        for number, each in enumerate(page.chosen)
    ]
    dry = import_notes(page.request, notes, "--dry-run")
    ran = import_notes(page.request, notes)
    refused = {
        int(number) - 1 for number in re.findall(r"^ ?octavo: .*:(\d+): the quote is not in", ran.err, re.MULTILINE)
    }
    count, rest = 40 - len(refused), ", 1 not placed" if refused else ""
    assert count >= 39
    assert dry.out == f"40 notes: {count} can be placed{rest}.\n"
    assert (ran.code, ran.out) == (6 if refused else 0, f"40 notes: {count} proposed{rest}.\n")
    again = import_notes(page.request, notes)
    assert again.out == f"40 notes: 0 proposed, {count} already there{rest}.\n"
    page.check(refused)


def test_quote_in_two_blocks_is_not_placed_in_the_old_version() -> None:
    before = parse("Ships wait at the buoys.\n\nPilots share boats.\n")
    after = parse("Ships wait at the buoys.\n\nAt night, ships wait at the buoys. Ships wait at the buoys.\n")
    found = BlockFinder(before, after, "concepts/time").find("", "Ships wait at the buoys.")
    assert found == "the quote is in 2 blocks of concepts/time"


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("{", "notes.jsonl:2: it is not JSON."),
        ("[]", "notes.jsonl:2: it is not a JSON object."),
        ('{"page": "a", "page": "b"}', "notes.jsonl:2: it has the key 'page' twice."),
        ('{"txt": "x"}', "notes.jsonl:2: unknown field txt. Did you mean text?"),
        ('{"page": "a", "quote": "b", "text": "c"}', "notes.jsonl:2: source is missing."),
        ('{"page": "a", "quote": "b", "source": "c"}', "notes.jsonl:2: text or suggestion is missing."),
        ('{"page": "a", "text": "b", "source": "c"}', "notes.jsonl:2: block or quote is missing."),
        ('{"page": 3}', "notes.jsonl:2: page must be text."),
        (json.dumps({"page": "a", "text": "x" * 8193}), "notes.jsonl:2: text is larger than 8192 bytes."),
        ("[" * 10_000, "notes.jsonl:2: "),
    ],
)
def test_invalid_file_of_notes_stores_nothing(octavo: Octavo, tmp_path: Path, row: str, says: str) -> None:
    notes = tmp_path / "notes.jsonl"
    good = {"page": "concepts/time", "quote": "bad-time", "text": "Good.", "source": "claude"}
    notes.write_text(f"{json.dumps(good)}\n{row}\n")
    ran = octavo("review", "harbour-api/7", "--demo", "--import", str(notes))
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("x" * ((1 << 20) + 1), "it is larger than 1 MiB."),
        ('{"page":"a","quote":"b","text":"c","source":"d"}\n' * 201, "it has more than 200 notes."),
    ],
    ids=["large", "many"],
)
def test_file_beyond_a_limit_is_refused(octavo: Octavo, tmp_path: Path, content: str, says: str) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text(content)
    ran = octavo("review", "harbour-api/7", "--demo", "--import", str(notes))
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


def test_notes_without_a_block_are_named_and_the_others_imported(demo: CommandLine) -> None:
    notes = demo.folder / "notes.jsonl"
    rows = (
        {"page": "concepts/time", "quote": "bad-time", "text": "Name the zone.", "source": "claude"},
        {"page": "concepts/time", "quote": "a sentence that is not on the page", "text": "What?", "source": "claude"},
        {"page": "concepts/tide", "quote": "bad-time", "text": "What?", "source": "vale"},
    )
    notes.write_text("\n".join(map(json.dumps, rows)))
    ran = demo.run("review", "harbour-api/7", "--demo", "--import", str(notes))
    assert (ran.code, ran.out) == (6, "3 notes: 1 proposed, 2 not placed.\n")
    assert "notes.jsonl:2: the quote is not in concepts/time anymore." in ran.err
    assert "notes.jsonl:3: there is no page concepts/tide." in ran.err
    ran = demo.run("review", "harbour-api/7", "--demo", "--discard-proposed", "--source", "vale")
    assert (ran.code, ran.out) == (0, "Discarded 0 proposed notes.\n")
    ran = demo.run("review", "harbour-api/7", "--demo", "--discard-proposed")
    assert (ran.code, ran.out) == (0, "Discarded 1 proposed note.\n")
    assert demo.run("review", "harbour-api/7", "--demo", "--json", "proposed").json == {"proposed": []}


def reports_of(format_name: str, path: str, line: int, column: int) -> str:
    """Return two findings in a format: on the words “a wrong one”, and on line 1, which the request did not add."""
    if format_name == "vale":
        action = {"Name": "replace", "Params": ["the wrong one"]}
        found = {"Line": line, "Span": [column, column + 10], "Match": "a wrong one", "Action": action}
        alert = {"Check": "House.Words", "Message": "Name it.", "Severity": "warning"}
        return json.dumps({path: [{**alert, **found}, {**alert, "Line": 1, "Span": [3, 6], "Match": "Time"}]})
    if format_name == "checkstyle":
        first = f'<error line="{line}" column="{column}" message="Name it." source="House.Words"/>'
        return f'<checkstyle><file name="{path}">{first}<error line="1" message="Name it."/></file></checkstyle>'
    if format_name == "sarif":
        regions = [{"startLine": line, "startColumn": column, "endColumn": column + 11}, {"startLine": 1}]
        places = [{"artifactLocation": {"uri": path}, "region": each} for each in regions]
        return json.dumps({"runs": [{"results": [
            {"ruleId": "House.Words", "message": {"text": "Name it."}, "locations": [{"physicalLocation": each}]}
            for each in places
        ]}]})  # fmt: skip
    ranges = [
        {"start": {"line": line, "column": column}, "end": {"line": line, "column": column + 11}},
        {"start": {"line": 1}},
    ]
    rows = [
        {"message": "Name it.", "code": {"value": "House.Words"}, "location": {"path": path, "range": each}}
        for each in ranges
    ]
    return json.dumps({"diagnostics": rows}) if format_name == "rdjson" else "\n".join(map(json.dumps, rows))


def test_findings_of_linters_are_proposed_on_added_words(demo: CommandLine) -> None:
    text = demo.run("show", "harbour-api/7:help/troubleshooting", "--demo", "--raw").out.split("\n")
    number = next(number for number, line in enumerate(text, 1) if "a wrong one" in line)
    column = text[number - 1].index("a wrong one") + 1
    for format_name in ("vale", "sarif", "rdjson", "rdjsonl", "checkstyle"):
        reports = reports_of(format_name, "docs/help/troubleshooting.md", number, column)
        ran = demo.run(
            "review", "harbour-api/7", "--demo", "--import", "-", "--format", format_name, "--source", format_name,
            input=reports,
        )  # fmt: skip
        assert (ran.code, ran.out) == (0, "1 note: 1 proposed.\n"), format_name
        assert ran.err == "octavo: 1 finding is not on added words and left out.\n"
    review = demo.run("review", "harbour-api/7", "--demo", "--json", "pages,proposed", "--changed-only").json
    (edited,) = (each["block"] for each in review["pages"][1]["blocks"] if each["change"] == "edited")
    assert {(each["page"], each["block"]) for each in review["proposed"]} == {("help/troubleshooting", edited)}
    texts = {each["source"]: each["text"] for each in review["proposed"]}
    assert texts["sarif"] == "Name it. (House.Words)"
    assert "```suggestion\n" in texts["vale"]
    assert "adds the wrong one" in texts["vale"]


def test_findings_that_are_not_understood_store_nothing(demo: CommandLine) -> None:
    ran = demo.run("review", "harbour-api/7", "--demo", "--import", "-", "--format", "sarif", input="{}")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "octavo: Could not read standard input as sarif: it has no runs.\n"
    unknown = reports_of("vale", "concepts/tide.md", 3, 1)
    ran = demo.run("review", "harbour-api/7", "--demo", "--import", "-", "--format", "vale", input=unknown)
    assert (ran.code, ran.out) == (6, "2 notes: 0 proposed, 2 not placed.\n")
    assert ran.err.splitlines()[0] == "octavo: concepts/tide.md:3: there is no page concepts/tide.md."


def test_change_request_is_exported_by_block(demo: CommandLine) -> None:
    whole = demo.run("review", "harbour-api/7", "--demo", "--json").json
    assert (whole["schema"], whole["change"]["ref"], whole["truncated"]) == ("octavo.review/1", "harbour-api/7", False)
    changed = demo.run("review", "harbour-api/7", "--demo", "--json", "--changed-only", "--page", "concepts/time").json
    (page,) = changed["pages"]
    edited, added = page["blocks"]
    assert (edited["change"], edited["words"][-2:]) == ("edited", [["del", "."], ["ins", ":"]])
    assert (added["change"], added["kind"], added["threads"]) == ("added", "code", ["t6"])
    (thread,) = (each for each in changed["threads"] if each["id"] == "t6")
    assert (thread["block"], thread["placed"], thread["page"]) == (added["block"], "exact", "concepts/time")
    assert {each["change"] for each in whole["pages"][0]["blocks"]} >= {"same", "edited", "added"}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["harbour-api/7"], 2, "Choose what to do"),
        (["harbour-api/7", "--dry-run"], 2, "it belongs to --import FILE"),
        (["harbour-api", "--json"], 2, "it is not a change request"),
        (["harbour-api/999", "--json"], 3, "Could not find change request 999"),
        (["harbour-api/7", "--json", "--page", "nope"], 3, "Could not find page nope"),
    ],
)
def test_wrong_arguments_are_named(demo: CommandLine, arguments: list[str], code: int, says: str) -> None:
    ran = demo.run("review", *arguments, "--demo")
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
