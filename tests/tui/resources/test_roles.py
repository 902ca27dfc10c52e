"""The roles of a person, and where they come from."""

from __future__ import annotations

from octavo.tui.resources.roles import Person, RoleScope, role_reason, role_sources

JUN = Person("jun", "Jun", "read", frozenset({"docs"}))
ADMIN = Person("ada", "Ada", "admin")
GUEST = Person("gus", "Gus", None)
HERE = "Saltmarsh"


def explain(person: Person, *chain: RoleScope) -> str:
    sources = role_sources(person, chain, HERE)
    return role_reason(person, chain, HERE, sources[0].role if sources else None)


def test_role_given_directly_is_named() -> None:
    space = RoleScope("api", "Payments API", member_roles={"jun": "create"})
    assert explain(JUN, space) == (
        "Jun can merge, review, edit, comment, and read in Payments API: Creator here, given directly to Jun."
    )


def test_role_through_a_team_is_named() -> None:
    space = RoleScope("api", "Payments API", teams={"docs": ("Docs", "comment"), "others": ("Others", "admin")})
    assert explain(JUN, space) == (
        "Jun can comment and read in Payments API: Commenter here through the team Docs, which includes Jun."
    )


def test_role_in_the_collection_through_a_team_is_named() -> None:
    chain = RoleScope("api", "Payments API"), RoleScope("product", "Product", teams={"docs": ("Docs", "edit")})
    assert explain(JUN, *chain) == (
        "Jun can edit, comment, and read in Payments API: Editor in the collection Product through the team Docs, which includes Jun."
    )


def test_role_in_an_outer_collection_is_named() -> None:
    chain = (
        RoleScope("api", "Payments API"),
        RoleScope("pay", "Pay"),
        RoleScope("all", "All", member_roles={"gus": "review"}),
    )
    assert explain(GUEST, *chain) == (
        "Gus can review, edit, comment, and read in Payments API: Reviewer in the collection All, which contains Pay, given directly to Gus."
    )


def test_inherited_role_of_the_organization_is_named() -> None:
    assert explain(JUN, RoleScope("api", "Payments API")) == (
        "Jun can read in Payments API: Reader in Saltmarsh, and this role is inherited here."
    )


def test_organization_role_is_limited_by_default_access() -> None:
    mara = Person("mara", "Mara", "create")
    assert explain(mara, RoleScope("api", "API", "comment")) == (
        "Mara can comment and read in API: Creator in Saltmarsh, but the default access here limits this role to Commenter."
    )
    assert explain(mara, RoleScope("api", "API"), RoleScope("pay", "Pay", "admin")) == (
        "Mara can merge, review, edit, comment, and read in API: Creator in Saltmarsh, "
        "and the default access of Pay allows roles up to Admin."
    )
    assert "API gives no default access" in explain(mara, RoleScope("api", "API", None))


def test_admin_always_has_access() -> None:
    assert explain(ADMIN, RoleScope("api", "API", None)) == (
        "Ada can administer, merge, review, edit, comment, and read in API: Admin in Saltmarsh, and Admins have access everywhere."
    )


def test_highest_role_counts_and_other_roles_are_listed() -> None:
    chain = (
        RoleScope("api", "API", member_roles={"jun": "comment"}),
        RoleScope("pay", "Pay", member_roles={"jun": "edit"}, teams={"docs": ("Docs", "create")}),
    )
    found = role_sources(JUN, chain, HERE)
    assert [(each.kind, each.role) for each in found] == [
        ("inherited from team", "create"),
        ("inherited", "edit"),
        ("direct", "comment"),
        ("organization", "read"),
    ]


def test_user_without_access_is_told_why() -> None:
    assert explain(GUEST, RoleScope("api", "API")) == (
        "Gus has no access to API. Gus is a Guest in Saltmarsh. Guests have only the roles that they have been given."
    )
    left = Person("jun", "Jun", "admin", is_disabled=True)
    assert explain(left, RoleScope("api", "API", member_roles={"jun": "edit"})) == (
        "Jun has no access to API. The account of Jun is disabled in Saltmarsh and has no access."
    )


def test_unexplained_role_has_no_explanation() -> None:
    chain = RoleScope("api", "API", None), RoleScope("pay", "Pay", load_error="You may not see it.")
    assert role_reason(JUN, chain, HERE, "edit") == (
        "Jun can edit, comment, and read in API as Editor. The server does not say where this role comes from. "
        "Could not load the roles given in Pay (You may not see it.)."
    )
    assert "what the role owner allows" in role_reason(JUN, chain, HERE, "owner")
