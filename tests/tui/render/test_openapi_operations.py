"""OpenAPI operations on a page show the method and the whole path, even if the specification is not available."""

from __future__ import annotations

import pytest

from octavo.documents.openapi import Specification
from octavo.documents.source_reader import parse
from octavo.tui.render.deferred import OperationQuery
from octavo.tui.render.layout import lay_out, render_block
from octavo.tui.render.layout_context import LayoutContext, ViewState
from octavo.tui.render.openapi import render_operation_details
from octavo.tui.render.styles import Styles

PATH = "/organizations/{organizationId}/a-very-long-part-of-it/sites/{siteId}/share-links/{shareLinkId}"
FORMS = {
    "operation": f'{{% openapi-operation spec="pets" path="{PATH}" method="delete" %}}\n{{% endopenapi-operation %}}',
    "swagger": f'{{% swagger src="../.gitbook/assets/a.yaml" path="{PATH}" method="delete" %}}\n[a](a)\n{{% endswagger %}}',
    "openapi": f'{{% openapi src="https://a.example/b.json" path="{PATH}" method="delete" %}}\n{{% endopenapi %}}',
    "inline": f'{{% swagger method="delete" path="{PATH}" baseUrl="" summary="S" %}}\n{{% endswagger %}}',
    "oldest": f'{{% api-method method="delete" host="" path="{PATH}" %}}\n{{% endapi-method %}}',
}


def without_frame(rows: list[str]) -> str:
    """Return the text of rows without frames and spaces."""
    return "".join("".join(row.split()).strip("│╭╮╰╯─") for row in rows)


@pytest.mark.parametrize("width", [20, 34, 46, 76, 100, 160])
@pytest.mark.parametrize("form", FORMS)
def test_unreadable_operation_shows_its_method_and_url(form: str, width: int) -> None:
    lines = lay_out(parse(FORMS[form]).blocks, width, Styles.plain())
    assert max(line.width for line in lines) <= width
    text = without_frame([line.text for line in lines])
    assert text.startswith("DELETE")
    assert PATH in text


@pytest.mark.parametrize("width", [34, 76])
def test_operations_of_a_file_are_listed_with_their_whole_paths(width: int) -> None:
    query = OperationQuery(Specification({"paths": {PATH: {"get": {}}, "/short": {"post": {}}}}), "file")
    lines = render_operation_details(LayoutContext(Styles.plain(), ViewState(), render_block), query, None, width)
    assert without_frame([line.text for line in lines]) == f"GET{PATH}POST/short"
    assert max(line.width for line in lines) <= width


def test_cause_is_shown_for_the_first_of_several_operations() -> None:
    operation = '{% openapi-operation spec="" path="/pets" method="get" %}\n{% endopenapi-operation %}\n\n'
    for markdown in (operation * 3, f"> {operation.strip()}\n>\n> {operation}".replace("\n{", "\n> {")):
        text = "\n".join(line.text for line in lay_out(parse(markdown).blocks, 76, Styles.plain()))
        assert text.count("/pets") > 1
        assert text.count("This block does not name an OpenAPI specification.") == 1
    apart = "\n".join(
        line.text for line in lay_out(parse(f"{operation}Then.\n\n{operation}").blocks, 76, Styles.plain())
    )
    assert apart.count("This block does not name an OpenAPI specification.") == 2


def test_parameters_of_a_place_share_a_heading() -> None:
    places = ["query", "path", "query", "header", "path"]
    parameters = [
        f'{{% swagger-parameter in="{place}" name="p{number}" type="string" %}}\n{{% endswagger-parameter %}}\n'
        for number, place in enumerate(places)
    ]
    response = '{% swagger-response status="200" %}\n{% endswagger-response %}\n'
    page = f'{{% swagger method="get" path="/a" %}}\n{"".join([*parameters, response])}{{% endswagger %}}'
    lines = lay_out(parse(page).blocks, 76, Styles.plain())
    rows = [text for line in lines if (text := line.text.strip("│╭╮╰╯─ "))]
    assert rows == [
        "GET  /a",
        *("QUERY PARAMETERS", "p0  string", "p2  string"),
        *("PATH PARAMETERS", "p1  string", "p4  string"),
        *("HEADER PARAMETERS", "p3  string"),
        *("RESPONSES", "200"),
    ]


def test_operation_shows_all_ways_to_authenticate() -> None:
    schemes = {
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "token": {"type": "http", "scheme": "bearer"},
    }
    specification = Specification(
        {
            "openapi": "3.1.0",
            "components": {"securitySchemes": schemes},
            "paths": {"/short": {"get": {"security": [{"key": []}, {"token": []}]}}},
        }
    )
    query = OperationQuery(specification, "operation", "get", "/short")
    context = LayoutContext(Styles.plain(), ViewState(), render_block)
    lines = render_operation_details(context, query, specification.operation("get", "/short"), 100)
    rows = [line.text.strip() for line in lines if line.text.strip()]
    assert rows[:2] == ["AUTHENTICATION", "API key in header X-Key; or Bearer token in the Authorization header"]
