from __future__ import annotations

from octavo.api import organizations, subdomains
from octavo.api.operation import OrganizationRef
from octavo.server.rest import RequestContext, iso
from tests.server.small_platform import ACME, START, Ask, check_refused


async def test_subdomain_resolves_to_its_organization(ask: Ask) -> None:
    await ask(organizations.Update(at=ACME, hostname="acme-docs"))
    found = await ask(subdomains.Get(subdomain="acme-docs"), "sam")
    assert (found.subdomain, found.target.type, found.target.organization) == ("acme-docs", "organization", "acme")
    assert found.is_active


async def test_unknown_subdomain_is_not_found(ask: Ask) -> None:
    await ask(organizations.Update(at=ACME, hostname="acme-docs"))
    sentence = await check_refused(ask(subdomains.Get(subdomain="other")), 404)
    assert sentence == "There is no subdomain “other” here, or you do not have access."
    await check_refused(ask(subdomains.Get(subdomain="acme-docs"), "eve"), 404)
    for name in ("ab", "x" * 33, "-ab", "ab-", "Acme", "a_b"):
        answer = await ask.http("GET", f"/v1/subdomains/{name}")
        assert (answer.status_code, answer.json()["error"]["message"].split()[0]) == (400, "subdomain")


async def test_hostname_is_unique(ask: Ask, context: RequestContext) -> None:
    await ask(organizations.Update(at=ACME, hostname="acme-docs"))
    context.store.put("/orgs/north", {"id": "north", "title": "North", "createdAt": iso(START)})
    context.store.put("/orgs/north/members/mia", {"id": "mia", "role": "admin", "joinedAt": iso(START)})
    north = OrganizationRef(organization_id="north")

    for taken in ("acme-docs", "acme"):
        sentence = await check_refused(ask(organizations.Update(at=north, hostname=taken), "mia"), 400)
        assert sentence == f"The subdomain {taken} is already taken. Choose another."
    await ask(organizations.Update(at=ACME, hostname="acme-docs"))
    await ask(organizations.Update(at=ACME, hostname="acme"))
    await ask(organizations.Update(at=north, hostname="acme-docs"), "mia")
    assert (await ask(subdomains.Get(subdomain="acme-docs"), "mia")).target.organization == "north"


def test_embedded_organization_is_accepted() -> None:
    whole = {
        "subdomain": "acme",
        "target": {"type": "organization", "organization": {"object": "organization", "id": "o"}},
    }
    assert subdomains.Subdomain.model_validate(whole).target.organization == "o"
