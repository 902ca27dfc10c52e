"""What operations with a mind of their own do, one module per subject."""


def load() -> None:
    """Let every subject register what answers its operations. A platform does so when it is built."""
    # Here and not above: each of them needs this package before it is there.
    from octavo.server.behaviour import (  # noqa: F401
        access,
        adaptive_schema,
        change_requests,
        collections,
        comments,
        content,
        editing,
        fonts,
        importing,
        invites,
        links,
        mcp_servers,
        members,
        openapi_specs,
        organizations,
        pdf,
        redirects,
        reviews,
        search,
        share_links,
        site_permissions,
        site_search,
        site_structure,
        sites,
        spaces,
        sso,
        storage,
        subdomains,
        system,
        teams,
        translations,
        urls,
        users,
    )
