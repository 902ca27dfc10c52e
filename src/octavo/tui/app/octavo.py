"""The terminal app: views as modes, the keys that work everywhere, and what happens when things end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.events import Event, InputEvent
from textual.screen import Screen
from textual.signal import Signal

from octavo.api.errors import ApiError
from octavo.concurrency import Tasks
from octavo.settings import Settings, nearest
from octavo.tui.app import routes
from octavo.tui.app.accounts import ACCOUNT, reopen
from octavo.tui.app.first_screen import HeldBack, first_view, remember_view
from octavo.tui.app.keeping_fresh import EVERY, KeepingFresh
from octavo.tui.app.preloading import soon, warm_up
from octavo.tui.app.teardown import Teardown
from octavo.tui.app.type_ahead import TypeAhead
from octavo.tui.shell.navigation_history import NavigationHistory
from octavo.tui.shell.routes import Route, ToSearch
from octavo.tui.shell.session import Opening, Session, SignInMethods
from octavo.tui.shell.view import View
from octavo.tui.shell.workspace import Workspace
from octavo.tui.shell.write_queue import Writes
from octavo.tui.terminal import textual_internals as internals
from octavo.tui.terminal.clipboard import fits
from octavo.tui.terminal.crash_report import report_crash
from octavo.tui.terminal.key_reader import EscapeOrAlt
from octavo.tui.terminal.line_filters import filters
from octavo.tui.widgets.commands import Command, Commands, HostApp
from octavo.tui.widgets.notices import Tone
from octavo.tui.widgets.themes import adapt_theme, palettes, themes
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from textual.driver import Driver

    from octavo.api.organizations import Organization
    from octavo.first_picture import FirstPicture
    from octavo.tui.app.kept_picture import KeptPicture
    from octavo.tui.shell.shell import Suggestions
    from octavo.tui.widgets.confirm import Confirmed
    from octavo.tui.widgets.picker import ThemePicker


def _wrong_theme(settings: Settings, names: list[str]) -> str:
    name = settings.theme
    why = f"is {name!r}, which is not a theme.{nearest(name, names)} The available themes are {', '.join(names)}."
    return f"{settings.location('theme')} {why}"


def _has_session(app: Octavo, _: object) -> bool:
    """What there is nothing to do with before one is signed in is not there."""
    return app.has_session


def _view(app: Octavo) -> View | None:
    """The view on show, also below a dialog."""
    return next((screen for screen in reversed(app.screen_stack) if isinstance(screen, View)), None)


def _why_no_info(app: Octavo, _: object) -> str | None:
    view = _view(app)
    return None if view is not None and view.things_at_hand else "No details to show. Select an item first."


def _show_info(app: Octavo, _: object) -> None:
    from octavo.tui.shell.info import show_info

    if (view := _view(app)) is not None:
        show_info(view)


def _refresh(app: Octavo, _: object) -> None:
    if (view := _view(app)) is not None:
        view.ask_again()


def _refresh_all(app: Octavo, _: object) -> None:
    following = [each.subscriptions for each in app.screens if isinstance(each, View)]
    ops = dict.fromkeys((*app.workspace.ops, *(op for each in following for op in each.ops())))
    for op in ops:
        app.background(app.session.live.refresh(op))
    app.say(f"Refreshing all views ({plural(len(ops), 'API request')})…")


def _show_topics(app: Octavo, _: object) -> None:
    from octavo.tui.app.help_topics import choose_topic

    choose_topic(app)


def _search(app: Octavo, _: object) -> None:
    app.go(ToSearch())


def _choose_organization(app: Octavo, _: object) -> None:
    from octavo.tui.app.organizations import OrganizationMenu

    def chosen(organization: Organization | None) -> None:
        if organization is not None:
            app.workspace.choose(organization)

    app.push_screen(OrganizationMenu(), chosen)


def _show_activity(app: Octavo, _: object) -> None:
    from octavo.tui.app.activity import ActivityScreen

    app.push_screen(ActivityScreen())


def _show_kept(app: Octavo, _: object) -> None:
    from octavo.tui.content.keeping_offline import show_kept

    show_kept(app)


def _say_server(app: Octavo, _: object) -> None:
    from octavo.api.system import Get

    async def ask() -> None:
        try:
            service = await app.session.live.send(Get())
        except ApiError as error:
            app.say(f"Could not load the server version: {error}", tone="failed")
        else:
            app.say(f"Server version {service.version}{f', build {service.build}' if service.build else ''}.")

    app.background(ask())


def _act_as(app: Octavo, _: object) -> None:
    from octavo.tui.app.acting_as import choose_role

    choose_role(app, lambda session: reopen(app, lambda: (app.sign_in_methods, session())))


def _go_up_or_quit(app: Octavo, _: object) -> None:
    from octavo.tui.app.quitting import quit_or_up

    quit_or_up(app)


ANYWHERE: Commands[Octavo] = Commands(
    "app",
    (
        Command("help", "question_mark", "Help", "Show help for the focused pane", run=lambda app, _: app.show_help(), key_display="?"),
        Command("topics", "f1", "Help topics", "Read about keyboard shortcuts, settings, and troubleshooting",
                run=_show_topics, shown=False),
        Command("palette", "colon,ctrl+p", "Commands", "Open the command palette",
                run=lambda app, _: app.show_palette(), is_available=_has_session, key_display=":", shown=False),
        Command("search", "s,ctrl+k", "Search", "Search pages, change requests, and spaces", run=_search, is_available=_has_session),
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
                run=_show_info, why_not=_why_no_info, is_available=_has_session, id="view.info", shown=False),
        Command("undo", "u", "Undo", "Undo your last change, or cancel it if it has not been sent",
                run=lambda app, _: app.undo(), is_available=_has_session, id="write.undo", shown=False),
        Command("organization", "ctrl+o", "Switch organization", "Switch to another organization",
                run=_choose_organization, is_available=_has_session, id="app.organization", shown=False),
        Command("theme", "f2", "Theme", "Preview and choose a theme", run=lambda app, _: app.theme_picker.choose(), shown=False),
        Command("activity", "exclamation_mark", "Activity", "Show API requests, errors, and unsent changes",
                run=_show_activity, is_available=_has_session, key_display="!", shown=False),
        Command("offline", "", "Offline spaces", "List the spaces available offline",
                run=_show_kept, is_available=_has_session),
        Command("server", "", "Server version", "Show the version of the server",
                run=_say_server, is_available=_has_session),
        Command("act_as", "", "Switch demo user…", "Switch to another demo user",
                run=_act_as, is_available=lambda app, _: app.has_session and app.session.acting is not None),
        Command("tour", "f6", "Tour", "Start or leave the demo tour", run=lambda app, _: app.workspace.tour.start_or_leave(),
                title_now=lambda app, _: "Start tour" if app.workspace.tour.next_step is None else "Leave tour",
                is_available=lambda app, _: app.workspace.tour.is_offered, shown=False),
        Command("go_back", "backspace,less_than_sign", "Back", "Go back to the previous location", run=lambda app, _: app.trail.travel(-1),
                why_not=lambda app, _: app.trail.why_not(-1), is_available=_has_session, id="view.back", key_display="<", shown=False),
        Command("forward", "greater_than_sign", "Forward", "Go forward to the next location", run=lambda app, _: app.trail.travel(1),
                why_not=lambda app, _: app.trail.why_not(1), is_available=_has_session, id="view.forward", key_display=">", shown=False),
        Command("back", "q", "Back or quit", "Go back, or press twice at the top level to quit", run=_go_up_or_quit, shown=False),
        Command("quit", "ctrl+q", "Quit", "Quit Octavo", run=lambda app, _: app.action_quit(), shown=False, priority=True),
        Command("suspend", "ctrl+z", "Suspend", "Suspend Octavo and return to the shell", run=lambda app, _: app.action_suspend_process(), shown=False),
    ),
    find=lambda app: app,
)  # fmt: skip
"""The keys that work everywhere but in dialogs."""
MISTAKES_SECONDS = 15.0
"""Seconds for which it is said that settings cannot be used."""


class Octavo(HostApp[int], HeldBack[int]):
    """Shows one session at a time. Without one it starts at the sign-in screen."""

    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {name: routes.view(name) for name in routes.VIEWS}
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
        look_every: float | None = EVERY,
    ) -> None:
        """`start` is the view to begin in. Empty: the one a person of this session begins in. `picture` is what the terminal
        may show already, and what the next start of this session shows. `look_every`: seconds between two times it is seen
        whether it is time to look what others did. None: only who builds the app says when."""
        self.DEFAULT_MODE = (start or first_view(session)) if session else "sign_in"  # type: ignore[misc]  # read once by App.__init__
        super().__init__()
        self._type_ahead = TypeAhead(self, super().on_event)
        self.words = self._type_ahead.words
        self.teardown = Teardown(self)
        self.settings = settings
        self.sign_in_methods = sign_in_methods
        self.trail = NavigationHistory(self)
        self.workspace = Workspace(self, self.trail)
        self._where_unsaved = ""
        """Where the texts are that could not be saved when the app ended, in a sentence. Empty: all were saved."""
        internals.add_line_filters(self, filters(settings))
        internals.replace_crash_screen(
            self,
            lambda error: report_crash(settings.state_folder, error, self._where_unsaved),
            first=self._keep_what_is_typed,
        )
        if not settings.motion:
            self.animation_level = "none"
        self.writes = Writes(self)
        self.keeping_fresh = KeepingFresh(self, self, every=look_every)
        self._session = session
        self.then: Callable[[], Opening] | None = None
        """What is to be opened when this has ended. Raises OSError, ValueError or NotSaved."""
        self.mistakes: tuple[str, ...] = settings.problems
        """What is wrong with the settings, a sentence each."""
        self._quitting = False
        self.picture = picture
        self.picturing: KeptPicture | None = None
        self.tasks = Tasks("A background task", self._failed)
        for theme in themes():
            self.register_theme(theme)
        self.theme = self._first_theme()
        if settings.theme and settings.theme not in self.available_themes:
            self.mistakes += (_wrong_theme(settings, self.theme_picker.names),)
        self.stylesheet = internals.new_stylesheet(self.get_css_variables())

    def get_driver_class(self) -> type[Driver]:
        chosen = super().get_driver_class()
        if chosen.__name__ != "LinuxDriver":
            return chosen
        from octavo.tui.terminal.driver import TerminalDriver

        return TerminalDriver

    # The session

    @property
    def session(self) -> Session:
        assert self._session is not None, "No screen but sign-in is shown without a session"
        return self._session

    @property
    def has_session(self) -> bool:
        return self._session is not None

    @property
    def why_no_writes(self) -> str:
        """Why nothing is sent that changes anything, in a sentence. Empty: it is."""
        return self._session.read_only if self._session is not None else ""

    async def start(self, session: Session, view: str = "") -> None:
        """Leave what was, and show `session`."""
        self._keep_picture()
        self._keep_what_is_typed()
        await self._end_session()
        self._session = session
        self._open(session)
        self.workspace.follow(session)
        await self.switch_mode(view or first_view(session))

    async def _end_session(self) -> None:
        self.keeping_fresh.end()
        self.workspace.leave()
        self.trail.clear()
        if self._session is not None:
            await self.writes.deliver()
            workers = tuple(self.workers)
            self.workers.cancel_all()
            await self.tasks.close()
            await asyncio.gather(*(worker.wait() for worker in workers), return_exceptions=True)
            old, self._session = self._session, None
            await old.live.close()
            await old.outbox.close()
            await old.close()

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGHUP, signal.SIGTERM):
            loop.add_signal_handler(number, self._terminated)
        if not self.is_headless:
            # Here Ctrl-C is a key. The signal is of the moment in which somebody else has the terminal, and for them.
            loop.add_signal_handler(signal.SIGINT, lambda: None)
        loop.set_exception_handler(self._seen)
        if self.settings.keys:
            # Only then: every place with keys has to be imported for it.
            from octavo.tui.app.keymap_contexts import KEYMAP_CONTEXTS
            from octavo.tui.widgets.commands import apply_keymap

            wrong = apply_keymap(self, self.settings.keys, (type(self), *KEYMAP_CONTEXTS))
            self.mistakes += tuple(f"{self.settings.location('keys', id)} {why}" for id, why in wrong)
        if len(self.mistakes) > 1:
            count = f"{len(self.mistakes)} settings are invalid. Press ! to list them. First problem:"
            self.say(f"{count} {self.mistakes[0]}", tone="care", seconds=MISTAKES_SECONDS)
        elif self.mistakes:
            self.say(self.mistakes[0], tone="care", seconds=MISTAKES_SECONDS)

    async def on_event(self, event: Event) -> None:
        if isinstance(event, EscapeOrAlt):
            is_alt = self.screen_stack and internals.is_bound(self, event.key)
            for each in (event.with_alt,) if is_alt else event.apart:
                await self.on_event(each)
            return
        if isinstance(event, InputEvent):
            self.teardown.garbage.key_pressed()
            self.keeping_fresh.key_pressed()
        await self._type_ahead.take(event)

    def on_app_blur(self) -> None:
        self.keeping_fresh.hide()

    def on_app_focus(self) -> None:
        self.keeping_fresh.show()

    def on_load(self) -> None:
        # What is known is asked for before the first screen is made, which then shows it in the first picture.
        self.hold_back()
        if self._session is not None:
            self.workspace.follow(self._session)

    def on_ready(self) -> None:
        self.call_later(self._paint_first)

    def _paint_first(self) -> None:
        """Paint the first screen, now that it holds what is known, and then ask for what is new."""
        self.show_first()
        self.call_after_refresh(self._first_painted)
        if self.picture is not None:
            from octavo.tui.app.kept_picture import KeptPicture

            self.picturing = KeptPicture(self, self.picture)
        if not self.is_headless:
            soon(self, lambda: self.workspace.is_from_before, lambda: warm_up(self.teardown.garbage))

    def _first_painted(self) -> None:
        if not self.is_headless:
            self.teardown.garbage.enable()
        if self._session is not None:
            self._open(self._session)

    def _open(self, session: Session) -> None:
        session.open()
        self.workspace.count_comments()
        self.keeping_fresh.begin(session)
        from octavo.tui.app.session_start import tell

        self.background(tell(self, session))

    # What the shell is asked for

    @property
    def screens(self) -> list[Screen[Any]]:
        return internals.all_screens(self)

    @property
    def suggestions(self) -> Suggestions:
        from octavo.tui.writing.suggestions import Suggesting  # few messages suggest anything

        return Suggesting(self)

    def signal(self, name: str) -> Signal[Any]:
        made: Signal[Any] = Signal(self, name)
        self.teardown.signals.append(made)
        return made

    def go(self, route: Route) -> None:
        routes.go(self, route)

    def page_shown(self, screen: Any) -> None:
        if self.picturing is not None:
            self.picturing.page_shown(screen)

    # Doing

    def background(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` to its end whatever screen is shown. An error that is not an ApiError is a bug, and seen."""
        return self.tasks.start(work)

    @property
    def ending(self) -> bool:
        """Whether the app was told to end: what is on the screen is being taken down."""
        return internals.is_ending(self)

    def _failed(self, error: BaseException) -> None:
        if isinstance(error, ApiError):
            self.say(str(error), tone="failed")
        else:
            internals.end_with(self, error)  # type: ignore[arg-type]  # what the loop keeps is an Exception

    def say(self, message: str, *, tone: Tone = "done", seconds: float | None = None, undo: bool = False) -> None:
        """Tell the person what happened, where it hides nothing they look at. Never markup."""
        if self.ending or not self.screen_stack:
            return  # there is no screen to say it on, or none any more: after a bug the app is taken down untold
        if self.screen.query("Notices"):
            self.notices.say(message, tone, seconds=seconds, undo=undo)
        else:
            severity = {"done": "information", "care": "warning", "failed": "error"}[tone]
            self.notify(message, severity=severity, markup=False)  # type: ignore[arg-type]  # one of its three words

    def copy_to_clipboard(self, text: str) -> None:
        if fits(self, text):
            super().copy_to_clipboard(text)

    def ignore_typing(self) -> None:
        self.words.ignore()

    def command_ran(self, id: str) -> None:
        self.workspace.tour.command_ran(id)

    def explain(self, sentence: str) -> None:
        self.say(sentence, tone="care")

    def undo(self) -> None:
        """Take back the last write, or stop it while it waits."""
        if self._session is not None:
            self.writes.undo()

    def show_view(self, view: str) -> None:
        """Show another view; the one on show as it is at its top."""
        if self._session is None:
            return
        if view == "organization":
            _choose_organization(self, None)
            return
        self.trail.leave(opened=False)
        if self.current_mode == view:
            while len(self.screen_stack) > 1:
                self.pop_screen()
            return
        self.switch_mode(view)

    def show_help(self) -> None:
        from octavo.tui.widgets.help import HelpScreen

        me = self.workspace.me if self._session is not None else None
        about = "Press 1 to 6 to open the views. The header shows item counts. Press f1 to read about the symbols."
        about = f"You are {me.name}. {about}" if me is not None else ""
        self.push_screen(HelpScreen(self.screen, partial(_show_topics, self, None), about))

    def show_palette(self) -> None:
        from octavo.tui.app.destinations import elsewhere
        from octavo.tui.widgets.command_palette import PaletteScreen

        self.push_screen(PaletteScreen(self.screen, self.theme_picker, elsewhere(self, self.screen)))

    def action_screenshot(self, filename: str | None = None, path: str | None = None) -> None:
        """Off: it would write a file wherever a caller says (T5)."""

    # Themes

    def _first_theme(self) -> str:
        """That of the settings, else the one chosen last, else what the terminal says of its ground."""
        last = self._session.state.get_fact("theme") if self._session is not None else None
        ground = "light" if self.settings.light_ground else "dark"
        return next((name for name in (self.settings.theme, str(last or "")) if name in self.available_themes), ground)

    @property
    def theme_picker(self) -> ThemePicker:
        """What tries themes on. One that is kept is worn at the next start too."""
        from octavo.tui.widgets.picker import ThemePicker

        def remember(name: str) -> None:
            if self._session is not None:
                self._session.state.set_fact("theme", name)

        return ThemePicker(self, remember)

    def validate_theme(self, name: str) -> str:
        """Give a theme of others our tokens before it is worn: without them no style could be read."""
        if name not in palettes():
            self.register_theme(adapt_theme(self.available_themes[name]))
        return name

    # Endings

    def switch_mode(self, mode: str) -> Any:
        if self._session is not None:
            remember_view(self._session, mode)
        return super().switch_mode(mode)

    def push_screen(self, screen: Any, *more: Any, **also: Any) -> Any:
        if isinstance(screen, Screen) and not screen.is_modal and self.screen_stack:
            self.trail.leave()
        return super().push_screen(screen, *more, **also)

    def is_screen_installed(self, screen: Screen[Any] | str) -> bool:
        return super().is_screen_installed(screen) or (isinstance(screen, Screen) and self.trail.holds(screen))

    async def action_quit(self) -> None:
        """End. Ask before when a text cannot be saved."""
        from octavo.tui.app.quitting import save_what_is_typed  # lazy: once in a run

        save_what_is_typed(self)
        if self._session is None or not self._session.drafts.unsaved():
            self._keep_picture()
            self._terminated()
            return
        from octavo.tui.app.unsaved_texts import UnsavedTexts  # lazy: a full disk is rare

        def decided(answer: Confirmed | None) -> None:
            if answer is None:
                self.then = None
            elif self._session is not None:
                self._session.drafts.drop_unsaved()
                self._keep_picture()
                self._terminated(lose=True)

        if not any(isinstance(each, UnsavedTexts) for each in self.screen_stack):
            self.push_screen(UnsavedTexts(self), decided)

    async def on_unmount(self) -> None:
        # The terminal is given back before: letting go of what is on disk may take a moment.
        if self._quitting:
            await self._end_session()

    def _terminated(self, *, lose: bool = False) -> None:
        """The terminal is gone or we were asked to end: keep what is being typed, then go (D6). `lose`: keep nothing."""
        if not lose:
            self._keep_what_is_typed()
        self._quitting = True
        self.exit(0, message=Text(self._where_unsaved) if self._where_unsaved else None)

    def _keep_picture(self) -> None:
        if self.picturing is not None:
            self.picturing.end()
            self.picturing = None

    def _seen(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A task that nobody waits for failed: a bug, which must be seen."""
        error = context.get("exception")
        if isinstance(error, Exception):
            internals.end_with(self, error)
        else:
            loop.default_exception_handler(context)

    def _keep_what_is_typed(self) -> None:
        """Save all drafts, and write those that cannot be saved to files: you cannot be asked any more."""
        from octavo.tui.app.quitting import save_what_is_typed  # lazy: once in a run

        save_what_is_typed(self)
        if self._session is not None and self._session.drafts.unsaved():
            from octavo.tui.app.editor_files import write_unsaved  # lazy: a full disk is rare

            self._where_unsaved = write_unsaved(self._session, self.settings.state_folder)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[Any]:
        return ()
