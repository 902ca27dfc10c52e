"""Reasons why commands on resources are not available."""

from __future__ import annotations

from octavo.api import redirects, share_links, sites
from octavo.tui.resources.resource_commands import frozen_feature_reason


def test_frozen_feature_names_the_required_plan() -> None:
    site = sites.Site(
        id="s",
        title="Docs",
        features=(sites.Feature(id="sites-redirects", plan="premium", frozen=True), sites.Feature(id="sites-seo")),
    )
    assert frozen_feature_reason(site, redirects.Create) == (
        "The plan of “Docs” no longer includes redirects. Upgrade the site to the premium plan."
    )
    assert frozen_feature_reason(site, share_links.Create) is None, "the server does not report this feature"
