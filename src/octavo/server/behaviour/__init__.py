"""What operations with a mind of their own do, one module per subject."""


def load() -> None:
    """Let every subject register what answers its operations. A platform does so when it is built."""
    # Here and not above: each of them needs this package before it is there.
    from octavo.server.behaviour import (  # noqa: F401
        access,
        change_requests,
        collections,
        comments,
        content,
        editing,
        invites,
        members,
        organizations,
        reviews,
        search,
        spaces,
        system,
        teams,
        users,
    )
