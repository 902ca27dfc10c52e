from __future__ import annotations

import pytest

from octavo.api import comments, organizations
from octavo.api.operation import SpaceRef, load
from octavo.server import handlers, rest
from octavo.server.rest import Refusal
from tests.server.small_platform import Ask

LISTING = comments.List(at=SpaceRef(space_id="s"))
NUMBERS = [(number, {"id": f"k{number}"}) for number in range(1, 8)]


def _ids(answer: dict[str, list[dict[str, str]]]) -> list[str]:
    return [item["id"] for item in answer["items"]]


def _next(op: comments.List, answer: dict[str, dict[str, str]]) -> comments.List:
    return op.model_copy(update={"page": answer["next"]["page"]})


def test_list_has_pages_and_the_last_has_no_next() -> None:
    op = LISTING.model_copy(update={"limit": 3})
    pages, answer = [], rest.paginate(op, NUMBERS)
    while "next" in answer:
        pages.append(_ids(answer))
        op = _next(op, answer)
        answer = rest.paginate(op, NUMBERS)
    assert [*pages, _ids(answer)] == [["k1", "k2", "k3"], ["k4", "k5", "k6"], ["k7"]]
    assert answer["count"] == 7


def test_full_last_page_has_no_next() -> None:
    assert "next" not in rest.paginate(LISTING.model_copy(update={"limit": 7}), NUMBERS)


def test_list_has_fifty_items_by_default() -> None:
    answer = rest.paginate(LISTING, [(number, {"id": "k"}) for number in range(51)])
    assert (len(answer["items"]), answer["count"]) == (50, 51)


def test_limit_zero_returns_only_the_count() -> None:
    assert rest.paginate(LISTING.model_copy(update={"limit": 0}), NUMBERS) == {"items": [], "count": 7}


@pytest.mark.parametrize("descending", [False, True])
def test_cursor_stays_consistent_while_items_change(descending: bool) -> None:
    op = LISTING.model_copy(update={"limit": 3})
    ordered = NUMBERS[::-1] if descending else NUMBERS
    first = rest.paginate(op, ordered, is_descending=descending)
    later = [*ordered[:1], *ordered[3:]]  # The last items of the first page were deleted.
    extra = [(0, {"id": "new"})] if descending is False else [(9, {"id": "new"})]
    second = rest.paginate(_next(op, first), extra + later, is_descending=descending)
    assert _ids(second) == (["k4", "k3", "k2"] if descending else ["k4", "k5", "k6"])


@pytest.mark.parametrize("cursor", ["!", "x", "W10", "ImEi", "bnVsbA", "é", "W1tbW1s" * 40])
def test_invalid_cursor_is_refused_with_a_sentence(cursor: str) -> None:
    with pytest.raises(Refusal, match="page does not name a page in this list") as refused:
        rest.paginate(LISTING.model_copy(update={"page": cursor}), NUMBERS)
    assert refused.value.status == 400


def test_only_items_of_the_page_are_presented() -> None:
    shown: list[str] = []
    rest.paginate(LISTING.model_copy(update={"limit": 2}), NUMBERS, lambda item: shown.append(item["id"]))
    assert shown == ["k1", "k2"]


async def test_limit_of_a_list_is_0_to_1000(ask: Ask) -> None:
    for limit, sentence in (("1001", "limit may be at most 1000."), ("-1", "limit must be at least 0.")):
        answer = await ask.http("GET", f"/v1/orgs?limit={limit}")
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, sentence)
    assert (await ask.http("GET", "/v1/orgs?limit=x")).status_code == 400


def test_undocumented_null_is_refused() -> None:
    at = {"organization_id": "acme"}
    op = organizations.Update.model_validate({"at": at, "title": None})
    with pytest.raises(Refusal, match="title cannot be null"):
        rest.request_fields(op)
    assert rest.request_fields(organizations.Update.model_validate({"at": at, "logo": None})) == {"logo": None}


def test_every_operation_has_a_handler() -> None:
    handlers.load()
    left = []
    for op, spec in load().items():
        handler = rest.handle.dispatch(op)
        if handler is rest.handle.dispatch(object):
            shown = spec.method == "DELETE" or spec.response_type in rest.PRESENTERS
            answered = shown and (spec.method == "GET" or op in rest.GUARDS)
        else:
            answered = handler is not rest.list_documents or rest.item_type_of(spec.response_type) in rest.PRESENTERS
        if not answered:
            left.append(spec.name)
    assert left == []
