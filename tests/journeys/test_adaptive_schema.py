"""The adaptive schema of a site is edited in a form, which reports errors with their position, and conditions are
tested with claims."""

from __future__ import annotations

import json

import pytest

from octavo.api import adaptive_schema
from octavo.server.demo.library import SITE
from tests.journeys.stage import Stage
from tests.journeys.test_resources import open_table
from tests.journeys.test_space_management import NOOR

SCHEMA = {
    "type": "object",
    "properties": {"plan": {"type": "string", "description": "What they pay for", "enum": ["pro", "free"]}},
    "additionalProperties": False,
}


@pytest.mark.before_release
async def test_schema_errors_show_their_position_and_claims_test_conditions(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await run.see("Sites · 1")
        await run.press("enter")
        view = run.app.screen
        assert view.table_list.go_to("adaptive schema")  # type: ignore[attr-defined]  # The screen is the resource browser.
        await run.see("No adaptive schema.")
        await run.press("ctrl+n")
        await run.see("New adaptive schema")
        await run.type('{"type": "object",\n "properties": {"plan": }, ]')
        await run.see("Line 2, column ")
        await run.press("ctrl+b")
        await run.type(
            '{"type": "object", "additionalProperties": false,\n "properties": {\n  "plan": {"type": "strange"}}}'
        )
        await run.see("Line 3, column 3: Properties.plan")
        await run.press("ctrl+b")
        await run.type(json.dumps(SCHEMA))
        await run.press("ctrl+s")
        await run.see("plan", "What they pay for")
        assert (await run.ask(adaptive_schema.Get(at=SITE), NOOR)).json_schema == SCHEMA
        await run.press("ctrl+n")
        await run.hear("The adaptive schema already exists. Press e to edit it.")
        await open_table(run, "conditions")
        view.rows.focus()  # type: ignore[attr-defined]  # The screen is the resource browser.
        await run.press("enter")
        await run.see(
            "Test a condition", 'visitor.claims.plan == "pro"', "False: visitors with these claims do not see"
        )
        await run.type('{"plan": "pro"}')
        await run.see("True: visitors with these claims see the content.")
        await run.press("end", "backspace")
        await run.see("Could not read the claims. Line 1, column 1")
        await run.type("}")
        await run.press("shift+tab", "end", *" &&")
        await run.see("Character 32: A value is missing at the end")
        await run.press("escape", "enter")
        await run.see("True: visitors with these claims see the content.")  # Octavo keeps the claims.
