"""Commands of the account: sign in, switch to another account, and sign out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api.errors import ApiError
from octavo.lazy_import import lazy
from octavo.settings import in_words
from octavo.tui.core.session import ServerAccount
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from collections.abc import Callable

    from octavo.tui.core.session import SignInState
    from octavo.tui.core.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

_choice = lazy("octavo.tui.widgets.chooser:Choice")
_picker = lazy("octavo.tui.widgets.chooser:Picker")
_confirm_dialog = lazy("octavo.tui.widgets.confirm:ConfirmDialog")


def reopen(app: Shell, open_next: Callable[[], SignInState]) -> None:
    """Save all drafts and end the app. Then start the app again with the sign-in methods and the session that
    `open_next` returns."""
    app.open_next = open_next
    app.background(app.action_quit())


def _is_signed_in(app: Shell, _: object) -> bool:
    return app.has_session


def _needs_api_key(app: Shell, _: object) -> bool:
    return app.has_session and app.workspace.connection.needs_key


def _sign_in(app: Shell, _: object) -> None:
    account = app.session.account
    _show_sign_in(app, f"{_paste_key(account)}, or the API key of a different account." if account is not None else "")


def sign_in_after_rejection(app: Shell) -> None:
    """Show the sign-in screen, because the server rejects the API key. While the user is typing, show a
    notification instead."""
    account = app.session.account
    if account is None:
        return
    rejected = f"{account.host} rejected your API key: it is wrong, expired, or revoked."
    focused = app.screen.focused
    is_typing = app.screen.is_modal or (focused is not None and focused.check_consume_key("a", "a"))
    if is_typing or not app.may_ask_for_key:
        app.say(f"{rejected} Sign in again to load and send changes.", tone="failed")
    else:
        _show_sign_in(app, f"{rejected} {_paste_key(account)}. Your drafts are saved.")


def _paste_key(account: ServerAccount) -> str:
    return f"Paste a new API key for {account.name or 'this account'}"


def _show_sign_in(app: Shell, prompt: str) -> None:
    session, methods = app.session, app.sign_in_methods
    reopen(app, lambda: (methods.with_new_key(prompt, session), None))


def _switch(app: Shell, _: object) -> None:
    current, methods = app.session.account, app.sign_in_methods
    others = [each for each in methods.accounts() if current is None or each.name != current.name]
    if not others:
        app.explain("No other account is saved on this computer. Sign in to add another account.")
        return

    def switch(name: str | None) -> None:
        if name is not None:
            reopen(app, lambda: methods.switch_account(name))

    choices = [_choice(each.name, each.name, detail=each.user, right=each.host) for each in others]
    app.push_screen(_picker("Switch account", choices), switch)


def _why_not_signed_out(app: Shell, _: object) -> str | None:
    account = app.session.account
    if account is None:
        return "You are not signed in. The demo and local folders do not need an account."
    if not account.name:
        return "The API key of this account comes from OCTAVO_API_KEY. To sign out, unset OCTAVO_API_KEY and restart Octavo."
    return None


def _sign_out(app: Shell, _: object) -> None:
    if (account := app.session.account) is None:
        return

    def sign_out(answer: Confirmed | None) -> None:
        if answer is not None:
            app.say(f"Signing out of {account.name}…")
            app.background(_delete_account(app, account))

    app.push_screen(
        _confirm_dialog(
            f"Sign out of {account.name} at {account.host}?",
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
        app.say(f"Could not sign out of {account.name}: {in_words(error)}", tone="failed")
    else:
        reopen(app, open_next)


ACCOUNT: Commands[Shell] = Commands(
    "account",
    (
        Command("sign_in", "f3", "Sign in", "Sign in again or sign in to another account", run=_sign_in,
                is_available=_is_signed_in, offered_on_failure=_needs_api_key, shown=False),
        Command("switch", "f4", "Switch account", "Switch to another account", run=_switch,
                is_available=_is_signed_in, offered_on_failure=_needs_api_key, shown=False),
        Command("sign_out", "", "Sign out", "Sign out and delete the API key and cached pages",
                run=_sign_out, why_not=_why_not_signed_out, is_available=_is_signed_in,
                offered_on_failure=_needs_api_key),
    ),
    find=lambda app: app,
)  # fmt: skip
