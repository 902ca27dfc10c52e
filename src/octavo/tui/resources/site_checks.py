"""Dialogs that test a site: where a link leads (`run_link_test`), what a search finds, and if a condition is true."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

from pydantic import ValidationError
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from octavo.api import content, redirects, search, site_structure, sites
from octavo.api.errors import ApiError, NotFound
from octavo.api.operation import Operation, SiteRef
from octavo.api.text import SafeLine
from octavo.data.live import Live
from octavo.data.loaders import all_items
from octavo.documents import yaml_values
from octavo.documents.site_rules import (
    ChainEnd,
    ConditionError,
    RedirectChain,
    chain_ends,
    evaluate,
    follow_redirects,
    path_on_site,
)
from octavo.documents.yaml_values import YamlError
from octavo.tui.core.dialog_draft import DialogDraft
from octavo.tui.core.routes import ToPage
from octavo.tui.core.shell import Shell, opening
from octavo.tui.resources import site_tree
from octavo.tui.resources.resource import PAGE_SIZE, Arguments, LabeledValues
from octavo.tui.resources.resource_commands import CurrentTable
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.confirm import ConfirmDialog, DialogField
from octavo.tui.widgets.delay import DraftDelay
from octavo.tui.widgets.dialog import Dialog, DialogFrame, TextButton, dialog_styles
from octavo.tui.widgets.short_texts import AnyText, InfoRow, plural, safe_lines
from octavo.tui.widgets.text_inputs import LineInput, TextEditor
from octavo.tui.widgets.text_widgets import ChangingText

PROBLEM_LABELS = {"loop": ("↻ loop", "$warning"), "dead end": ("✗ missing target", "$error")}
"""Label and color of a redirect with a problem, by problem."""
MAX_REQUESTS = 20
"""Maximum number of paths that a link test resolves on the server, and of page lists that the redirect table loads."""


class MarkedRedirect(redirects.Redirect):
    """A redirect and its problem: `loop`, `dead end`, or empty if the redirect works."""

    problem: SafeLine = ""


def with_problems(
    all_redirects: Sequence[redirects.Redirect], site: Any, responses: Mapping[type[Operation[Any]], Any]
) -> Sequence[redirects.Redirect]:
    """Return the redirects. If `responses` has the site structure, a broken redirect becomes a `MarkedRedirect`."""
    structure = responses.get(site_structure.Get)
    if structure is None:
        return all_redirects
    urls = urls_of_site_parts(structure)
    targets = {item.source: _target_url(item.destination, urls) for item in all_redirects}
    end_by_source = chain_ends(targets, site.urls.published or "")
    return [
        item
        if end_by_source[item.source] == "leads"
        else MarkedRedirect.model_construct(**dict(item), problem=end_by_source[item.source])
        for item in all_redirects
    ]


def page_lists(
    all_redirects: Sequence[redirects.Redirect], arguments: Arguments, responses: Mapping[type[Operation[Any]], Any]
) -> Sequence[Operation[Any]]:
    """Return operations that load the page lists of the spaces to whose pages redirects lead, at most `MAX_REQUESTS`.
    Empty if `responses` does not have the site structure."""
    structure = responses.get(site_structure.Get)
    if structure is None:
        return ()
    space_ids = {each.destination.site_space_id for each in all_redirects if each.destination.page_id}
    site_spaces = (each for each, _ in site_tree.walk_parts(structure) if isinstance(each, site_structure.SiteSpace))
    space_refs = [each.space.ref for each in site_spaces if each.id in space_ids and each.space is not None]
    return [content.ListPages(at=at) for at in space_refs[:MAX_REQUESTS]]


def problem_label(problem: str) -> AnyText:
    """Return the table cell for `problem`, a value of `MarkedRedirect.problem`."""
    return Content.styled(*PROBLEM_LABELS[problem]) if problem in PROBLEM_LABELS else problem


def urls_of_site_parts(structure: site_structure.SiteStructure) -> dict[str, str]:
    """Return the URL of each section and space of a site, by ID. For an unpublished part, return its title instead."""
    return {
        each.id: each.urls.published or site_tree.title_of(each)
        for each, _ in site_tree.walk_parts(structure)
        if isinstance(each, site_structure.SiteSection | site_structure.SiteSpace)
    }


@dataclass(frozen=True)
class LinkTestResult:
    """Result of testing a link: its redirects, its target, and how many redirects of the site are broken."""

    chain: RedirectChain
    has_redirect: bool
    target: str
    """Where the link leads, such as `the section API` or `a page in the section API`. Empty if unknown."""
    end_counts: Counter[ChainEnd]
    """Number of redirects of the site by where they end: `leads` (to a page or URL), `loop` or `dead end`."""

    @property
    def summary(self) -> str:
        """Text such as `12 redirects on this site, including 1 loop`."""
        counts = ((self.end_counts["loop"], "loop"), (self.end_counts["dead end"], "missing target"))
        problems_text = " and ".join(plural(number, noun) for number, noun in counts if number)
        return f"{plural(self.end_counts.total(), 'redirect')} on this site, {f'including {problems_text}' if problems_text else 'none broken'}"


async def redirect_details(live: Live, arguments: Arguments, redirect: redirects.Redirect) -> LabeledValues:
    """Return where a redirect leads, and how many redirects of the site are broken. Raises ApiError."""
    result = await run_link_test(live, arguments["at"], redirect.source)
    is_direct = len(result.chain.steps) == 2 and result.chain.end == "leads"
    page = await _page_phrase(live, arguments["at"], redirect) if is_direct else ""
    details = [("leads to", result.chain.description), ("target", page or result.target), ("redirects", result.summary)]
    return [detail for detail in details if detail[1]]


async def _page_phrase(live: Live, at: SiteRef, redirect: redirects.Redirect) -> str:
    structure = await live.cached_or_fetch(site_structure.Get(at=at))
    for op in page_lists([redirect], {}, {site_structure.Get: structure}):
        try:
            tree = await live.cached_or_fetch(op)
        except ApiError:
            return ""
        title = next((each.title for each in tree.walk() if each.id == redirect.destination.page_id), "")
        return f"the page {title}" if title else ""
    return ""


async def run_link_test(live: Live, at: SiteRef, link: str) -> LinkTestResult:
    """Follow the redirects of a site from a URL or path, and return where they lead. Raises ApiError."""
    site, structure, all_redirects = await asyncio.gather(
        live.cached_or_fetch(sites.Get(at=at)),
        live.cached_or_fetch(site_structure.Get(at=at)),
        all_items(live, redirects.List(at=at, limit=PAGE_SIZE)),
    )
    base_url, urls = site.urls.published or "", urls_of_site_parts(structure)
    redirects_by_path = {path_on_site(item.source, base_url): item for item in all_redirects}
    targets = {item.source: _target_url(item.destination, urls) for item in all_redirects}
    end_counts = Counter(chain_ends(targets, base_url).values())
    source = path_of_link(link, base_url)
    requested_paths: set[str] = set()
    while True:
        chain = follow_redirects(source, targets, base_url)
        path = path_on_site(chain.steps[-2 if len(chain.steps) > 1 else 0], base_url)
        redirect = redirects_by_path.get(path)
        # Stop at a section or space. Other targets need a request, because only the server knows which pages are deleted.
        if (
            path in requested_paths
            or len(requested_paths) >= MAX_REQUESTS
            or (redirect is not None and redirect.destination.kind in ("site-section", "site-space"))
        ):
            break
        requested_paths.add(path)
        if not await _resolve_on_server(live, at, path, targets):
            break
    has_redirect = len(chain.steps) > 1 or chain.end == "dead end"
    return LinkTestResult(chain, has_redirect, _describe_end(structure, chain, base_url), end_counts)


async def _resolve_on_server(live: Live, at: SiteRef, path: str, targets: dict[str, str | None]) -> bool:
    """Ask the server where the redirect at `path` leads. Add the target to `targets`, or None if the target is missing.
    Return False if there is no such redirect, or if the request fails."""
    try:
        op = redirects.Resolve(at=at, source=path)
        if live.availability.why_unavailable(op) is not None:
            return False
        targets[path] = (await live.send(op)).target
    except ValidationError:
        return False  # No redirect starts at an invalid path.
    except NotFound:
        if path not in targets:
            return False
        targets[path] = None  # The redirect exists, because it was listed, so its target is missing.
    except ApiError:
        return False
    return True


def path_of_link(text: str, base: str) -> str:
    """Return the percent-encoded path of a typed link, such as `/old/page`. Keep a URL of another site unchanged."""
    path = path_on_site(text.strip(), base)
    if "://" not in path and not path.startswith("/"):
        path = f"/{path}"
    return path if "://" in path else quote(path.rstrip("/") or "/", safe="/-._~%")


def _describe_end(structure: site_structure.SiteStructure, chain: RedirectChain, base: str) -> str:
    """Return where redirects lead, such as `a page in the section API`. Empty if this is nowhere or unknown."""
    if chain.end != "leads":
        return ""
    step = chain.steps[-1]
    last_url, longest_url, title = f"{base.rstrip('/') if step.startswith('/') else ''}{step.rstrip('/')}/", "", ""
    for part, _ in site_tree.walk_parts(structure):
        url = getattr(getattr(part, "urls", None), "published", None) or site_tree.title_of(part)
        if last_url.startswith(f"{url.rstrip('/')}/") and len(url) >= len(longest_url):
            longest_url, title = url, f"{site_tree.noun_of(part)} {site_tree.title_of(part)}"
    is_below_part = bool(longest_url) and last_url.rstrip("/") != longest_url.rstrip("/")
    return f"a page in the {title}" if is_below_part else f"the {title}" if title else ""


def _target_url(destination: redirects.DestinationRead, urls: Mapping[str, str]) -> str | None:
    match destination.kind:
        case "site-section":
            return urls.get(destination.site_section_id or "")
        case "site-space":
            return urls.get(destination.site_space_id or "")
        case "site-page":
            space = urls.get(destination.site_space_id or "")
            return None if space is None else f"a page in {space}"
    return destination.url or destination.kind


MAX_QUERY_LENGTH = 512
"""Maximum length in characters of a query that the API accepts."""
MAX_SPACES = 100
"""Maximum number of spaces whose pages the search results show."""


def open_link_test(app: Shell, table: CurrentTable, link: str = "", info_rows: tuple[InfoRow, ...] = ()) -> None:
    """Open the dialog that tests links. After a test, `link` is the tested link, and `info_rows` has the result."""
    field = DialogField("Link", link, placeholder="/old/page", required_error="Type a link or a path on the site.")
    intro = "" if info_rows else "Octavo follows the redirects on the site, as a browser would."
    dialog = ConfirmDialog("Test a link", verb="Test", cancel="Close", intro=intro, info_rows=info_rows, field=field)
    app.ask(dialog, lambda answer: app.background(_show_test_result(app, table, answer.text)))


async def _show_test_result(app: Shell, table: CurrentTable, link: str) -> None:
    with opening(app, f"Testing {link}…", f"Could not test {link}"):
        try:
            info_rows = result_rows(await run_link_test(app.session.live, table.arguments["at"], link))
        except ApiError as error:
            info_rows = (InfoRow("bad", "error", str(error)),)
    open_link_test(app, table, link, info_rows)


def result_rows(result: LinkTestResult) -> tuple[InfoRow, ...]:
    """Return rows with the tested path, each redirect, the result (such as a target or a loop), and a summary."""
    first_step, *further_steps = result.chain.steps
    info_rows = [
        InfoRow("note", "from", first_step),
        *(InfoRow("note", "leads to", further_step) for further_step in further_steps),
    ]
    match result.chain.end:
        case "loop":
            info_rows.append(InfoRow("care", "loop", "The redirects form a loop. Browsers show an error."))
        case "dead end":
            problem_text = "The redirect leads to a page, section, or space that is no longer on the site."
            info_rows.append(InfoRow("bad", "missing target", problem_text))
        case "leads" if not result.has_redirect:
            target = result.target or "the page at this path, if there is one"
            info_rows.append(InfoRow("care", "no redirect", f"No redirect starts at this path. Visitors see {target}."))
        case "leads":
            info_rows.append(
                InfoRow("ok", "target", result.target or "outside this site, or an unknown part of the site")
            )
    info_rows.append(InfoRow("note", "redirects", result.summary))
    return tuple(info_rows)


def open_site_search(app: Shell, table: CurrentTable) -> None:
    """Ask for a query, and show the pages of the site that match. Open the page that the user chooses."""
    field = DialogField("Search words", required_error="Type the words to search for.", max_length=MAX_QUERY_LENGTH)
    dialog = ConfirmDialog("Search the site", verb="Search", cancel="Close", field=field)
    app.ask(dialog, lambda answer: app.background(_show_search_results(app, table, answer.text)))


async def _show_search_results(app: Shell, table: CurrentTable, query: str) -> None:
    op = search.InSite(at=table.arguments["at"], query=query, scope=search.AllScope(), limit=MAX_SPACES)
    with opening(app, f"Searching for “{query}”…", "Could not search the site"):
        results = await app.session.live.send(op)
    choices = [
        Choice(
            ToPage(space.id, page.id),
            page.title or page.path or "Untitled",
            detail=" · ".join(filter(None, (space.title, *(section.title for section in page.sections)))),
            disabled_reason="" if app.workspace.space(space.id) else "You do not have access to this space.",
        )
        for space in results.items
        for page in space.pages
    ]

    count_prefix = "first " if results.next is not None else ""
    title = f"“{query}”: {count_prefix}{plural(len(choices), 'page')}"
    empty_text = "No pages contain these words. To search for other words, press esc, then t."
    app.ask(Picker(title, choices, empty=empty_text), app.go)


TEST_COMMANDS: Commands[ConditionTest] = Commands(
    "condition",
    (
        Command("close", "escape", "Close", "Close the dialog and keep the claims", run=lambda _, view: view.save_and_close(), priority=True),
        Command("next", "tab", "Next", "Switch between the condition and the claims", run=lambda _, view: view.focus_next(), shown=False),
    ),
)  # fmt: skip


def open_condition(shell: Shell, arguments: Arguments, condition: Any) -> None:
    """Open the dialog that tests a condition."""
    shell.push_screen(ConditionTest(shell, arguments["at"].site_id, condition.condition))


class ConditionTest(Dialog[None]):
    """A dialog in which the user types visitor claims, and sees whether a condition is true for these claims."""

    HELP_NAME: ClassVar[str] = "test a condition"
    HELP: ClassVar[str] = (
        "This dialog tests a condition against visitor claims, which you write as JSON or YAML. Nothing is sent to the server. "
        "Press tab to switch between the condition and the claims. "
        "Press esc to close the dialog and keep the claims."
    )
    CSS_PATH = dialog_styles(__file__, "form.tcss")
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (TEST_COMMANDS,)

    def __init__(self, shell: Shell, site_id: str, condition: str) -> None:
        super().__init__()
        self._shell, self._condition = shell, condition
        self._draft = DialogDraft(shell, f"claims tried {site_id}")
        self._draft_delay = DraftDelay(self)

    def body(self) -> ComposeResult:
        with DialogFrame() as frame:
            frame.set_border_texts("Test a condition", "nothing is sent to the server")
            yield Static("")
            with Horizontal(classes="form--row"):
                yield Static("  Condition", classes="form--label")
                yield LineInput(self._condition, placeholder='visitor.claims.plan == "pro"', id="condition")
            with Horizontal(classes="form--row"):
                yield Static("  Claims", classes="form--label")
                yield TextEditor(self._draft.text, placeholder='{"plan": "pro"}', id="claims")
            yield ChangingText(classes="form--about", id="outcome")
            with Horizontal(classes="form--buttons"):
                yield TextButton("Close", "esc", id="no")

    def on_mount(self) -> None:
        self._shell.exit_callbacks.add(self._save_claims_now)
        self.focus_at_once(self.query_one("#claims", TextEditor))
        self._update_outcome()

    def on_screen_suspend(self) -> None:
        """Save the typed claims, because navigation may close the dialog."""
        if self._draft_delay.has_unsaved:
            self._save_claims()

    def on_unmount(self) -> None:
        self._shell.exit_callbacks.discard(self._save_claims_now)

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _on_typed(self) -> None:
        self._update_outcome()
        self._draft_delay.save_soon(self._save_claims)

    def _update_outcome(self) -> None:
        self.query_one("#outcome", ChangingText).update(safe_lines(self.outcome_text))

    @property
    def outcome_text(self) -> str:
        """Sentence that says whether the condition is true for the typed claims, or why this is unknown."""
        try:
            parsed = yaml_values.parse_yaml(self._claims)
        except YamlError as fault:
            return f"Could not read the claims. {fault.position}: {fault.sentence}"
        claims = parsed.value if parsed is not None else {}
        if not isinstance(claims, dict):
            return 'Could not read the claims. Enter an object, for example {"plan": "pro"}.'
        try:
            is_met = evaluate(self.query_one("#condition", LineInput).value, claims)
        except ConditionError as fault:
            return f"Could not evaluate the condition. {fault}"
        return (
            "True: visitors with these claims see the content."
            if is_met
            else "False: visitors with these claims do not see the content."
        )

    @property
    def _claims(self) -> str:
        return self.query_one("#claims", TextEditor).text

    def _save_claims(self) -> None:
        self._draft_delay.mark_saved()
        self._draft.autosave(self._claims)

    def _save_claims_now(self) -> None:
        self._draft.autosave_now(self._claims)

    @on(TextButton.Pressed)
    def _on_button_pressed(self) -> None:
        self.save_and_close()

    def save_and_close(self) -> None:
        """Save the typed claims, and close the dialog."""
        self._save_claims()
        self.dismiss(None)
