"""Forms are filled in, kept as drafts, rejected and sent."""

from __future__ import annotations

import sys
from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field
from textual.drivers.headless_driver import HeadlessDriver

from octavo.api import collections, invites, mcp_servers, organizations, redirects, site_structure, sites, teams
from octavo.api.operation import Operation, OrganizationRef, SiteRef
from octavo.api.text import Secret
from octavo.client.responses import Application
from octavo.tui.resources import resource
from octavo.tui.resources.form import FormDialog, open_form
from octavo.tui.resources.form_inputs import FieldRow
from octavo.tui.resources.form_state import FormRequest, SubmittedForm
from octavo.tui.resources.resource import ReferenceList
from octavo.tui.widgets.chooser import Choice
from tests.journeys.faulty_server import Fault
from tests.journeys.stage import Run, Stage
from tests.journeys.test_resources import open_table

NOOR = "noor-haddad"
AT = OrganizationRef(organization_id="saltmarsh")
DOCS = SiteRef(organization_id="saltmarsh", site_id="docs")
PEOPLE = ReferenceList(organizations.ListMembers(at=AT, limit=1000), lambda each: Choice(each.id, each.user.name))
SITE_SPACES = ReferenceList(site_structure.ListSiteSpaces(at=DOCS), lambda each: Choice(each.id, each.title))


class FormOpener:
    """Opens forms in a run, and keeps the requests that the forms sent."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.sent: list[tuple[Any, Any]] = []

    async def open(self, operation: type[Operation[Any]], **more: Any) -> FormDialog:
        keywords = {
            "title": "A form",
            "arguments": {"at": DOCS},
            "draft_name": f"form {operation.__qualname__}",
            **more,
        }

        def on_sent(sent: SubmittedForm) -> None:
            self.sent.append((sent.operation, sent.response))

        open_form(FormRequest(self.run.app, operation, on_sent=on_sent, **keywords))
        await self.run.settle()
        dialog = self.run.app.screen
        assert isinstance(dialog, FormDialog)
        return dialog

    async def settings(self) -> FormDialog:
        """Open the form with the settings of the site."""
        load = partial(self.run.app.session.live.fetch, sites.Get(at=DOCS))
        return await self.open(sites.Update, item=await load(), item_reader=load, draft_name="form site docs")


def focused_field(dialog: FormDialog) -> str:
    """Return the name of the field with the cursor. Empty if no field has the cursor."""
    assert dialog.focused is not None
    return next((each.field.name for each in dialog.focused.ancestors if isinstance(each, FieldRow)), "")


@pytest.mark.before_release
async def test_form_sends_only_changed_fields(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        form = FormOpener(run)
        await form.settings()
        await run.see("Saltmarsh Docs", "Audience", "public", "Adaptive content")
        await run.press("ctrl+s")
        await run.see("You have not changed anything.")
        assert not run.gate.sent(sites.Update)
        await run.press("ctrl+u", "x")
        await run.see("Title must have at least 2 characters.")
        await run.press("ctrl+s")
        await run.hear("Title must have at least 2 characters.")
        await run.press("ctrl+u", *"Sea and shore", "tab", "enter")
        await run.see("visitor authentication")
        await run.type("unlisted")
        await run.press("enter")
        await run.see("+ Audience", "unlisted", "2 fields changed")
        await run.press("ctrl+s")
        await run.gone("A form")
        (sent,) = run.gate.sent(sites.Update)
        assert sent.model_fields_set == {"at", "title", "visibility"}
        assert (sent.title, sent.visibility) == ("Sea and shore", "unlisted")
        assert form.sent[0][0] is sent
        assert form.sent[0][1].title == "Sea and shore"
        await form.settings()
        await run.see("Sea and shore")
        await run.gone("This is your draft")


@pytest.mark.before_release
async def test_field_with_an_unknown_value_is_sent_only_after_an_edit(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        form = FormOpener(run)
        await form.open(sites.Update)
        await run.see("Adaptive content      not set ▾")
        await run.press("ctrl+s")
        await run.see("You have not changed anything.")
        await run.press("tab", "tab", "tab", "space", "space", "ctrl+s")
        await run.gone("A form")
        assert form.sent[0][0].adaptive_content == sites.AdaptiveContent(enabled=False)
        assert form.sent[0][0].model_fields_set == {"at", "adaptive_content"}


@pytest.mark.before_release
async def test_form_text_is_kept_as_a_draft_after_esc_and_after_quitting(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        form = FormOpener(run)
        await form.settings()
        await run.press("ctrl+u", *"Q", "tab", "tab", "end", *"-2", "escape")
        await run.gone("A form")
        await form.settings()
        await run.see("This is your draft", "Title must have at least 2 characters.", "docs-2")
        await run.press("tab", "tab", "end", *"3")
        await run.quit()
    async with stage.play(NOOR, start="changes") as run:
        form = FormOpener(run)
        dialog = await form.settings()
        await run.see("docs-23")
        await run.press("ctrl+b")
        await run.see("  Title                 Saltmarsh Docs")
        await run.press("tab", "tab", "ctrl+b")
        assert dialog.state.parse().changed_fields == frozenset()
        await run.press("escape")
        assert not run.app.session.drafts.all()
        assert not run.gate.sent(sites.Update)


@pytest.mark.before_release
async def test_server_error_is_shown_at_its_field_and_text_is_kept(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes", size=(80, 24)) as run:
        form = FormOpener(run)
        dialog = await form.settings()
        await run.press("ctrl+u", *"Sea", "tab", "tab", "ctrl+u", *"sea")
        run.platform.refuse_next(sites.Update, 400, "basename is taken by another site.")
        await run.press("ctrl+s")
        await run.see("Basename is taken by another site.", "Sea")
        assert focused_field(dialog) == "basename"
        await run.press("end", *"-2")
        await run.gone("is taken")
        run.platform.refuse_next(sites.Update, 500, "The sea is rough.")
        await run.press("ctrl+s")
        await run.see("The sea is rough.", "sea-2")
        await run.press("ctrl+s")
        await run.gone("A form")
        assert form.sent[0][1].basename == "sea-2"


async def test_key_pressed_twice_sends_the_form_once(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        await FormOpener(run).open(teams.Create, arguments={"at": AT})
        await run.press(*"Divers")
        run.send_key("ctrl+s")
        run.send_key("ctrl+s")
        await run.gone("A form")
        assert len(run.gate.sent(teams.Create)) == 1


async def test_form_that_is_being_sent_is_not_opened_again(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "teams")
        await run.press("ctrl+n", *"Divers")
        run.gate.shut(teams.Create)
        await run.press("ctrl+s", "escape", "ctrl+n")
        await run.hear("The form “New team” is still being sent.")
        run.gate.open()
        await run.hear("Created Divers.")
        assert len(run.gate.sent(teams.Create)) == 1
        assert not run.app.session.drafts.all()


async def test_draft_of_a_form_that_may_be_sent_says_so(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "teams")
        for status, note in ((422, "It has not been sent."), (500, "The change may already have been made.")):
            await run.press("ctrl+n", "ctrl+u", *"Divers")
            run.platform.refuse_next(teams.Create, status, "The tide is too high.")
            await run.press("ctrl+s")
            await run.see("The tide is too high.")
            await run.press("escape", "ctrl+n")
            await run.see(f"This is your draft. {note}")
            await run.press("escape")


async def test_form_that_is_being_sent_while_octavo_quits_may_be_sent(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "teams")
        await run.press("ctrl+n", *"Divers")
        run.gate.shut(teams.Create)
        await run.press("ctrl+s")
        await run.see("Sending…")
        await run.quit()
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "teams")
        await run.press("ctrl+n")
        await run.see("This is your draft. The change may already have been made. Check the list")


async def test_failed_list_of_a_closed_picker_is_not_reported(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "teams")
        run.platform.refuse_next(organizations.ListMembers, 500, "The tide is too high.", times=9)
        run.gate.shut(organizations.ListMembers)
        await run.press("ctrl+n", "tab", "enter", "escape", "escape")
        run.gate.open()
        await run.settle()
        assert not run.said


async def test_form_cannot_be_edited_while_it_is_sent(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        form = FormOpener(run)
        dialog = await form.open(teams.Create, arguments={"at": AT})
        await run.press(*"Divers")
        run.gate.shut(teams.Create)
        run.platform.refuse_next(teams.Create, 403, "Not now.")
        run.send_key("ctrl+s")
        await run.until(lambda: run.gate.waiting > 0, "send the form")
        await run.pilot.press("x", "ctrl+e")
        await run.hear("The form is already being sent.")
        run.gate.open()
        await run.see("Not now.")
        assert dialog.state.texts["title"] == "Divers"
        assert focused_field(dialog) == "title"
        await run.press(*" two", "ctrl+s")
        await run.gone("A form")
        assert form.sent[0][0].title == "Divers two"


@pytest.mark.before_release
async def test_change_by_another_user_is_reported_before_sending(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        form = FormOpener(run)
        dialog = await form.settings()
        await run.press("ctrl+u", *"Mine")
        await run.ask(sites.Update(at=DOCS, title="Theirs", visibility="unlisted"), NOOR)
        await run.press("ctrl+s")
        await run.see("Someone else changed this field to “Theirs”. To use your value", "Mine", "unlisted")
        assert focused_field(dialog) == "title"
        assert not run.gate.sent(sites.Update)
        await run.press("ctrl+s")
        await run.gone("A form")
        (sent,) = run.gate.sent(sites.Update)
        assert sent.model_fields_set == {"at", "title"}
        assert (await run.ask(sites.Get(at=DOCS), NOOR)).visibility == "unlisted"
        dialog.state.set_text("title", "Later")
        dialog.state.save_draft_now()
        assert not run.app.session.drafts.all(), "a form that was sent must not be kept as an unsent draft"


async def test_edit_of_a_deleted_team_sends_nothing_and_keeps_the_text(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "teams")
        await run.press("e", "ctrl+u", *"Mine")
        await run.ask(teams.Delete(at=AT, team_id="software"), NOOR)
        await run.press("ctrl+s")
        await run.see("The item was deleted, or you lost access. Nothing was sent.", "Mine")
        assert not run.gate.sent(teams.Update)


async def test_draft_of_a_field_that_another_user_changed_shows_the_new_value(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        form = FormOpener(run)
        await form.settings()
        await run.press("ctrl+u", *"Mine", "escape")
        await run.ask(sites.Update(at=DOCS, title="Theirs", visibility="unlisted"), NOOR)
        await form.settings()
        await run.see("Mine", "This has changed since you typed your draft. It is now: “Theirs”", "1 field changed")
        await run.press("ctrl+s")
        await run.gone("A form")
        (sent,) = run.gate.sent(sites.Update)
        assert (sent.model_fields_set, sent.title) == ({"at", "title"}, "Mine")


async def test_secret_that_another_user_changed_is_not_shown(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        server = await run.ask(
            mcp_servers.Create(at=DOCS, name="Tides", url="https://sea.example", headers={"X-Key": "one"}), NOOR
        )
        at = {"at": DOCS, "site_mcp_server_id": server.id}
        load = partial(run.app.session.live.fetch, mcp_servers.Get(**at))
        await FormOpener(run).open(mcp_servers.Update, arguments=at, item=server, item_reader=load)
        await run.press("tab", "tab", "f7", "delete")
        await run.type("X-Key: mine")
        await run.ask(mcp_servers.Update(**at, headers={"X-Key": "s3cret"}), NOOR)
        await run.press("ctrl+s")
        await run.see("Someone else changed this field to a hidden value.")
        assert "s3cret" not in run.text


async def test_draft_of_a_secret_says_that_the_secret_may_have_changed(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        created = mcp_servers.Create(at=DOCS, name="Tides", url="https://sea.example", headers={"X-Key": "one"})
        server = await run.ask(created, NOOR)
        at = {"at": DOCS, "site_mcp_server_id": server.id}
        await FormOpener(run).open(mcp_servers.Update, arguments=at, item=server)
        await run.press("tab", "tab", "f7", "delete")
        await run.type("X-Key: mine")
        await run.press("escape")
        await FormOpener(run).open(mcp_servers.Update, arguments=at, item=server)
        await run.see("This may have changed since you typed your draft.", "1 field changed")


async def test_draft_does_not_store_secrets_that_the_user_has_not_changed(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        headers = {"X-Key": "s3cret"}
        created = mcp_servers.Create(at=DOCS, name="Tides", url="https://sea.example", headers=headers)
        server = await run.ask(created, NOOR)
        await FormOpener(run).open(mcp_servers.Update, arguments={"at": DOCS}, item=server)
        await run.press(*"Low t", "escape")
        (draft,) = run.app.session.drafts.all()
        assert "Low t" in draft.text
        assert "https://sea.example" in (draft.base or "")
        assert "s3cret" not in f"{draft.text}{draft.base}"


@pytest.mark.before_release
async def test_value_already_set_by_another_user_is_not_sent(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        form = FormOpener(run)
        await form.settings()
        await run.press("ctrl+u", *"Same")
        await run.ask(sites.Update(at=DOCS, title="Same"), NOOR)
        await run.press("ctrl+s")
        await run.see("You have not changed anything.")
        assert not run.gate.sent(sites.Update)


@pytest.mark.before_release
async def test_long_and_multiline_text_is_not_changed_by_the_form(stage: Stage) -> None:
    address = f"https://sea.example/{'x' * 1500}"
    server = mcp_servers.McpServer(id="m1", name="Tides\u202e", url=address, headers={"X": "y"})
    section = site_structure.SiteSection(id="s1", title="Tides", description="High\nand low")
    async with stage.play(NOOR, start="changes") as run:
        form = FormOpener(run)
        one = await form.open(mcp_servers.Update, arguments={"at": DOCS, "site_mcp_server_id": "m1"}, item=server)
        assert one.state.parse().changed_fields == frozenset()
        await run.press("tab", "end", "z")
        made = one.state.parse().operation
        assert isinstance(made, mcp_servers.Update)
        assert made.url == f"{address}z"
        await run.press("ctrl+b", "escape")
        two = await form.open(
            site_structure.UpdateSection, arguments={"at": DOCS, "site_section_id": "s1"}, item=section
        )
        assert two.state.parse().changed_fields == frozenset()
        await run.see("High", "and low")
        assert not run.app.session.drafts.all()


@pytest.mark.before_release
async def test_form_that_is_closed_while_sending_reports_the_error(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        form = FormOpener(run)
        await form.settings()
        await run.press("ctrl+u", *"Sea")
        run.gate.shut(sites.Update)
        run.platform.refuse_next(sites.Update, 400, "title is taken.")
        await run.press("ctrl+s")
        await run.see("Sending")
        await run.press("ctrl+s")
        await run.hear("The form is already being sent.")
        await run.press("escape")
        await run.gone("Custom path")
        run.gate.open()
        await run.hear("A form: title is taken. Your text is saved as a draft.")
        assert len(run.gate.sent(sites.Update)) == 1
        await form.settings()
        await run.see("Sea", "This is your draft")


@pytest.mark.before_release
async def test_references_are_chosen_from_a_list(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        form = FormOpener(run)
        await form.open(teams.Create, arguments={"at": AT}, reference_lists={"members": PEOPLE})
        await run.press(*"Divers", "tab", "enter")
        await run.see("Members · press esc to finish")
        await run.type("Mara Lindqvist")
        await run.press("enter")
        await run.see("SELECTED")
        await run.type("Priya Raman")
        await run.press("enter")
        await run.press("escape")
        await run.see("Mara Lindqvist, Priya Raman")
        await run.press("ctrl+s")
        await run.gone("A form")
        assert form.sent[0][0].members == ("mara-lindqvist", "priya-raman")
        assert form.sent[0][1].members == 2


@pytest.mark.before_release
async def test_typing_searches_a_list_that_is_too_long_to_load(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "MAX_ITEMS", 40)
    some = ReferenceList(
        organizations.ListMembers(at=AT, limit=20),
        lambda each: Choice(each.id, each.user.name),
        search_operation=lambda words: organizations.ListMembers(at=AT, search=words, limit=20),
    )
    async with stage.play(NOOR, start="sites") as run:
        form = FormOpener(run)
        await form.open(teams.Create, arguments={"at": AT}, reference_lists={"members": some})
        await run.press(*"Divers", "tab", "enter")
        await run.see("first 40 shown · type to find more")
        await run.gone("Noor Haddad")
        await run.type("noor hadd")
        await run.see("Noor Haddad")
        await run.press("enter", "escape")
        await run.see("[ Noor Haddad ▾ ]")
        await run.press("ctrl+s")
        await run.gone("A form")
        assert form.sent[0][0].members == (NOOR,)


@pytest.mark.before_release
async def test_list_whose_second_page_fails_shows_the_first_page_and_the_error(stage: Stage) -> None:
    def behind(platform: Application) -> Application:
        async def respond(scope: Any, receive: Any, send: Any) -> None:
            await (Fault(403).answer(send) if b"page=" in scope["query_string"] else platform(scope, receive, send))

        return respond

    some = ReferenceList(organizations.ListMembers(at=AT, limit=20), lambda each: Choice(each.id, each.user.name))
    async with stage.play(NOOR, start="sites", behind=behind) as run:
        form = FormOpener(run)
        await form.open(teams.Create, arguments={"at": AT}, reference_lists={"members": some})
        await run.press(*"Divers", "tab", "enter")
        await run.see("Could not load all items: The harbour master says no.", "first 20 shown")
        await run.gone("type to find more")
        await run.press("enter", "escape")
        await run.press("ctrl+s")
        await run.gone("A form")
        assert len(form.sent[0][0].members) == 1


class UnusualFields(Operation[None], put="/users/me", repeats_request=True):
    """A request with kinds of fields that no real request has."""

    at: SiteRef
    day: date | None = None
    """First day."""
    key: Annotated[str, Field(min_length=4), Secret()] | None = None
    tides: tuple[Literal["spring", "neap"], ...] | None = None
    live: bool | None = None


@pytest.mark.before_release
async def test_dates_secrets_and_choices_have_their_own_inputs(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        form = FormOpener(run)
        dialog = await form.open(UnusualFields)
        await run.see("First day · for example 2026-11-23 or 2026-11-23T18:30Z")
        await run.press(*"soon", "tab")
        await run.see("Day must be a date, for example 2026-11-23.")
        await run.press(*"s3cret")
        await run.see("••••••")
        assert "s3cret" not in run.text
        await run.press("ctrl+r")
        await run.see("s3cret")
        await run.press("tab", "enter")
        await run.type("neap")
        await run.press("enter", "enter", "escape", "tab", "space", "space")
        await run.see("neap, spring", "[ no ▾ ]", "4 fields changed")
        await run.press("space")
        await run.see("[ not set ▾ ]", "3 fields changed")
        await run.press("ctrl+s")
        assert focused_field(dialog) == "day"
        await run.press("ctrl+u", *"2026-11-24", "ctrl+s")
        (sent,) = run.gate.sent(UnusualFields)
        assert (sent.day, sent.key, sent.tides) == (date(2026, 11, 24), "s3cret", ("neap", "spring"))


@pytest.mark.before_release
async def test_choice_shows_the_fields_that_belong_to_it(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes", size=(80, 24)) as run:
        form = FormOpener(run)
        dialog = await form.open(redirects.Create, reference_lists={"destination.site_space_id": SITE_SPACES})
        await run.see("Source", "Destination", "Kind")
        await run.gone("Site space", "Page")
        await run.press(*"/old", "tab", "enter")
        await run.type("page")
        await run.press("enter")
        await run.see("Site space", "Page")
        await run.press("ctrl+s")
        await run.see("Site space is required.", "Page is required.")
        assert focused_field(dialog) == "destination.site_space_id"
        await run.press("shift+tab", "enter")
        await run.type("space on")
        await run.press("enter", "tab", "enter", "enter", "ctrl+s")
        await run.gone("A form")
        sent = form.sent[0][0]
        assert (sent.source, sent.destination.kind) == ("/old", "site-space")
        await form.open(redirects.Create)
        await run.see("Source")
        assert run.app.screen.query_one(FieldRow).text == ""


@pytest.mark.before_release
async def test_secrets_are_hidden_until_revealed(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        form = FormOpener(run)
        await form.open(mcp_servers.Create)
        await run.press(*"Tides", "tab", *"https://sea.example", "tab")
        await run.type("Authorization: Bearer s3cret\nX-Shore: west")
        await run.see("Authorization: •••••• ••••••", "X-Shore: ••••")
        assert "s3cret" not in run.text
        await run.press("ctrl+r")
        await run.see("Authorization: Bearer s3cret")
        await run.press("ctrl+s")
        await run.gone("A form")
        assert form.sent[0][0].headers == {"Authorization": "Bearer s3cret", "X-Shore": "west"}


EDITOR = """#!{python}
import sys
from pathlib import Path
path = Path(sys.argv[-1])
Path({seen!r}).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
path.write_text(Path({next!r}).read_text(encoding="utf-8"), encoding="utf-8")
"""


async def test_form_is_edited_as_yaml_and_invalid_yaml_is_kept(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HeadlessDriver, "can_suspend", True)
    seen, following, program = tmp_path / "seen", tmp_path / "next", tmp_path / "editor"
    program.write_text(EDITOR.format(python=sys.executable, seen=str(seen), next=str(following)))
    program.chmod(0o700)
    async with stage.play(NOOR, start="changes", editor=(str(program),)) as run:
        form = FormOpener(run)
        await form.settings()
        await run.press("ctrl+u", *"Sea", "tab")
        wrong = "title: Shore\nvisibility: unlisted\nproxy: [a, b]\n"
        following.write_text(wrong)
        await run.press("ctrl+e")
        assert "# Title · 2 to 128 characters\ntitle: Sea\n" in seen.read_text()
        assert "adaptiveContent:\n" in seen.read_text()
        await run.see("Line 3: proxy must be a single value. Press ctrl+e to correct the YAML.", "Sea")
        await run.press("ctrl+s")
        await run.hear("Line 3: proxy must be a single value")
        assert not run.gate.sent(sites.Update)
        await run.press("escape")
        await form.settings()
        await run.see("Line 3: proxy must be a single value.")
        following.write_text("title: Shore\nvisibility: unlisted\nproxy: nowhere\n")
        await run.press("ctrl+e")
        assert seen.read_text() == wrong
        await run.see("Shore", "unlisted", "Custom path must be a host and a path, for example")
        assert not list((stage.folder / "state" / "editing").iterdir())
        following.write_text("title: Shore\nvisibility: unlisted\nproxy: null\nsomething: else\n")
        await run.press("ctrl+e")
        await run.see("Line 4: Unknown name “something”.")
        following.write_text("")
        await run.press("ctrl+e")
        await run.gone("Line 4")
        await run.see("unlisted")
        following.write_text("title: Shore\n# visibility: unlisted\n")
        await run.press("ctrl+e")
        await run.gone("Line 4", "Custom path must be")
        await run.press("ctrl+s")
        await run.gone("A form")
        assert form.sent[0][0].model_fields_set == {"at", "title"}


@pytest.mark.before_release
async def test_lost_response_is_checked_and_nothing_is_sent_again(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        form = FormOpener(run)
        await form.settings()
        await run.press("ctrl+u", *"Sea")

        async def lose_response(op: Operation[Any]) -> Any:
            from octavo.api.errors import Lost

            answer = await send(op)
            if isinstance(op, sites.Update):
                raise Lost("The connection broke.")
            return answer

        send, run.gate._send = run.gate._send, lose_response  # The connection breaks after the write.
        await run.press("ctrl+s")
        await run.gone("A form")
        assert len(run.gate.sent(sites.Update)) == 1
        assert form.sent[0][1] is None
        await form.open(teams.Create, arguments={"at": AT})
        run.platform.refuse_next(teams.Create, 502, "Nobody knows.")
        await run.press(*"Divers", "ctrl+s")
        await run.see("Nobody knows.", "Check the list before you send the form again.")
        assert run.text.count("The change may") == 1
        assert "Try again in a moment" not in run.text
        assert len(run.gate.sent(teams.Create)) == 1


@pytest.mark.before_release
async def test_object_field_shows_an_example(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        form = FormOpener(run)
        await form.open(mcp_servers.Create)
        await run.see("YAML or JSON, for example:", "  Authorization: Bearer YOUR_TOKEN")
        await run.press("escape")
        await form.open(organizations.Update, arguments={"at": AT})
        await run.see("type: rules", "- rule: require_at_least_one_approved_review")


@pytest.mark.before_release
async def test_empty_form_creates_nothing_and_names_missing_fields(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await run.see("Sites · 1")
        await run.press("ctrl+n")
        await run.see("New site")
        await run.press("ctrl+s")
        await run.see("Title is required.")
        assert not run.gate.sent(sites.Create)
        await run.press("escape", "6")
        for kind, said in (("invite links", "Fill in at least one field."), ("collections", "Title is required.")):
            await open_table(run, kind)
            await run.press("ctrl+n")
            await run.see("Create  (ctrl+s)")
            await run.press("ctrl+s")
            await run.see(said)
            await run.press("escape")
        assert not run.gate.sent(invites.CreateLink)
        assert not run.gate.sent(collections.Create)
        await open_table(run, "translations")
        await run.press("ctrl+n")
        await run.see("Source language", "Target language")
