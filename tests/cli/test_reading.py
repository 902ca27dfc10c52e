"""`octavo inbox`, `show`, `diff` and `search`: what they print on a terminal and in a pipe."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from octavo.api import comments, spaces
from octavo.api.content import PageReference
from octavo.api.errors import ApiError
from octavo.api.operation import OrganizationRef
from octavo.cli.arguments import build_parser
from octavo.cli.commands.search import Search
from octavo.cli.comparisons import items_of_page
from octavo.cli.item_rows import find_thread
from octavo.cli.output import Row
from octavo.cli.refs import RefResolver
from octavo.cli.standard_streams import Failure
from octavo.documents.page_trees import ChangedPage
from octavo.server.handlers.search import PAGES_OF_SPACE
from tests.cli.command_process import CommandLine
from tests.journeys.conftest import library, stage
from tests.journeys.stage import MARA, Stage

__all__ = ["library", "stage"]


@pytest.fixture(scope="module")
def demo(library: Path, tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    return CommandLine(tmp_path_factory.mktemp("home")).with_demo(library)


def test_inbox_lists_what_needs_you_with_reasons(demo: CommandLine) -> None:
    ran = demo.run("inbox", "--demo", "--json", "ref,kind,reasons,title,thread")
    first = ran.json[0]
    assert (ran.code, first["ref"], first["reasons"]) == (0, "harbour-api/7", ["review-requested"])
    thread = next(each for each in ran.json if each["kind"] == "thread")
    assert thread["ref"].endswith(f"@{thread['thread']}")
    only = demo.run("inbox", "--demo", "--reason", "changes-requested", "--reason", "on-my-work", "-s", "harbour-api")
    assert {line.split("\t")[1] for line in only.out.splitlines()} == {"changes requested", "on your change request"}


@pytest.mark.before_release
def test_inbox_in_a_terminal_is_a_table(demo: CommandLine) -> None:
    with demo.terminal("inbox", "--demo", columns=90) as shown:
        assert shown.end() == 0
        lines = [line.rstrip() for line in shown.look().splitlines() if line.strip()]
    assert lines[0].split() == ["REF", "WHY", "TITLE", "FROM", "UPDATED"]
    assert max(map(len, lines)) <= 90


def test_spaces_are_listed_with_the_names_that_commands_take(demo: CommandLine) -> None:
    ran = demo.run("spaces", "--demo")
    rows = [line.split("\t") for line in ran.out.splitlines()]
    assert (ran.code, [row[0] for row in rows]) == (0, ["harbour-api", "limpet", "stations", "handbook"])
    for name, title, *_ in rows:
        assert demo.run("show", "--demo", name, "--json", "title").json["title"] == title
    first = demo.run("spaces", "--demo", "--limit", "1", "--json", "ref,changesOpen")
    assert [each["ref"] for each in first.json] == ["harbour-api"]
    assert first.err == "octavo: Showing 1 of 4. Use --limit 4 or --all.\n"


def test_threads_of_all_spaces_are_listed_newest_first(demo: CommandLine) -> None:
    rows = demo.run("threads", "--demo", "--all", "--json", "ref,space,status,author,at,change").json
    times = [each["at"] for each in rows]
    assert times == sorted(times, reverse=True)
    assert {each["status"] for each in rows} == {"open"}
    assert {each["space"]["title"] for each in rows} == {"Harbour API", "Limpet manual", "Station register", "Handbook"}
    assert any(each["change"] is not None for each in rows)
    spaces = demo.run("spaces", "--demo", "--json", "ref,threadsOpen").json
    for each in spaces:
        in_space = [row for row in rows if row["ref"].startswith(f"{each['ref']}@")]
        assert len(in_space) == each["threadsOpen"]


def test_threads_are_filtered_by_place_status_and_author(demo: CommandLine) -> None:
    def refs(*arguments: str) -> set[str]:
        return {each["ref"] for each in demo.run("threads", "--demo", "--all", *arguments, "--json", "ref").json}

    opened, resolved, both = refs(), refs("--status", "resolved"), refs("--status", "all")
    assert opened | resolved == both
    assert not opened & resolved
    assert refs("-s", "handbook") == {ref for ref in opened if re.match("handbook[@/]", ref)}
    own = demo.run("threads", "--demo", "--all", "--status", "all", "--author", "@me", "--json", "ref,author").json
    assert {each["author"] for each in own} == {"Mara Lindqvist"}
    assert {each["ref"] for each in own} < both
    page = refs("harbour-api:concepts/water-levels")
    assert page
    assert page < opened
    assert demo.run("threads", "--demo", "harbour-api:no/such").code == 3
    first = demo.run("threads", "--demo", "harbour-api", "--all", "--json", "ref,page,block").json[0]
    assert refs(first["ref"]) == {first["ref"]}
    assert first["ref"] in refs(f"harbour-api:{first['page']['path']}@{first['block']}")


def test_inbox_uses_the_filters_of_the_settings(demo: CommandLine) -> None:
    config = demo.folder / "config" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(
        '[inbox."my replies"]\nreasons = ["new replies"]\nspace = "handbook"\n[inbox.API]\nspace = "harbour api"\n'
    )
    ran = demo.run("inbox", "--demo", "--filter", "my replies", "-s", "handbook", "--json", "reasons")
    by_title = demo.run("inbox", "--demo", "--filter", "API", "--json", "space")
    config.unlink()
    assert ran.json
    assert {each["space"]["title"] for each in by_title.json} == {"Harbour API"}
    assert all("new-replies" in each["reasons"] for each in ran.json)
    unknown = demo.run("inbox", "--demo", "--filter", "nothing")
    assert (unknown.code, unknown.out) == (2, "")
    assert "Unknown filter 'nothing'." in unknown.err


async def test_thread_is_not_called_missing_after_a_failed_request(stage: Stage) -> None:
    async with stage.play() as run:
        resolver = RefResolver(run.app.session, build_parser("show").parse_args(["show", "nothing"]))
        with pytest.raises(Failure, match="Could not find thread nothing"):
            await find_thread(resolver, "nothing")
        run.platform.refuse_next(comments.Get, 503, "Down for maintenance", times=200)
        with pytest.raises(ApiError, match="Down for maintenance"):
            await find_thread(resolver, "nothing")


def test_show_prints_change_requests_pages_and_threads(demo: CommandLine) -> None:
    change = demo.run("show", "harbour-api/7", "--demo")
    assert change.code == 0
    assert "\x1b" not in change.out
    for part in ("harbour-api/7  Show what a refused time looks like", "✓ Noor Haddad approved", "~ concepts/time"):
        assert part in change.out
    page = demo.run("show", "harbour-api:concepts/time", "--demo", "--raw")
    assert page.out.startswith("# Time and time zones\n")
    assert "Why so strict" in demo.run("show", "harbour-api:concepts/time", "--demo", "--outline").out
    thread = demo.run("show", "t6", "--demo", "--json").json
    assert (thread["ref"], thread["page"]["path"], thread["change"]) == ("harbour-api/7@t6", "concepts/time", 7)
    assert demo.run("show", "@mara", "--demo", "--json").json["name"] == "Mara Lindqvist"
    assert demo.run("show", "handbook", "--demo", "--json").json["title"] == "Handbook"
    assert "harbour-api/7@t6  open  concepts/time" in demo.run("show", "harbour-api/7", "--threads", "--demo").out


def test_show_json_has_the_chosen_fields(demo: CommandLine) -> None:
    page = demo.run("show", "harbour-api/7:concepts/time", "--demo", "--json", "ref,outline,threads,markdown").json
    assert page["ref"] == "harbour-api/7:concepts/time"
    assert {"level": 2, "title": "Why so strict", "anchor": "why-so-strict"} in page["outline"]
    assert page["threads"] == [{"id": "t6", "status": "open"}]
    assert "bad-time" in page["markdown"]
    swallowed = demo.run("show", "--demo", "--json", "harbour-api/7")
    assert swallowed.code == 2


@pytest.mark.before_release
def test_show_in_a_terminal_uses_the_pager(demo: CommandLine) -> None:
    with demo.terminal(
        "show", "harbour-api:concepts/time", "--demo", environ={"OCTAVO_PAGER": "sed s/Why/WHY/"}
    ) as shown:
        assert shown.end() == 0
        assert "WHY so strict" in b"".join(each.data for each in shown.chunks).decode()
    with demo.terminal("show", "harbour-api/7", "--demo", "--no-pager", environ={"PAGER": "false"}) as shown:
        assert shown.end() == 0
        assert "refused time" in shown.look()


@pytest.mark.parametrize(
    ("ref", "code", "said"),
    [
        ("nope/7", 3, "Could not find the space nope."),
        ("handbook:guides/stup", 3, "Could not find page guides/stup in Handbook."),
        ("harbour-api:concepts/tim", 3, "Did you mean concepts/time?"),
        ("harbour-api/999", 3, "Could not find change request 999 in Harbour API."),
        ("harbour-api@t999", 3, "Could not find thread t999 in harbour-api."),
        ("harbour-api@..", 3, "Could not find thread .. in harbour-api."),
        ("../../etc", 3, "Could not find the space ../../etc."),
        ("handbook/99999999999999999999", 3, "Could not find the space handbook/99999999999999999999."),
        ("7", 2, "a number needs a space"),
        ("@nobody-here", 3, "Could not find the user"),
    ],
)
def test_show_of_a_missing_ref_names_the_ref(demo: CommandLine, ref: str, code: int, said: str) -> None:
    ran = demo.run("show", ref, "--demo")
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


def test_diff_marks_words_in_a_pipe(demo: CommandLine) -> None:
    ran = demo.run("diff", "harbour-api/7", "--demo")
    assert ran.code == 0
    assert "~ concepts/time  Time and time zones  +18 −0" in ran.out
    assert "drops the zone{+, and something else adds a wrong one+}." in ran.out
    assert "{++}" not in ran.out
    assert "[--]" not in ran.out
    assert "\x1b" not in ran.out


async def test_space_is_found_with_and_without_accents(stage: Stage) -> None:
    async with stage.play() as run:
        at = OrganizationRef(organization_id="saltmarsh")
        for title in ("Notes: Büro", "Café", "Cafe"):
            await run.ask(spaces.Create(at=at, title=title), MARA)
        options = build_parser("show").parse_args(["show", "handbook"])
        typed_names = ("notes-büro", "notes-buro", "Notes: Buro", "hàndbook", "café", "cafe")
        found = [(await RefResolver(run.app.session, options).space(name)).title for name in typed_names]
        assert found == ["Notes: Büro", "Notes: Büro", "Notes: Büro", "Handbook", "Café", "Cafe"]
        with pytest.raises(Failure, match="Could not choose a space: 2 spaces are called càfe"):
            await RefResolver(run.app.session, options).space("càfe")


async def test_path_of_a_page_selects_no_page_with_the_same_title(stage: Stage) -> None:
    pages = [PageReference(id="p1", title="setup", path="intro"), PageReference(id="p2", title="Start", path="setup")]
    items = tuple(ChangedPage(each.id, each.title, (), each) for each in pages)
    async with stage.play() as run:
        resolver = RefResolver(run.app.session, build_parser("show").parse_args(["show", "handbook"]))
        target = await resolver.resolve("handbook")
        assert await items_of_page(resolver, target, items, "setup") == items[1:]
        assert await items_of_page(resolver, target, items, "Start") == items[1:]


@pytest.mark.before_release
def test_diff_on_a_terminal_is_rendered(demo: CommandLine) -> None:
    with demo.terminal("diff", "harbour-api/7", "--demo", "--no-pager") as shown:
        assert shown.end() == 0
        out = b"".join(each.data for each in shown.chunks).decode()
    assert "{+" not in out
    assert "something else" in shown.look()


def test_raw_diff_can_be_applied_by_patch(demo: CommandLine, tmp_path: Path) -> None:
    before = demo.run("show", "harbour-api:concepts/time", "--demo", "--raw").out
    after = demo.run("show", "harbour-api/7:concepts/time", "--demo", "--raw").out
    file = tmp_path / "concepts" / "time.md"
    file.parent.mkdir()
    file.write_text(before.rstrip("\n"))
    patch = demo.run("diff", "harbour-api/7", "concepts/time", "--demo", "--raw").out
    subprocess.run(["patch", "-p1"], input=patch, cwd=tmp_path, text=True, check=True, capture_output=True)
    assert file.read_text() == after.rstrip("\n")


def test_raw_diff_ends_lines_only_at_line_feeds(demo: CommandLine, tmp_path: Path) -> None:
    assert demo.run("pull", "handbook", "docs", "--demo", cwd=tmp_path).code == 0
    docs, file = tmp_path / "docs", tmp_path / "docs" / "people" / "first-week.md"
    before = file.read_text(encoding="utf-8")
    after = f"{before}\nOne\u2028two\n"
    file.write_text(after, encoding="utf-8")
    patch = demo.run("diff", "--raw", cwd=docs).out
    file.write_text(before, encoding="utf-8")
    subprocess.run(["patch", "-p1"], input=patch.encode(), cwd=docs, check=True, capture_output=True)
    assert file.read_text(encoding="utf-8") == after


def test_raw_diff_of_a_file_whose_name_has_spaces_can_be_applied_by_patch(demo: CommandLine, tmp_path: Path) -> None:
    assert demo.run("pull", "handbook", "docs", "--demo", cwd=tmp_path).code == 0
    file = tmp_path / "docs" / "our plan" / "next year.md"
    file.parent.mkdir()
    file.write_text("# Next year\n\nMore.\n")
    patch = demo.run("diff", "--raw", cwd=tmp_path / "docs").out
    file.unlink()
    subprocess.run(["patch", "-p1"], input=patch, cwd=tmp_path / "docs", text=True, check=True, capture_output=True)
    assert file.read_text() == "# Next year\n\nMore.\n"


def test_diff_has_short_forms_and_an_exit_code(demo: CommandLine) -> None:
    names = demo.run("diff", "harbour-api/7", "--demo", "--name-only", "--exit-code")
    assert (names.code, names.out) == (1, "concepts/time\nhelp/troubleshooting\n")
    assert demo.run("diff", "harbour-api/7", "--demo", "--stat").out.startswith("concepts/time         +18 −0\n")
    same = demo.run("diff", "harbour-api/7", "glossary", "--demo", "--exit-code")
    assert (same.code, same.out) == (0, "")
    assert demo.run("diff", "harbour-api/7", "no/such/page", "--demo").code == 3
    not_reviewed = demo.run("diff", "harbour-api/7", "--against", "my-review", "--demo")
    assert not_reviewed.code == 3
    assert "you have not reviewed it" in not_reviewed.err


def test_diff_as_json_is_the_review_object(demo: CommandLine) -> None:
    ran = demo.run("diff", "harbour-api/7", "--demo", "--json", "--exit-code")
    assert ran.code == 1
    assert list(ran.json) == ["schema", "change", "pages", "files", "truncated"]
    assert (ran.json["schema"], ran.json["change"]["ref"]) == ("octavo.review/1", "harbour-api/7")
    page = ran.json["pages"][0]
    assert (page["path"], page["change"], page["added"], page["removed"]) == ("concepts/time", "edited", 18, 0)
    assert [each["change"] for each in page["blocks"]] == ["edited", "added"]
    review = demo.run("review", "harbour-api/7", "--demo", "--json", "--changed-only", "--page", "concepts/time").json
    assert review["pages"] == [page]
    assert list(review) == ["schema", "change", "pages", "files", "threads", "findings", "truncated"]
    since = demo.run(
        "diff", "harbour-api/7", "help/troubleshooting", "--against", "main", "--demo", "--json", "pages"
    ).json
    assert [each["path"] for each in since["pages"]] == ["help/troubleshooting"]


@pytest.mark.parametrize("name", ["über-uns", "uber-uns", "Über uns", "uber uns"])
def test_page_is_found_with_and_without_accents(demo: CommandLine, tmp_path: Path, name: str) -> None:
    (tmp_path / "README.md").write_text("# Home\n", "utf-8")
    (tmp_path / "über-uns.md").write_text("# Über uns\n", "utf-8")
    (tmp_path / "ubersicht.md").write_text("# Übersicht\n", "utf-8")
    (space,) = demo.run("spaces", "--folder", str(tmp_path), "--json", "ref").json
    shown = demo.run("show", f"{space['ref']}:{name}", "--folder", str(tmp_path), "--json", "title,path").json
    assert shown == {"title": "Über uns", "path": "uber-uns"}


def test_diff_names_the_home_page_by_its_title(library: Path, tmp_path: Path) -> None:
    demo = CommandLine(tmp_path).with_demo(library)
    home = demo.run("api", "content.ListPages", "spaceId=handbook", "--demo").json["pages"][0]
    request = demo.run("api", "change_requests.Create", "spaceId=handbook", "subject=x", "--demo").json
    edit = {"operation": "update_page", "page": home["id"], "document": {"markdown": "# Handbook\n\nHello.\n"}}
    at = ("spaceId=handbook", f"changeRequestId={request['id']}")
    demo.run("api", "content.Edit", *at, f"changes:={json.dumps([edit])}", "--demo")
    assert home["path"] == ""
    for option in ((), ("--stat",)):
        shown = demo.run("diff", f"handbook/{request['number']}", *option, "--demo").out
        assert home["id"] not in shown
        assert "Handbook  " in shown


def test_search_in_a_new_folder_waits_until_its_pages_are_indexed(demo: CommandLine, tmp_path: Path) -> None:
    for number in range(80):
        (tmp_path / f"page-{number}.md").write_text(f"# Page {number}\n\n" + "## Tide\n\nhigh water\n\n" * 20)
    found = demo.run("search", "tide", "--folder", str(tmp_path), "--all", "--json", "kind").json
    assert [each["kind"] for each in found] == ["page"] * len(found)
    assert found


def test_search_finds_text_that_was_just_added_to_a_folder(demo: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Notes\n\nTides.\n", "utf-8")
    assert demo.run("search", "tides", "--folder", str(tmp_path), "--json", "kind").json
    (tmp_path / "README.md").write_text("# Notes\n\nTides and zebrafish.\n", "utf-8")
    assert demo.run("search", "zebrafish", "--folder", str(tmp_path), "--json", "kind").json


def test_search_finds_pages_comments_and_change_requests(demo: CommandLine) -> None:
    pages = demo.run("search", "webhook", "--demo", "--json", "ref,kind,score").json
    assert pages[0]["ref"] == "harbour-api:how-to/guides/webhooks"
    assert [each["score"] for each in pages] == sorted((each["score"] for each in pages), reverse=True)
    comments = demo.run("search", "--in", "comments", "straight", "quotes", "--demo", "--json", "ref").json
    assert comments == [{"ref": "harbour-api/7@t6"}]
    offline = demo.run("search", "--in", "comments", "--offline", "straight", "quotes", "--demo", "--json", "ref").json
    assert offline == comments
    changes = demo.run("search", "--in", "changes", "battery", "--demo", "--json", "ref").json
    assert changes == [{"ref": "limpet/2"}]


@pytest.mark.parametrize("arguments", [("-s", "harbour-api", "time"), ("time",)])
async def test_search_for_all_results_reads_every_page(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    async with stage.play() as run:

        async def search(limit: str = "--all") -> list[Row]:
            options = build_parser("search").parse_args(["search", *arguments, limit, "--json", "ref"])
            options.sink = []
            await Search(run.app.session, options).print()
            return list(options.sink)

        whole = await search()
        monkeypatch.setattr("octavo.cli.commands.search.PAGE_LIMIT", 1)
        assert await search() == whole
        assert await search("--limit=2") == whole[:2]
    assert len(whole) > 2


@pytest.mark.parametrize("limit", [("--all",), ("--limit", "1000")], ids=" ".join)
def test_search_for_all_results_lists_all_pages_of_each_space(demo: CommandLine, limit: tuple[str, ...]) -> None:
    found = demo.run("search", "tide", *limit, "--demo", "--json", "ref").json
    for space in ("stations", "harbour-api"):
        pages = demo.run("search", "tide", "--all", "-s", space, "--demo", "--json", "ref").json
        assert [each for each in found if each["ref"].startswith(f"{space}:")] == pages
        assert len(pages) > PAGES_OF_SPACE or space != "stations"


@pytest.mark.parametrize("command", [("changes",), ("search", "--in", "changes", "zebrafish")], ids=" ".join)
def test_change_request_of_a_space_that_is_not_cached_yet_is_listed(
    library: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    demo = CommandLine(tmp_path).with_demo(library)
    assert demo.run("changes", "--demo").code == 0  # caches the spaces
    space = demo.run("api", "spaces.Create", "organizationId=saltmarsh", "title=Slipway", "--demo").json["id"]
    request = demo.run("api", "change_requests.Create", f"spaceId={space}", "subject=Zebrafish", "--demo").json["id"]
    at = (f"spaceId={space}", f"changeRequestId={request}")
    assert demo.run("api", "change_requests.Update", *at, "status=open", "--demo").code == 0
    listed = demo.run(*command, "--demo", "--json", "ref,space").json
    assert {"ref": "slipway/1", "space": {"id": space, "title": "Slipway"}} in listed


def test_ref_of_a_search_result_is_unique_among_all_spaces(library: Path, tmp_path: Path) -> None:
    demo = CommandLine(tmp_path).with_demo(library)
    for text in ("first", "second"):
        space = demo.run("api", "spaces.Create", "organizationId=saltmarsh", "title=Slipway", "--demo").json["id"]
        request = demo.run("api", "change_requests.Create", f"spaceId={space}", "subject=x", "--demo").json["id"]
        page = {"operation": "insert_page", "title": text, "document": {"markdown": "The zebrafish swims."}}
        at = (f"spaceId={space}", f"changeRequestId={request}")
        changes = json.dumps([page])
        assert demo.run("api", "content.Edit", *at, f"changes:={changes}", "--demo").code == 0
        assert demo.run("api", "change_requests.Merge", *at, "--demo").code == 0
    (found,) = demo.run("search", "zebrafish", "-s", space, "--demo", "--json", "ref,title").json
    assert demo.run("show", found["ref"], "--demo", "--json", "space").json["space"]["id"] == space


def test_search_without_results_suggests_a_word(demo: CommandLine) -> None:
    ran = demo.run("search", "webhok", "--demo")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "octavo: No results for “webhok”. Did you mean “webhooks”?\n"
    assert demo.run("search", "webhok", "--demo", "--json").out == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("search", " "), 2, "Could not search: there are no words."),
        (("search", "x" * 513), 2, "Could not search: use at most 512 characters."),
        (("diff", "harbour-api/7", "--against", ""), 2, "'' is no id of a revision."),
        (("show", "harbour-api:concepts/time", "--revision", "../x"), 2, "'../x' is no id of a revision."),
        (("show", "harbour-api/7", "--revision", "x"), 2, "Could not use --revision: it needs a page"),
        (("show", "harbour-api:concepts/time", "--raw", "--json"), 2, "use --raw without --json and --jq"),
        (("diff", "harbour-api/7", "--name-only", "--json"), 2, "--json and --jq do not go with --stat"),
        (("diff", "harbour-api/7", "--raw", "-q", ".pages"), 2, "--json and --jq do not go with --stat"),
        (("show", "harbour-api", "--raw"), 2, "Could not use --raw: it needs a page"),
        (("pull", "handbook", "docs", "--revision", ".."), 2, "'..' is no id of a revision."),
        (("changes", "--author", ""), 3, "Could not find the user ."),
    ],
)
def test_impossible_value_is_refused(demo: CommandLine, arguments: tuple[str, ...], code: int, said: str) -> None:
    ran = demo.run(*arguments, "--demo")
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
