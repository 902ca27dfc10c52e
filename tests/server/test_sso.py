from __future__ import annotations

from typing import Any

import pytest

from octavo.api import sso, teams
from octavo.api.sso import SamlProvider
from tests.server.small_platform import ACME, START, Ask, check_refused

KNOWN: dict[str, Any] = {
    "entity_id": "https://idp.example/" + "e" * 400,
    "certificate": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "sso_url": "https://idp.example/sso",
}


async def _create(ask: Ask, label: str = "Okta", **fields: Any) -> SamlProvider:
    return await ask(sso.CreateProvider.model_validate({"at": ACME, "label": label, **fields}))


async def test_saml_provider_is_pending_until_complete(ask: Ask) -> None:
    made = await _create(ask)
    assert (made.status, made.entity_id, made.certificate, made.sso_url) == ("pending", "", "", "")
    assert ask.last.json()["ssoURL"] == "about:blank", "what must be an address is one"
    assert (made.default_role, made.created_at) == (None, START)
    assert made.service.acs_url.startswith("http://octavo.test/")
    assert made.urls.location == f"http://octavo.test/v1/orgs/acme/saml/{made.id}"
    update = sso.UpdateProvider.model_validate({"at": ACME, "saml_provider_id": made.id, **KNOWN})
    active = await ask(update)
    assert (active.status, active.label, active.entity_id) == ("active", "Okta", KNOWN["entity_id"])
    assert active.certificate == KNOWN["certificate"]
    assert await ask(sso.GetProvider(at=ACME, saml_provider_id=made.id)) == active
    back = await ask(sso.UpdateProvider(at=ACME, saml_provider_id=made.id, certificate=""))
    assert back.status == "pending"


async def test_active_providers_are_offered_as_logins(ask: Ask) -> None:
    await _create(ask, "Later")
    active = await _create(ask, **KNOWN)
    logins = await ask(sso.ListLogins(at=ACME), "sam")
    assert [(each.id, each.label, each.start_url) for each in logins.items] == [
        (active.id, "Okta", active.service.start_url)
    ]
    assert set(ask.last.json()) == {"items"}


async def test_provider_has_a_default_team(ask: Ask) -> None:
    team = await ask(teams.Create(at=ACME, title="Newcomers"))
    made = await _create(ask, default_team=team.id, default_role="edit")
    assert made.default_role == "edit"
    assert made.default_team == team
    guests = await ask(sso.UpdateProvider(at=ACME, saml_provider_id=made.id, default_role=None))
    assert guests.default_role is None
    await ask(teams.Delete(at=ACME, team_id=team.id))
    assert (await ask(sso.GetProvider(at=ACME, saml_provider_id=made.id))).default_team is None
    sentence = await check_refused(_create(ask, default_team="nobody"), 404)
    assert sentence == "There is no team “nobody” here, or you do not have access."


async def test_saml_provider_is_deleted(ask: Ask) -> None:
    made, kept = await _create(ask), await _create(ask, "Entra")
    delete = sso.DeleteProvider(at=ACME, saml_provider_id=made.id)
    await ask(delete)
    await ask(delete)
    assert (await ask(sso.ListProviders(at=ACME))).items == (kept,)
    sentence = await check_refused(ask(sso.GetProvider(at=ACME, saml_provider_id=made.id)), 404)
    assert sentence == f"There is no SAML provider “{made.id}” here, or you do not have access."


async def test_list_of_providers_is_paged(ask: Ask) -> None:
    made = [await _create(ask, label) for label in "abc"]
    first = await ask(sso.ListProviders(at=ACME, limit=2))
    assert first.next is not None
    rest = await ask(sso.ListProviders(at=ACME, limit=2, page=first.next.page))
    assert (*first.items, *rest.items) == tuple(made)


async def test_providers_need_admin_permission(ask: Ask) -> None:
    made = await _create(ask)
    for op in (
        sso.ListProviders(at=ACME),
        sso.GetProvider(at=ACME, saml_provider_id=made.id),
        sso.CreateProvider(at=ACME, label="Mine"),
        sso.UpdateProvider(at=ACME, saml_provider_id=made.id, label="Mine"),
        sso.DeleteProvider(at=ACME, saml_provider_id=made.id),
    ):
        assert "need the Admin role" in await check_refused(ask(op, "mia"), 403)
    await check_refused(ask(sso.ListLogins(at=ACME), "eve"), 404)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "label is required."),
        ({"label": ""}, "label must have at least 1 character."),
        ({"label": "x" * 31}, "label may have at most 30 characters."),
        ({"label": "x", "entityID": "x" * 1025}, "entityID may have at most 1024 characters."),
        ({"label": "x", "certificate": "x" * 10001}, "certificate may have at most 10000 characters."),
        ({"label": "x", "ssoURL": "https://x/" + "x" * 2048}, "ssoURL may have at most 2048 characters."),
        ({"label": "x", "ssoURL": "javascript:x"}, "ssoURL must be a link"),
        ({"label": "x", "defaultRole": "king"}, "defaultRole must be one of"),
        ({"label": "x", "certificate": None}, "certificate cannot be null."),
    ],
)
async def test_values_beyond_the_limits_of_a_provider_are_refused(
    ask: Ask, body: dict[str, Any], sentence: str
) -> None:
    answer = await ask.http("POST", "/v1/orgs/acme/saml", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(sentence)
