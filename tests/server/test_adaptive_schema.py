from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from octavo.api import adaptive_schema
from octavo.api.adaptive_schema import VisitorSchema
from octavo.api.operation import SiteRef
from tests.server.sample_sites import create_site
from tests.server.small_platform import Ask, Clock, check_refused

BETA = {"type": "boolean", "description": "Tests what is new"}
SCHEMA: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "$id": "https://acme.example/visitor",
    "type": "object",
    "properties": {
        "isBeta": BETA,
        "plan": {"type": "string", "description": "What they pay for", "enum": ["pro", 'the "big" one']},
        "company": {"type": "string", "description": "Where they work"},
        "seats": {"type": "number", "description": "How many they pay for"},
        "products": {"type": "array", "description": "What they use", "items": {"type": "string", "enum": ["api"]}},
        "teams": {"type": "array", "description": "Where they are", "items": {"type": "string"}},
        "unsigned": {
            "type": "object",
            "description": "Unsigned claims of the site visitor.",
            "properties": {"likes-dark": {"type": "boolean", "description": "Likes it dark"}},
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}


def _schema(**claims: Any) -> dict[str, Any]:
    return {"type": "object", "properties": claims, "additionalProperties": False}


async def _written(ask: Ask, at: SiteRef, schema: dict[str, Any] = SCHEMA) -> adaptive_schema.AdaptiveSchema:
    return await ask(adaptive_schema.Update(at=at, json_schema=VisitorSchema.model_validate(schema)))


async def test_schema_is_stored_unchanged(ask: Ask, clock: Clock) -> None:
    at = await create_site(ask)
    sentence = await check_refused(ask(adaptive_schema.Get(at=at)), 404)
    assert sentence == "There is no adaptive schema here yet. Create one first."
    written = await _written(ask, at)
    assert (written.json_schema, written.updated_at) == (SCHEMA, clock.moment)
    assert ask.last.json()["object"] == "site-adaptive-schema"
    assert await ask(adaptive_schema.Get(at=at)) == written
    clock.forward(hours=1)
    anew = await _written(ask, at, _schema(isBeta=BETA))
    assert (anew.json_schema, anew.updated_at) == (_schema(isBeta=BETA), clock.moment)


async def test_schema_provides_conditions(ask: Ask) -> None:
    at = await create_site(ask)
    assert (await ask(adaptive_schema.ListTemplateConditions(at=at))).items == ()
    await _written(ask, at)
    given = (await ask(adaptive_schema.ListTemplateConditions(at=at))).items
    assert [(each.description, each.condition) for each in given] == [
        ("Tests what is new", "visitor.claims.isBeta"),
        ("What they pay for: pro", 'visitor.claims.plan == "pro"'),
        ('What they pay for: the "big" one', 'visitor.claims.plan == "the \\"big\\" one"'),
        ("Where they work", 'visitor.claims.company != ""'),
        ("How many they pay for", "visitor.claims.seats > 0"),
        ("What they use: api", 'visitor.claims.products.includes("api")'),
        ("Where they are", "visitor.claims.teams.length > 0"),
        ("Likes it dark", 'visitor.claims.unsigned["likes-dark"]'),
    ]


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ({}, "jsonSchema.type is required."),
        ({"type": "array", "properties": {}, "additionalProperties": False}, "jsonSchema.type must be 'object'"),
        ({"type": "object", "properties": {}}, "jsonSchema.additionalProperties is required."),
        ({**_schema(), "additionalProperties": True}, "jsonSchema.additionalProperties must be False"),
        ({**_schema(), "$schema": "https://json-schema.org/draft/2020-12/schema"}, "jsonSchema.$schema must be draft-07"),
        ({**_schema(), "required": ["a"]}, "jsonSchema.required is not valid: extra inputs are not permitted."),
        (_schema(a={"type": "boolean"}), "jsonSchema.properties.a is not valid: every claim needs a"),
        (_schema(a={"type": "null", "description": "d"}), "jsonSchema.properties.a must have 'type' set to one of"),
        (_schema(a={"description": "d"}), "jsonSchema.properties.a must contain 'type'"),
        (_schema(a={**BETA, "default": True}), "jsonSchema.properties.a.default is not valid"),
        (_schema(a={"type": "string", "description": "d", "enum": []}), "jsonSchema.properties.a.enum must have"),
        (_schema(a={"type": "string", "description": "d", "enum": None}), "jsonSchema.properties.a.enum must be a list."),
        (_schema(a={"type": "array", "description": "d"}), "jsonSchema.properties.a.items is required."),
        (_schema(a={"type": "object", "description": "d", "properties": {}}), "jsonSchema.properties.a.additional"),
        (
            _schema(a={"type": "object", "description": "d", "properties": {"b": {"type": "number"}},
                       "additionalProperties": False}),
            "jsonSchema.properties.a.properties.b is not valid",
        ),
        (_schema(unsigned=BETA), "jsonSchema.properties is not valid: unsigned must be an object"),
    ],
)  # fmt: skip
async def test_schema_outside_the_subset_is_refused(ask: Ask, schema: dict[str, Any], sentence: str) -> None:
    at = await create_site(ask)
    url = f"/v1/orgs/acme/sites/{at.site_id}/adaptive-schema"
    answer = await ask.http("PUT", url, json={"jsonSchema": schema})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(sentence)
    with pytest.raises(ValidationError):
        VisitorSchema.model_validate(schema)


async def test_admins_write_the_schema_and_members_read_it(ask: Ask) -> None:
    at = await create_site(ask)
    op = adaptive_schema.Update(at=at, json_schema=VisitorSchema.model_validate(SCHEMA))
    assert "need the Admin role" in await check_refused(ask(op, "mia"), 403)
    await ask(op)
    assert (await ask(adaptive_schema.Get(at=at), "sam")).json_schema == SCHEMA
    assert len((await ask(adaptive_schema.ListTemplateConditions(at=at), "sam")).items) == 8
    for hidden in (op, adaptive_schema.Get(at=at), adaptive_schema.ListTemplateConditions(at=at)):
        await check_refused(ask(hidden, "eve"), 404)


async def test_schema_of_an_unknown_site_is_not_found(ask: Ask) -> None:
    nowhere = SiteRef(organization_id="acme", site_id="nowhere")
    for op in (adaptive_schema.Get(at=nowhere), adaptive_schema.ListTemplateConditions(at=nowhere)):
        assert "no site “nowhere”" in await check_refused(ask(op), 404)
