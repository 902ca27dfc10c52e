"""Refreshes the visible data at intervals: start at `BackgroundRefresh`. Also the notifications when a session starts,
and the commands to sign in, sign out and switch to another account."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from octavo.api.errors import ApiError
from octavo.data.writes.direct import unfinished_writes
from octavo.lazy_import import lazy
from octavo.settings import error_in_words
from octavo.tui.core.session import ServerAccount, Session, SignInState
from octavo.tui.editing.page_drafts import editor_folder, report_unsent_pages
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from textual.timer import Timer

    from octavo.api.operation import Operation
    from octavo.data.polling import Poller
    from octavo.tui.app.user_programs import EventHooks
    from octavo.tui.core.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

_report_unfinished_writes = lazy("octavo.tui.review.status_changes:report_unfinished_writes")
_recover_drafts = lazy("octavo.tui.app.quitting:recover_drafts")
_new_poller = lazy("octavo.data.polling:Poller")
_adopt_fingerprints = lazy("octavo.data.polling:adopt_fingerprints")
_new_event_hooks = lazy("octavo.tui.app.user_programs:EventHooks")
_choice = lazy("octavo.tui.widgets.chooser:Choice")
_picker = lazy("octavo.tui.widgets.chooser:Picker")
_confirm_dialog = lazy("octavo.tui.widgets.confirm:ConfirmDialog")


GREETING = "Press ? to show all keys or : to find a command."
PROBLEM_SECONDS = GREETING_SECONDS = 15.0
_SECONDS_BEFORE_PROGRESS = 1.0
_SECONDS_BETWEEN_PROGRESS = 0.5
_PROGRESS_SECONDS = 30.0
"""Maximum time for which a progress notification is shown, in seconds."""
_GREETED_KEY = "greeted"


async def notify_on_start(app: Shell, session: Session) -> None:
    """Show the notifications of a new session, such as unsent pages, each as soon as its data is loaded."""
    notifications = [report_unsent_pages(app, session)]
    if unfinished_writes(session.state):
        notifications.append(_report_unfinished_writes(app, session))
    if any(editor_folder(app).glob("*")):
        notifications.append(_recover_drafts(app))
    if not session.state.get_value(_GREETED_KEY):
        session.state.set_value(_GREETED_KEY, True)
        app.say(GREETING, seconds=GREETING_SECONDS)
    if session.greeting:
        app.say(session.greeting)
    if session.folder_warnings is not None:
        warnings = asyncio.ensure_future(session.folder_warnings())
        notifications += [_show_progress(app, session.load_progress, warnings), _show_problems(app, warnings)]
    await asyncio.gather(*notifications)


async def _show_progress(app: Shell, progress: Callable[[], str], warnings: asyncio.Future[Sequence[str]]) -> None:
    notice_number = 0
    await asyncio.wait([warnings], timeout=_SECONDS_BEFORE_PROGRESS)
    while ((message := progress()) or not warnings.done()) and not app.is_ending:
        if message:
            app.notices.close(notice_number)
            notice_number = app.notices.say(message, seconds=_PROGRESS_SECONDS)
        await asyncio.sleep(_SECONDS_BETWEEN_PROGRESS)
    app.notices.close(notice_number)


async def _show_problems(app: Shell, warnings: Awaitable[Sequence[str]]) -> None:
    if problems := await warnings:
        suffix = (
            f" {plural(len(problems) - 1, 'more problem')} will be listed when you quit." if len(problems) > 1 else ""
        )
        app.say(f"Problem in this folder: {problems[0].rstrip('.')}.{suffix}", tone="care", seconds=PROBLEM_SECONDS)


CHECK_INTERVAL = 5.0
"""Seconds between two checks whether a refresh is due."""


class BackgroundRefresh:
    """Refreshes the inbox and the shown data at intervals. Runs the user's hooks for new inbox rows and merges."""

    def __init__(self, app: Shell, *, check_interval: float | None) -> None:
        """After `begin`, `refresh_if_due` runs every `check_interval` seconds, or never if `check_interval` is None."""
        self.poller: Poller | None = None
        """Decides when a refresh is due and what it loads. None before the first check in a session."""
        self._session: Session | None = None
        self._app, self._interval = app, check_interval
        self._timer: Timer | None = None
        self._is_reading_files = False
        self._hooks: EventHooks | None = None
        """Runs hooks and shows notifications. None if the settings enable neither."""

    def begin(self, session: Session) -> None:
        """Begin to refresh the session. Called after the first paint."""
        self._session = session
        session.live.before_update.add(partial(_adopt_fingerprints, session.live))
        settings = self._app.settings
        if settings.hooks or settings.notify != "off":
            if self._hooks is None:
                self._hooks = _new_event_hooks(self._app)
                self._app.workspace.inbox.changed.subscribe(self._app, self._hooks.on_inbox_changed)
            self._hooks.forget_seen_rows()
            self._app.workspace.inbox.start()
        if not self._app.app_focus and self._hooks is None:
            session.live.syncer.set_hidden(True)
        if self._timer is None and self._interval is not None:
            self._timer = self._app.set_interval(self._interval, self.refresh_if_due)

    def end(self) -> None:
        """Stop refreshing, because the session ends."""
        self._session = self.poller = None

    def on_key_pressed(self) -> None:
        """Tell the poller that the user is active, and clear the news in the status bar."""
        if self.poller is not None:
            self.poller.on_key_pressed()
            self._app.workspace.news.dismiss()

    def on_terminal_hidden(self) -> None:
        """Pause refreshes while the terminal has no focus, unless there are hooks or notifications."""
        if self._hooks is None and self._session is not None:
            self._session.live.syncer.set_hidden(True)

    def on_terminal_shown(self) -> None:
        """Continue refreshing, because the terminal has the focus again."""
        if self._session is not None:
            self._session.live.syncer.set_hidden(False)
        if self.poller is not None:
            self.poller.on_key_pressed()
            self.refresh_if_due()

    def refresh_if_due(self) -> None:
        """Refresh the visible data and the inbox if a refresh is due. Also load changed files of an open folder."""
        if self._session is None or self._app.is_ending:
            return
        if self.poller is None:
            poll_inbox = self._app.workspace.inbox.poll
            self.poller = _new_poller(self._session.live, visible=self._visible_ops, after_poll=poll_inbox)
        if self.poller.is_due:
            self._app.background(self._refresh(self.poller))
        if self._session.reload_files is not None and not self._is_reading_files:
            self._app.background(self._read_changed_files(self._session, self._session.reload_files))

    async def _read_changed_files(self, session: Session, reload: Callable[[], Awaitable[bool]]) -> None:
        """Load the changed files of an open folder with `reload`. If files have changed, refresh the visible data."""
        self._is_reading_files = True
        try:
            is_changed = await reload()
        except OSError as error:
            self._app.say(f"Could not read the changed files in this folder: {error_in_words(error)}", tone="failed")
            return
        finally:
            self._is_reading_files = False
        if is_changed and session is self._session and not self._app.is_ending:
            self._app.say("Loaded the changed files in this folder.")
            for op in self._visible_ops():
                self._app.background(session.live.refresh(op))

    async def _refresh(self, poller: Poller) -> None:
        news = await poller.run()
        if poller is self.poller and not self._app.is_ending:
            self._app.workspace.news.add(news.counts)
            if self._hooks is not None:
                self._hooks.on_merges(news.merged)
            self._app.workspace.connection.update()
            for rows in self._app.screen.query(LineList):
                rows.redraw()  # Ages in the rows have changed, even if the data has not.

    def _visible_ops(self) -> Sequence[Operation[Any]]:
        subscriptions = tuple(self._app.workspace.connection.subscriptions)
        return tuple(op for each in subscriptions if each.is_on_current_screen for op in each.operations())


def reopen(app: Shell, open_next: Callable[[], SignInState], greeting: str = "") -> None:
    """Save all drafts, and start the app again with the session or sign-in screen that `open_next` returns. A session
    then shows `greeting`, unless it is empty."""

    def open_with_greeting() -> SignInState:
        methods, session = open_next()
        return methods, session and replace(session, greeting=greeting)

    app.open_next = open_with_greeting
    app.background(app.action_quit())


def _is_signed_in(app: Shell, _: object) -> bool:
    return app.has_session


def _needs_api_key(app: Shell, _: object) -> bool:
    return app.has_session and app.workspace.connection.needs_key


def _open_sign_in(app: Shell, _: object) -> None:
    account = app.session.account
    _show_sign_in(app, f"{_paste_key(account)}, or the API key of a different account." if account is not None else "")


def sign_in_after_rejection(app: Shell) -> None:
    """Show the sign-in screen after the server rejected the API key. Show only a notification if the user is typing, if
    a dialog is open, or if Octavo may not ask for a key. Do nothing without an account."""
    account = app.session.account
    if account is None:
        return
    reason = f"{account.host} rejected your API key: it is wrong, expired, or revoked."
    focused = app.screen.focused
    is_typing = app.screen.is_modal or (focused is not None and focused.check_consume_key("a", "a"))
    if is_typing or not app.may_ask_for_key:
        app.say(f"{reason} Sign in again to load and send changes.", tone="failed")
    else:
        _show_sign_in(app, f"{reason} {_paste_key(account)}. Your drafts are saved.")


def _paste_key(account: ServerAccount) -> str:
    return f"Paste a new API key for {account.profile_name or 'this account'}"


def _show_sign_in(app: Shell, prompt: str) -> None:
    session, methods = app.session, app.sign_in_methods
    reopen(app, lambda: (methods.methods_for_new_key(prompt, session), None))


def _switch(app: Shell, _: object) -> None:
    account, methods = app.session.account, app.sign_in_methods
    other_accounts = [
        each for each in methods.accounts() if account is None or each.profile_name != account.profile_name
    ]
    if not other_accounts:
        app.explain("No other account is saved on this computer. Press f3 to sign in to another account.")
        return

    choices = [_choice(each, each.profile_name, detail=each.user_name, right=each.host) for each in other_accounts]

    def switch(account: ServerAccount) -> None:
        user_text = f" You are {account.user_name}." if account.user_name else ""
        greeting = f"Switched to {account.profile_name} at {account.host}.{user_text}"
        reopen(app, lambda: methods.switch_account(account.profile_name), greeting)

    app.ask(_picker("Switch account", choices), switch)


def _why_not_sign_out(app: Shell, _: object) -> str | None:
    account = app.session.account
    if account is None:
        return "You are not signed in. The demo and local folders do not need an account."
    if not account.profile_name:
        return "The API key of this account comes from OCTAVO_API_KEY. To sign out, unset OCTAVO_API_KEY and restart Octavo."
    return None


def _sign_out(app: Shell, _: object) -> None:
    if (account := app.session.account) is None:
        return

    def sign_out(answer: Confirmed) -> None:
        app.say(f"Signing out of {account.profile_name}…")
        app.background(_delete_account(app, account))

    app.ask(
        _confirm_dialog(
            f"Sign out of {account.profile_name} at {account.host}?",
            verb="Sign out",
            intro="The API key and the cached pages of this account will be deleted from this computer.",
            after="Your drafts and unsent changes will stay on this computer and will be available when you sign in again.",
        ),
        sign_out,
    )


async def _delete_account(app: Shell, account: ServerAccount) -> None:
    try:
        open_next = await app.sign_in_methods.sign_out(account)
    except (ApiError, ValueError, OSError) as error:
        app.say(f"Could not sign out of {account.profile_name}: {error_in_words(error)}", tone="failed")
    else:
        reopen(app, open_next)


ACCOUNT: Commands[Shell] = Commands(
    "account",
    (
        Command("sign_in", "f3", "Sign in", "Sign in again or sign in to another account", run=_open_sign_in,
                is_available=_is_signed_in, offered_on_failure=_needs_api_key, shown=False),
        Command("switch", "f4", "Switch account", "Switch to another account", run=_switch,
                is_available=_is_signed_in, offered_on_failure=_needs_api_key, shown=False),
        Command("sign_out", "", "Sign out", "Sign out and delete the API key and cached pages",
                run=_sign_out, why_not=_why_not_sign_out, is_available=_is_signed_in,
                offered_on_failure=_needs_api_key),
    ),
)  # fmt: skip
