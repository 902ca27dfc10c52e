"""The command palette, which the key `:` opens. It finds commands, views and themes by name. Also the help of a view,
which lists its commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from textual.content import Content
from textual.dom import DOMNode
from textual.screen import Screen

from octavo.tui.widgets.chooser import Choice, Chooser, MatchedChoice, ThemePicker
from octavo.tui.widgets.commands import ActiveCommand, Command, Commands, commands_by_relevance, name_in_help
from octavo.tui.widgets.row_list import Row
from octavo.tui.widgets.short_texts import fit, safe

_OMITTED = ("app.palette",)


PaletteValue = ActiveCommand | Callable[[], object] | str
"""Value of a choice in the palette: a command, a function to call, or the name of a theme."""


class PaletteScreen(Chooser[None, PaletteValue]):
    """The command palette: commands of the current view, commands and tables of other views, and themes."""

    COUNT_NOUN: ClassVar[str] = "command"
    FOOTER: ClassVar[str] = "enter run"
    SHOWS_EXPLANATION: ClassVar[bool] = True

    def __init__(
        self, view: Screen[Any], themes: ThemePicker, destinations: Sequence[Choice[PaletteValue]] = ()
    ) -> None:
        super().__init__("Command palette")
        self._view, self._themes, self._destinations = view, themes, destinations

    def choices(self) -> Sequence[Choice[PaletteValue]]:
        commands: list[Choice[PaletteValue]] = [
            Choice(
                command,
                command.title,
                detail=command.help if command.help != command.title else "",
                right=command.key,
                group=heading,
                disabled_reason=command.reason or "",
                synonyms=SYNONYMS.get(command.id, ""),
            )
            for heading, command in commands_by_relevance(self._view)
            if command.id not in _OMITTED
        ]
        current_theme = self._themes.chosen_name
        themes: list[Choice[PaletteValue]] = [
            Choice(name, f"Theme {name}", right="current" if name == current_theme else "", group="THEMES")
            for name in self._themes.names
        ]
        return [*commands, *self._destinations, *themes]

    def draw(self, matched: MatchedChoice[PaletteValue]) -> Row:
        """Return the row of a choice. During a search, if the choice opens in another view, the row names that view."""
        row, view_name = super().draw(matched), matched.choice.view
        if matched.match is None or not view_name:
            return row
        return replace(row, right=Content.assemble((f"  {view_name.capitalize()}  ", "$octavo-muted"), row.right))

    def preview(self, choice: Choice[PaletteValue]) -> None:
        self._themes.preview(choice.value if isinstance(choice.value, str) else None)

    def accept(self, choice: Choice[PaletteValue]) -> None:
        self._themes.choose(choice.value if isinstance(choice.value, str) else None)
        self.dismiss(None)
        if isinstance(choice.value, ActiveCommand):
            self.app.call_later(choice.value.run)
        elif not isinstance(choice.value, str):
            self.app.call_later(choice.value)

    def cancel(self) -> None:
        self._themes.choose(None)
        super().cancel()


SYNONYMS = {
    "app.act_as": "act as impersonate role person user demo permissions",
    "app.activity": "log requests outbox queue pending errors failed unsent network",
    "app.help": "keys shortcuts keyboard cheat sheet manual",
    "app.tour": "tutorial introduction onboarding demo getting started",
    "app.topics": "manual documentation guide readme settings preferences configuration options changelog security",
    "app.offline": "downloaded cache storage",
    "app.organization": "switch workspace company account tenant",
    "app.quit": "exit close leave end bye",
    "app.search": "find look up global",
    "app.server": "about api build release",
    "app.suspend": "background shell terminal",
    "app.theme": "colors colours dark mode light mode appearance preferences settings contrast",
    "account.sign_in": "log in login token api key credentials",
    "account.sign_out": "log out logout sign off",
    "account.switch": "change user profile",
    "view.inbox": "notifications home todo review requested mentions",
    "view.content": "pages spaces documents docs read home",
    "view.changes": "change requests pull requests pr merge requests drafts",
    "view.comments": "threads discussions",
    "view.sites": "published website domain",
    "view.admin": "organization administration settings users management",
    "view.refresh": "reload sync update fetch",
    "view.info": "details properties id metadata permissions",
    "write.undo": "revert take back",
    "change.approve": "accept lgtm review",
    "comment.select": "tick mark several blocks same remark linked comments",
    "change.ask": "request changes reject decline review",
    "change.archive": "close delete reopen",
    "change.continuous": "all pages one scroll files changed whole diff",
    "change.merge": "publish to main accept",
    "change.new": "create branch pull request draft",
    "change.ready": "draft ready for review",
    "change.resolve": "merge conflicts",
    "change.reviewers": "assign request review ask",
    "change.subject": "rename title description",
    "change.undo_merge": "revert rollback",
    "change.update": "pull rebase sync from main",
    "change.withdraw": "dismiss remove my review",
    "change.compare_with": "diff versions base",
    "change.export": "download patch",
    "diff.only_meaning": "hide ignore whitespace moved formatting reflow filter noise",
    "diff.risk_order": "numbers important first priority order",
    "finding.comment": "accept check lint problem",
    "finding.dismiss": "ignore hide false positive lint check",
    "finding.next": "check lint problem broken link",
    "finding.previous": "check lint problem broken link",
    "term.find": "rename replace everywhere other places occurrences old words number consistency search",
    "finding.suggest": "accept fix lint suggestion",
    "suggestion.apply": "accept suggested change",
    "suggestion.apply_all": "accept batch suggested changes preview together",
    "suggestion.apply_here": "accept suggested change done",
    "suggestion.apply_resolve": "accept suggested change done",
    "diff.layout": "split side by side unified",
    "comments.resolve": "close resolve done",
    "comments.reply": "answer respond",
    "comments.react": "emoji reaction thumbs up",
    "comments.new": "add thread discussion",
    "inbox.snooze": "later remind mute",
    "inbox.done": "archive dismiss mark as read",
    "page.edit": "write change text editor markdown",
    "page.insert": "add page create page",
    "page.arrange": "rename page move page reorder hide visibility icon emoji slug url description details",
    "content.ages": "gutter blame annotate date written",
    "page.blame": "who wrote author origin annotate credit when age approved by",
    "page.history": "versions revisions version history",
    "page.export": "download pdf save as print",
    "page.source": "raw markdown",
    "page.backlinks": "references incoming links",
    "space.access": "permissions roles share members",
    "space.files": "images assets attachments uploads",
    "space.links": "broken links check",
    "space.keep_offline": "download airplane available",
    "spaces.act": "import duplicate copy git sync repository github gitlab transfer",
    "spaces.change": "space settings rename merge rules live edits",
    "spaces.create": "new space add space create space new collection folder",
    "spaces.delete": "remove space",
    "spaces.restore": "trash bin undelete recover deleted",
    "admin members": "users people accounts staff",
    "admin members new": "add user add member people",
    "admin teams": "groups",
    "admin teams new": "add group create team",
    "admin invite links new": "add user join",
    "admin spaces": "permissions access who may merge",
    "admin SAML providers": "sso single sign-on identity okta",
    "admin SSO sign-in links": "sso domains",
    "admin OpenAPI specifications": "swagger api reference",
    "admin translations": "languages locale i18n",
    "admin translations new": "add language translate",
    "admin fonts": "typeface typography",
    "admin fonts new": "upload typeface",
    "admin subdomains": "custom domain hostname url",
    "admin settings": "preferences organization name",
    "sites sites": "websites docs portals",
    "sites sites new": "create website add site",
    "sites structure": "sections variants navigation",
    "sites redirects": "moved url forward 301",
    "sites share links": "private link secret url",
    "sites share links new": "create private link",
    "sites MCP servers": "ai agents tools assistant",
    "sites adaptive schema": "visitor claims personalization adaptive content",
    "sites conditions": "personalization visitors audience",
    "sites members with access": "site permissions access",
    "sites Publish": "go live make public",
    "sites Unpublish": "take down offline private",
}
"""Words that also find a command, table or action, by its key, such as `sites conditions` or `sites Publish`."""


_KEY_COLUMN_WIDTH = 13
_SENTENCE_END = re.compile(r"(?<=\.) (?=\S)")


HELP_TOPICS: Commands[HelpScreen] = Commands(
    "help",
    (
        Command("topics", "f1", "Help topics", "Read about keys, settings, commands, and troubleshooting",
                run=lambda _, screen: screen.show_topics(), priority=True),
    ),
)  # fmt: skip


class HelpScreen(Chooser[None, ActiveCommand]):
    """The help of a view, which lists its commands. Enter closes the help and runs the selected command."""

    HELP_NAME: ClassVar[str] = "help"
    COUNT_NOUN: ClassVar[str] = "command"
    FOOTER: ClassVar[str] = "enter run"
    NO_MATCH_HINT: ClassVar[str] = " Press esc, then : to find the commands of other views."
    SHOWS_EXPLANATION: ClassVar[bool] = True
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (HELP_TOPICS,)

    def __init__(self, view: Screen[Any], show_topics: Callable[[], object], about_app: str = "") -> None:
        """`show_topics` opens the help topics. `about_app`, a sentence about the app, ends the introduction."""
        super().__init__("Help")
        self._view, self._show_topics, self._about_app = view, show_topics, about_app

    def choices(self) -> Sequence[Choice[ActiveCommand]]:
        commands = commands_by_relevance(self._view)
        self._title = f"Help: {commands[0][0].lower() if commands else name_in_help(self._view)}"
        return [
            Choice(
                command,
                command.title,
                detail=command.help,
                right=" ".join(command.keys),
                group=heading,
                disabled_reason=command.reason or "",
                synonyms=SYNONYMS.get(command.id, ""),
            )
            for heading, command in commands
        ]

    def intro(self) -> Content | None:
        view = self._view
        nodes: list[DOMNode] = list(view.focused.ancestors_with_self) if view.focused else [view]
        help_texts = [help for node in nodes if (help := getattr(node, "HELP", "")) and node is not self.app]
        lines = _SENTENCE_END.split(help_texts[0]) if help_texts else []
        lines += dict.fromkeys(text for node in (view, *view.query("*")) if (text := getattr(node, "more_help", "")))
        lines += [self._about_app] if self._about_app else []
        return Content("\n").join(safe(line) for line in lines) if lines else None

    def draw(self, matched: MatchedChoice[ActiveCommand]) -> Row:
        choice = matched.choice
        keys = Content.styled(choice.right, "$octavo-muted" if choice.disabled_reason else "$primary")
        # Rows do not show the disabled reason, because it is shown below the list.
        detail = choice.detail if self.has_row_explanations else ""
        text = Content.assemble(
            fit(keys, _KEY_COLUMN_WIDTH),
            "  ",
            fit(self.highlighted_title(matched), self._title_width),
            "  ",
            (safe(detail).plain, "$octavo-muted"),
        )
        return Row(text=text, dim=bool(choice.disabled_reason))

    def accept(self, choice: Choice[ActiveCommand]) -> None:
        self.dismiss(None)
        self.app.call_later(choice.value.run)

    def show_topics(self) -> None:
        """Close the help, and open the list of help topics."""
        self.dismiss(None)
        self.app.call_later(self._show_topics)
