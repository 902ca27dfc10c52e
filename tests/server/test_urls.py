"""Targets of pasted links to the app."""

from __future__ import annotations

from octavo.api import change_requests, collections, spaces, urls
from octavo.server.rest import RequestContext
from tests.server.small_platform import ACME, Ask, check_refused, space_with


async def test_urls_of_the_app_are_resolved_to_their_targets(ask: Ask) -> None:
    collection = await ask(collections.Create(at=ACME, title="Manuals"))
    assert (await ask(urls.GetContent(url=collection.urls.app or ""))).collection == collection
    space = await space_with(ask, one="# One", two="# Two")
    app = space.urls.app or ""
    named = await ask(urls.GetContent(url=app))
    assert (named.space and named.space.id, named.page, named.change_request) == (space.id, None, None)
    at_page = await ask(urls.GetContent(url=f"{app}/two?q=1#part"))
    assert at_page.page is not None
    assert at_page.page.id == "two"
    change_request = await ask(change_requests.Create(at=space.ref, subject="Better"))
    proposed = await ask(urls.GetContent(url=f"{change_request.urls.app}/two"))
    assert (proposed.change_request and proposed.change_request.id) == change_request.id
    assert (proposed.page and proposed.page.id, proposed.space and proposed.space.id) == ("two", space.id)


async def test_urls_of_the_hosted_app_are_resolved(ask: Ask) -> None:
    space = await space_with(ask, one="# One")
    for path in (f"s/{space.id}", f"spaces/{space.id}", f"o/acme/s/{space.id}/pages/one"):
        named = await ask(urls.GetContent(url=f"https://app.gitbook.com/{path}"))
        assert named.space is not None
        assert named.space.id == space.id


async def test_url_without_a_target_is_not_resolved(ask: Ask, context: RequestContext) -> None:
    space = await space_with(ask, one="# One")
    app = f"{context.origin}/o/acme"
    for url in (
        f"{app}/s/none",
        f"{app}/c/none",
        f"{app}/s/{space.id}/none",
        f"{app}/s/{space.id}/~/changes/9",
        app,
        f"{app}/s/{space.id}%2Frevisions%2F{space.revision}",
        f"{app}/c/%00",
        f"{app}/s/{space.id}/%2F%ff",
    ):
        await check_refused(ask(urls.GetContent(url=url)), 404)
    below = f"{app}/s/{space.id}/guides/none"
    assert "no page at “guides/none”" in await check_refused(ask(urls.GetContent(url=below)), 404)
    assert "link to this server" in await check_refused(ask(urls.GetContent(url="https://elsewhere.example/s/x")), 400)
    await check_refused(ask(urls.GetContent(url=space.urls.app or ""), "eve"), 404)
    await ask(spaces.Delete(at=space.ref))
    await check_refused(ask(urls.GetContent(url=space.urls.app or "")), 404)


async def test_space_has_the_url_of_its_repository(ask: Ask, context: RequestContext) -> None:
    space = await space_with(ask, one="# One")
    assert "not synced" in await check_refused(ask(spaces.GetGitInfo(at=space.ref)), 404)
    state = {"repoName": "acme/docs", "installationProvider": "github", "url": "https://git.example/acme/docs"}
    context.store.update(f"/spaces/{space.id}", gitSync=state)
    found = await ask(spaces.GetGitInfo(at=space.ref))
    assert (found.repo_name, found.installation_provider, found.url) == tuple(state.values())
    await check_refused(ask(spaces.GetGitInfo(at=space.ref), "eve"), 404)
