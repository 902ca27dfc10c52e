from __future__ import annotations

from octavo.api import organizations, subdomains
from tests.server.asking import ACME, Ask, refused


async def test_the_hostname_of_an_organization_leads_to_it(ask: Ask) -> None:
    await ask(organizations.Update(at=ACME, hostname="acme-docs"))
    found = await ask(subdomains.Get(subdomain="acme-docs"), "sam")
    assert (found.subdomain, found.target.type, found.target.organization) == ("acme-docs", "organization", "acme")
    assert found.is_active


async def test_others_lead_nowhere(ask: Ask) -> None:
    await ask(organizations.Update(at=ACME, hostname="acme-docs"))
    sentence = await refused(ask(subdomains.Get(subdomain="other")), 404)
    assert sentence == "There is no subdomain “other” here, or you may not see it."
    await refused(ask(subdomains.Get(subdomain="acme-docs"), "eve"), 404)
    for name in ("ab", "x" * 33, "-ab", "ab-", "Acme", "a_b"):
        answer = await ask.http("GET", f"/v1/subdomains/{name}")
        assert (answer.status_code, answer.json()["error"]["message"].split()[0]) == (400, "subdomain")


def test_an_organization_may_come_as_a_whole() -> None:
    whole = {
        "subdomain": "acme",
        "target": {"type": "organization", "organization": {"object": "organization", "id": "o"}},
    }
    assert subdomains.Subdomain.model_validate(whole).target.organization == "o"
