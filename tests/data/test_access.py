from __future__ import annotations

from octavo.data.access import Person, Place, highest, sentence, ways

JUN = Person("jun", "Jun", "read", frozenset({"docs"}))
ADMIN = Person("ada", "Ada", "admin")
GUEST = Person("gus", "Gus", None)
HERE = "Saltmarsh"


def said(person: Person, *chain: Place) -> str:
    return sentence(person, chain, HERE, highest(ways(person, chain, HERE)))


def test_a_role_given_right_here() -> None:
    space = Place("api", "Payments API", people={"jun": "create"})
    assert said(JUN, space) == (
        "Jun may merge, review, edit, comment and read in Payments API: creator right here, given to Jun directly."
    )


def test_a_role_by_a_team() -> None:
    space = Place("api", "Payments API", teams={"docs": ("Docs", "comment"), "others": ("Others", "admin")})
    assert said(JUN, space) == (
        "Jun may comment and read in Payments API: commenter right here by the team Docs, of which Jun is a member."
    )


def test_a_role_in_the_collection_around_by_a_team() -> None:
    chain = Place("api", "Payments API"), Place("product", "Product", teams={"docs": ("Docs", "edit")})
    assert said(JUN, *chain) == (
        "Jun may edit, comment and read in Payments API: editor of the collection Product by the team Docs, of which Jun is a member."
    )


def test_a_role_in_a_collection_further_up() -> None:
    chain = Place("api", "Payments API"), Place("pay", "Pay"), Place("all", "All", people={"gus": "review"})
    assert said(GUEST, *chain) == (
        "Gus may review, edit, comment and read in Payments API: reviewer of the collection All, in which Pay lies, given to Gus directly."
    )


def test_the_role_in_the_organization() -> None:
    assert said(JUN, Place("api", "Payments API")) == (
        "Jun may read in Payments API: reader of Saltmarsh, whose roles count here."
    )


def test_the_role_in_the_organization_is_let_in_as_far_as_the_default_level() -> None:
    mara = Person("mara", "Mara", "create")
    assert said(mara, Place("api", "API", "comment")) == (
        "Mara may comment and read in API: creator of Saltmarsh, but its default level lets nobody in for more than commenter."
    )
    assert said(mara, Place("api", "API"), Place("pay", "Pay", "admin")) == (
        "Mara may merge, review, edit, comment and read in API: creator of Saltmarsh, "
        "and the default level of Pay, in which it lies, lets in up to administrator."
    )
    assert "lets nobody in for that" in said(mara, Place("api", "API", None))


def test_an_administrator_is_never_kept_out() -> None:
    assert said(ADMIN, Place("api", "API", None)) == (
        "Ada may administer, merge, review, edit, comment and read in API: administrator of Saltmarsh, whom no default level keeps out."
    )


def test_the_highest_counts_and_the_others_are_told_after_it() -> None:
    chain = (
        Place("api", "API", people={"jun": "comment"}),
        Place("pay", "Pay", people={"jun": "edit"}, teams={"docs": ("Docs", "create")}),
    )
    found = ways(JUN, chain, HERE)
    assert [(each.sort, each.role) for each in found] == [
        ("inherited by team", "create"),
        ("inherited", "edit"),
        ("direct", "comment"),
        ("organization", "read"),
    ]


def test_who_has_none_is_told_why() -> None:
    assert said(GUEST, Place("api", "API")) == (
        "Gus may not see API. Gus is a guest of Saltmarsh: only what is given to them counts."
    )
    left = Person("jun", "Jun", "admin", disabled=True)
    assert said(left, Place("api", "API", people={"jun": "edit"})) == (
        "Jun may not see API. Jun is disabled in Saltmarsh, and may do nothing there."
    )


def test_a_role_nobody_can_explain_is_not_explained() -> None:
    chain = Place("api", "API", None), Place("pay", "Pay", unread="You may not see it.")
    assert sentence(JUN, chain, HERE, "edit") == (
        "Jun may edit, comment and read in API: editor there. The server does not say where that comes from. "
        "It is not known who was given a role in Pay (You may not see it.)."
    )
    assert "what the role owner allows" in sentence(JUN, chain, HERE, "owner")
