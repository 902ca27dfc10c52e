"""The terminal app (`Octavo`): its views, the commands that work in all views, and how a session starts and ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.events import Event, InputEvent
from textual.screen import Screen

from octavo.api.comments import Comment, Reply
from octavo.api.operation import Discussion
from octavo.data.state_db import NotSaved
from octavo.lazy_import import lazy, load
from octavo.settings import Settings
from octavo.tui.app import routes
from octavo.tui.app.background_refresh import (
    ACCOUNT,
    CHECK_INTERVAL,
    GREETING,
    BackgroundRefresh,
    notify_on_start,
    sign_in_after_rejection,
)
from octavo.tui.app.pauses import PAUSE_BEFORE_IMPORTS, Preloading, Teardown, Workers, run_when_idle
from octavo.tui.app.routes import PictureRecorder, first_view, go_to_first_route, remember_view
from octavo.tui.app.type_ahead import TypeAhead
from octavo.tui.core.external_links import check_fits_clipboard
from octavo.tui.core.routes import Route, ToActivity, ToSearch
from octavo.tui.core.session import Session, SignInMethods
from octavo.tui.core.shell import Shell
from octavo.tui.core.view import View, current_view
from octavo.tui.terminal import textual_internals as internals
from octavo.tui.terminal.crash_report import report_crash
from octavo.tui.terminal.display import line_filters
from octavo.tui.terminal.driver import EscapeOrAlt, TerminalDriver
from octavo.tui.terminal.polite_thread import background_thread
from octavo.tui.terminal.textual_internals import CachedStylesheet
from octavo.tui.widgets.commands import Command, Commands, accepted_keys
from octavo.tui.widgets.short_texts import plural
from octavo.tui.widgets.themes import adapt_theme, palettes, themes

if TYPE_CHECKING:
    from textual.css.styles import RulesMap
    from textual.dom import DOMNode
    from textual.driver import Driver
    from textual.filter import LineFilter

    from octavo.first_picture import FirstPicture
    from octavo.tui.reader.page_view import PageView
    from octavo.tui.widgets.chooser import ThemePicker
    from octavo.tui.widgets.confirm import Confirmed

_show_info = lazy("octavo.tui.core.item_info:show_info")
_choose_topic = lazy("octavo.tui.app.menus:choose_topic")
_choose_organization = lazy("octavo.tui.app.menus:choose_organization")
_choose_demo_user = lazy("octavo.tui.app.menus:choose_demo_user")
_show_server_version = lazy("octavo.tui.app.menus:show_server_version")
_show_offline_spaces = lazy("octavo.tui.content.offline_copies:show_offline_spaces")
_quit_or_up = lazy("octavo.tui.app.quitting:quit_or_up")
_ask_about_unsaved_drafts = lazy("octavo.tui.app.quitting:ask_about_unsaved_drafts")
_write_unsaved = lazy("octavo.tui.app.quitting:write_unsaved")
_why_not_apply = lazy("octavo.tui.editing.page_edit:why_not_apply")
_apply_suggestion = lazy("octavo.tui.editing.page_edit:apply_to_page")
_help_screen = lazy("octavo.tui.widgets.command_palette:HelpScreen")
_palette_screen = lazy("octavo.tui.widgets.command_palette:PaletteScreen")
_palette_entries = lazy("octavo.tui.app.menus:palette_entries")
_add_custom_commands = lazy("octavo.tui.app.user_programs:add_custom_commands")
_open_table_row = lazy("octavo.tui.reader.page_dialogs:open_table_row")
_theme_picker = lazy("octavo.tui.widgets.chooser:ThemePicker")


class OctavoStylesheet(CachedStylesheet):
    """Stylesheet that sets the rules of a widget only if they have changed. Textual would set each rule again, for
    example when a screen is shown again."""

    @classmethod
    def replace_rules(cls, node: DOMNode, rules: RulesMap, animate: bool = False) -> None:
        if rules != getattr(node, "current_rules", None):
            node.current_rules = rules  # type: ignore[attr-defined]  # A new attribute.
            super().replace_rules(node, rules, animate)
        node.notify_style_update()


def _has_session(app: Octavo, _: object) -> bool:
    return app.has_session


def _try_to_save_drafts(app: Octavo) -> None:
    """Save as many drafts as possible within two seconds. Errors are ignored."""
    for save in tuple(app.exit_callbacks):
        save()
    if app.has_session and app.session.drafts.unsaved():
        with suppress(NotSaved):
            app.session.drafts.flush()


async def _end_work(app: Octavo) -> None:
    """Send the writes that wait for their undo delay, and cancel all background work."""
    # Without this, nothing is sent if the app ends before `_open`, for example while it reads a folder.
    app.session.connect()
    await app.writes.flush()
    workers = tuple(app.workers)
    app.workers.cancel_all()
    await app.tasks.close()
    await asyncio.gather(*(worker.wait() for worker in workers), return_exceptions=True)


def _crash_report(app: Octavo, error: Exception) -> Text:
    """Save all drafts. Return the text that is printed after a crash."""
    app._save_drafts()
    return report_crash(app.settings.state_folder, error, app._unsaved_report)


def _why_no_info(app: Octavo, _: object) -> str | None:
    view = current_view(app)
    return None if view is not None and view.selected_items else "No details to show. Select an item first."


def _refresh(app: Octavo, _: object) -> None:
    if (view := current_view(app)) is not None:
        view.refresh_data()


def _refresh_all(app: Octavo, _: object) -> None:
    subscriptions = [each.subscriptions for each in app.screens if isinstance(each, View)]
    ops = dict.fromkeys((*app.workspace.operations, *(op for each in subscriptions for op in each.operations())))
    for op in ops:
        app.background(app.session.live.refresh(op))
    app.say(f"Refreshing all views ({plural(len(ops), 'API request')})…")


ANYWHERE: Commands[Octavo] = Commands(
    "app",
    (
        Command("help", "question_mark", "Help", "Show help for the focused pane", run=lambda app, _: app.show_help(), key_display="?"),
        Command("topics", "f1", "Help topics", "Read about keyboard shortcuts, settings, and troubleshooting",
                run=lambda app, _: _choose_topic(app), shown=False),
        Command("palette", "colon,ctrl+p", "Commands", "Open the command palette",
                run=lambda app, _: app.push_screen(_palette_screen(app.screen, app.theme_picker, _palette_entries(app, app.screen))),
                is_available=_has_session, key_display=":", shown=False),
        Command("search", "s,ctrl+k", "Search", "Search pages, change requests, and spaces", run=lambda app, _: app.go(ToSearch()), is_available=_has_session),
        Command("inbox", "1", "Inbox", "Go to the inbox",
                run=lambda app, _: app.show_view("inbox"), is_available=_has_session, id="view.inbox", shown=False),
        Command("content", "2", "Content", "Go to the spaces and pages",
                run=lambda app, _: app.show_view("content"), is_available=_has_session, id="view.content", shown=False),
        Command("changes", "3", "Change requests", "Go to the change requests",
                run=lambda app, _: app.show_view("changes"), is_available=_has_session, id="view.changes", shown=False),
        Command("comments", "4", "Comments", "Go to the comments",
                run=lambda app, _: app.show_view("comments"), is_available=_has_session, id="view.comments", shown=False),
        Command("sites", "5", "Sites", "Go to the sites",
                run=lambda app, _: app.show_view("sites"), is_available=_has_session, id="view.sites", shown=False),
        Command("admin", "6", "Admin", "Go to the members, teams, and settings of your organization",
                run=lambda app, _: app.show_view("admin"), is_available=_has_session, id="view.admin", shown=False),
        Command("next", "tab", "Next pane", "Go to the next pane", run=lambda app, _: app.action_focus_next(), id="pane.next", shown=False),
        Command("previous", "shift+tab", "Previous pane", "Go to the previous pane",
                run=lambda app, _: app.action_focus_previous(), id="pane.previous", shown=False),
        Command("refresh", "r", "Refresh", "Refresh this view",
                run=_refresh, is_available=_has_session, id="view.refresh", shown=False),
        Command("refresh_all", "R", "Refresh all", "Refresh all views",
                run=_refresh_all, is_available=_has_session, id="view.refresh_all", shown=False),
        Command("info", "i", "Info", "Show details, including why some shortcuts are unavailable",
                run=lambda app, _: _show_info(current_view(app)), why_not=_why_no_info, is_available=_has_session, id="view.info", shown=False),
        Command("undo", "u", "Undo", "Undo your last change, or cancel it if it has not been sent",
                run=lambda app, _: app.undo(), is_available=_has_session, id="write.undo", shown=False),
        Command("organization", "ctrl+o", "Switch organization", "Switch to another organization",
                run=lambda app, _: _choose_organization(app), is_available=_has_session, id="app.organization", shown=False),
        Command("theme", "f2", "Theme", "Preview and choose a theme", run=lambda app, _: app.theme_picker.open_picker(), shown=False),
        Command("activity", "exclamation_mark", "Activity", "Show API requests, errors, and unsent changes",
                run=lambda app, _: app.go(ToActivity()), is_available=_has_session, key_display="!", shown=False),
        Command("offline", "", "Offline spaces", "List the spaces available offline",
                run=lambda app, _: _show_offline_spaces(app), is_available=_has_session),
        Command("server", "", "Server version", "Show the version of the server",
                run=lambda app, _: _show_server_version(app), is_available=_has_session),
        Command("act_as", "", "Switch demo user…", "Switch to another demo user",
                run=lambda app, _: _choose_demo_user(app), is_available=lambda app, _: app.has_session and app.session.demo_roles is not None),
        Command("tour", "f6", "Tour", "Start or leave the demo tour", run=lambda app, _: app.workspace.tour.toggle(),
                title_now=lambda app, _: "Start tour" if app.workspace.tour.next_step is None else "Leave tour",
                is_available=lambda app, _: app.workspace.tour.is_offered, shown=False),
        Command("go_back", "backspace,less_than_sign", "Back", "Go back to the previous location", run=lambda app, _: app.history.go(-1),
                why_not=lambda app, _: app.history.why_not(-1), is_available=_has_session, id="view.back", key_display="<", shown=False),
        Command("forward", "greater_than_sign", "Forward", "Go forward to the next location", run=lambda app, _: app.history.go(1),
                why_not=lambda app, _: app.history.why_not(1), is_available=_has_session, id="view.forward", key_display=">", shown=False),
        Command("back", "q", "Back or quit", "Go back, or press twice at the top level to quit", run=lambda app, _: _quit_or_up(app), shown=False),
        Command("quit", "ctrl+q", "Quit", "Quit Octavo", run=lambda app, _: app.action_quit(), shown=False, priority=True),
        Command("suspend", "ctrl+z", "Suspend", "Suspend Octavo and return to the shell", run=lambda app, _: app.action_suspend_process(), shown=False),
    ),
)  # fmt: skip
"""The commands that work in all views, but not in dialogs."""
_INVALID_SETTINGS_SECONDS = 15.0


class Octavo(Shell):
    """The app with all its views. Shows one session at a time, or the sign-in screen."""

    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {
        name: routes.view_factory(name) for name in routes.VIEWS
    }
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012  # Textual declares it for instances
        (0, "-tiny"),
        (80, "-narrow"),
        (100, "-medium"),
        (120, "-wide"),
        (150, "-huge"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (24, "-tall")]  # noqa: RUF012  # as above
    COMMAND_GROUPS = (ANYWHERE, ACCOUNT)

    def __init__(
        self,
        settings: Settings,
        sign_in_methods: SignInMethods,
        session: Session | None,
        *,
        start: str = "",
        picture: FirstPicture | None = None,
        check_interval: float | None = CHECK_INTERVAL,
        find_first_route: Callable[[Session], Awaitable[Route]] | None = None,
    ) -> None:
        """`start` is the mode of the first view. If empty, `first_view` decides. `picture` stores the picture for the
        next start. `find_first_route` finds what the user asked to open, and may raise ApiError or ValueError.
        `check_interval` is in seconds. If None, nothing is refreshed at intervals."""
        self.DEFAULT_MODE = (start or first_view(session)) if session else "sign_in"  # type: ignore[misc]  # read once by App.__init__
        super().__init__(settings, sign_in_methods, session)
        self._type_ahead = TypeAhead(self, super().on_event)
        self.typed_text = self._type_ahead.text
        self.teardown = Teardown(self, self.signals)
        self.before_removal = self.teardown.on_removal
        self._preloading = Preloading(self, lambda: self.workspace.connection.shows_cached_data, self.teardown.garbage)
        self.workspace.connection.key_rejected.add(partial(sign_in_after_rejection, self))
        self._unsaved_report = ""
        """Sentences about drafts that could not be saved, printed at the end. Empty if all drafts are saved."""
        self._line_filters = tuple(line_filters(settings))
        self.crash_report = partial(_crash_report, self)
        if not settings.motion:
            self.animation_level = "none"
        self.background_refresh = BackgroundRefresh(self, check_interval=check_interval)
        self._is_quitting = False
        self.ends_process = False
        """True if the process ends together with the app. The widgets then need not be removed."""
        self._find_first_route = find_first_route
        self.picture = picture
        self._recorder: PictureRecorder | None = None
        for theme in themes():
            self.register_theme(theme)
        self.theme = self._first_theme()
        self.stylesheet = OctavoStylesheet(variables=self.get_css_variables())

    def get_driver_class(self) -> type[Driver]:
        default_driver = super().get_driver_class()
        return TerminalDriver if default_driver.__name__ == "LinuxDriver" else default_driver

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *self._line_filters]

    @property
    def workers(self) -> Workers:
        return self.teardown.workers

    async def switch_session(self, session: Session, mode: str) -> None:
        """Show the session that the user opened on the sign-in screen, in the view `mode`, or if empty, in its first
        view. To replace a running session, use `reopen`."""
        self._session = session
        self._open(session)
        self.workspace.watch_session(session)
        await self.switch_mode(mode or first_view(session))

    async def _end_session(self) -> None:
        self.background_refresh.end()
        self.workspace.forget_session()
        self.history.clear()
        if self._session is not None:
            await _end_work(self)
            ended_session, self._session = self._session, None
            await ended_session.close()

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for signal_number in (signal.SIGHUP, signal.SIGTERM):
            loop.add_signal_handler(signal_number, self._terminated)
        if not self.is_headless:
            # SIGINT comes only while another program uses the terminal, so it is ignored.
            loop.add_signal_handler(signal.SIGINT, lambda: None)
        loop.set_exception_handler(self._on_loop_error)
        if self.settings.keys:
            contexts = load("octavo.tui.app.keymap_contexts:KEYMAP_CONTEXTS")
            keys, problems = accepted_keys(self.settings.keys, (type(self), *contexts))
            self.set_keymap(keys)
            self.keys_of_user = keys
            self.settings_errors += tuple(f"{self.settings.location('keys', id)} {reason}" for id, reason in problems)
        if self.settings.commands:
            self.settings_errors += _add_custom_commands(self)
        if len(self.settings_errors) > 1:
            intro = f"{len(self.settings_errors)} settings are invalid. Press ! to list them. First problem:"
            self.say(f"{intro} {self.settings_errors[0]}", tone="care", seconds=_INVALID_SETTINGS_SECONDS)
        elif self.settings_errors:
            self.say(self.settings_errors[0], tone="care", seconds=_INVALID_SETTINGS_SECONDS)

    async def on_event(self, event: Event) -> None:
        if isinstance(event, EscapeOrAlt):
            is_alt = self.screen_stack and event.key in self.screen.active_bindings
            for each in (event.with_alt,) if is_alt else event.separate:
                await self.on_event(each)
            return
        if isinstance(event, InputEvent):
            self._preloading.begin()
            self.teardown.garbage.on_key_pressed()
            self.background_refresh.on_key_pressed()
        await self._type_ahead.handle(event)

    def on_app_blur(self) -> None:
        self.background_refresh.on_terminal_hidden()

    def on_app_focus(self) -> None:
        self.background_refresh.on_terminal_shown()

    def on_load(self) -> None:
        self.delay_paint()
        # Subscribe before the first screen is built, so that the first paint shows cached responses.
        if self._session is not None:
            self.workspace.watch_session(self._session)

    def on_ready(self) -> None:
        self.call_later(self._paint_first_screen)

    def _paint_first_screen(self) -> None:
        self.paint_first_screen()
        self.call_after_refresh(self._first_painted)
        if self.picture is not None:
            self._recorder = PictureRecorder(self, self.picture)

    def _first_painted(self) -> None:
        if not self.is_headless:
            self.teardown.garbage.enable()
            self.set_timer(PAUSE_BEFORE_IMPORTS, self._preloading.begin)
        session = self._session
        if session is None:
            return
        if session.reload_files is not None and self.workspace.connection.shows_cached_data and not self.is_headless:
            # Loading files would slow down the first page and the first keys, so it starts later.
            run_when_idle(self, lambda: not background_thread.is_idle, lambda: self._open(session))
        else:
            self._open(session)
        if self._find_first_route is not None:
            self.background(go_to_first_route(self, self._find_first_route(session)))

    def _open(self, session: Session) -> None:
        session.on_first_paint()
        self.workspace.follow_comment_counts()
        self.background_refresh.begin(session)
        self.background(notify_on_start(self, session))

    def why_not_apply(
        self, at: Discussion | None, thread: Comment, message: Comment | Reply, resolve: bool
    ) -> str | None:
        reason: str | None = _why_not_apply(self, at, thread, message, resolve=resolve)
        return reason

    def apply_suggestion(self, at: Discussion, thread: Comment, message: Comment | Reply, resolve: bool) -> None:
        _apply_suggestion(self, at, thread, message, resolve=resolve)

    def go(self, route: Route) -> None:
        routes.go(self, route)

    def on_page_view_table_row_requested(self, message: PageView.TableRowRequested) -> None:
        _open_table_row(message.view, message.table, message.row)

    def note_page_shown(self, screen: Any) -> None:
        if self._recorder is not None:
            self._recorder.record_soon(screen)

    def copy_to_clipboard(self, text: str) -> None:
        if check_fits_clipboard(self, text):
            super().copy_to_clipboard(text)

    def ignore_typing(self) -> None:
        self.typed_text.ignore()

    def show_view(self, view: str) -> None:
        """Switch to the view with the mode `view`, such as `changes`. If this view is open already, close the screens
        on top. For `organization`, open the menu of organizations. Do nothing without a session."""
        if self._session is None:
            return
        if view == "organization":
            _choose_organization(self)
            return
        self.history.record(opens_item=False)
        if self.current_mode == view:
            while len(self.screen_stack) > 1:
                self.pop_screen()
            return
        self.switch_mode(view)

    def show_help(self) -> None:
        self.notices.close_text(GREETING)
        me = self.workspace.me if self._session is not None else None
        intro = "Press 1 to 6 to open the views. The header shows item counts. Press f1 to read about the symbols."
        intro = f"You are {me.name}. {intro}" if me is not None else ""
        self.push_screen(_help_screen(self.screen, partial(_choose_topic, self), intro))

    def action_screenshot(self, filename: str | None = None, path: str | None = None) -> None:
        """Do nothing. Textual would write a file to a path that the caller chooses."""

    def _first_theme(self) -> str:
        last_theme = self._session.state.get_value("theme") if self._session is not None else None
        default_theme = "light" if self.settings.has_light_background else "dark"
        names = (self.settings.theme, str(last_theme or ""), default_theme)
        return next(name for name in names if name in self.available_themes)

    @property
    def theme_picker(self) -> ThemePicker:
        """A theme picker that saves the chosen theme for the next start. The setting `theme` takes precedence."""

        def remember(name: str) -> None:
            if self._session is not None:
                self._session.state.set_value("theme", name)
            if self.settings.theme not in ("", name):
                place = f"{self.settings.location('theme')} sets {self.settings.theme} at each start."
                self.say(f"{name} is shown until you quit. {place}", tone="care")

        picker: ThemePicker = _theme_picker(self, remember)
        return picker

    def validate_theme(self, name: str) -> str:
        """Give a theme of Textual the colors that Octavo's CSS needs. Return `name`."""
        if name not in palettes():
            self.register_theme(adapt_theme(self.available_themes[name]))
        return name

    def switch_mode(self, mode: str) -> Any:
        if self._session is not None:
            remember_view(self._session, mode)
        return super().switch_mode(mode)

    def push_screen(self, screen: Any, *arguments: Any, **keywords: Any) -> Any:
        if isinstance(screen, Screen) and not screen.is_modal and self.screen_stack:
            self.history.record()
        return super().push_screen(screen, *arguments, **keywords)

    def is_screen_installed(self, screen: Screen[Any] | str) -> bool:
        return super().is_screen_installed(screen) or (isinstance(screen, Screen) and self.history.contains(screen))

    async def action_quit(self) -> None:
        """Quit. If a draft cannot be saved, ask for a confirmation first."""
        _try_to_save_drafts(self)
        if self._session is None or not self._session.drafts.unsaved():
            self._update_picture()
            self._terminated()
            return

        def quit_without_drafts(answer: Confirmed | None) -> None:
            if answer is None:
                self.open_next = None
            elif self._session is not None:
                self.exit_callbacks.clear()
                self._session.drafts.drop_unsaved()
                self._update_picture()
                self._terminated()

        _ask_about_unsaved_drafts(self, quit_without_drafts)

    async def on_unmount(self) -> None:
        # The session ends here, after the terminal is restored, because this may take a moment.
        if not self._is_quitting:
            return
        await self._type_ahead.finish()
        self._save_drafts()
        if self._unsaved_report:
            self.exit(0, message=Text(self._unsaved_report))
        if not self.ends_process:
            await self._end_session()
        elif self._session is not None:
            # The widgets still use the session, so only its work ends here. `run_app` closes the session later.
            self.background_refresh.end()
            await _end_work(self)
            await self._session.disconnect()

    def _terminated(self) -> None:
        _try_to_save_drafts(self)
        self._is_quitting = True
        self.ends_process = self.open_next is None and not self.is_headless
        self.exit(0)

    def _update_picture(self) -> None:
        if self._recorder is not None:
            self._recorder.end()
            self._recorder = None

    def _on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, Exception):
            internals.crash(self, error)
        else:
            loop.default_exception_handler(context)

    def _save_drafts(self) -> None:
        _try_to_save_drafts(self)
        if self._session is not None and self._session.drafts.unsaved():
            self._unsaved_report = _write_unsaved(self._session, self.settings.state_folder)
