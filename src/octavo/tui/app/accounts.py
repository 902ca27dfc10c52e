"""Accounts: sign in again or with another key, sign out, and switch to another account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from octavo.api.errors import ApiError
from octavo.settings import in_words
from octavo.tui.shell.session import Account
from octavo.tui.shell.shell import Shell
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from collections.abc import Callable

    from octavo.tui.shell.session import Opening
    from octavo.tui.widgets.confirm import Confirmed


class Opens(Shell, Protocol):
    """An app that can end, and open with something else."""

    then: Callable[[], Opening] | None
    """What is opened when this app has ended."""


def reopen(app: Opens, then: Callable[[], Opening]) -> None:
    """End the app with all that is typed kept, and open what `then` returns."""
    app.then = then
    app.background(app.action_quit())


def _is_signed_in(app: Opens, _: object) -> bool:
    return app.has_session


def _lacks_key(app: Opens, _: object) -> bool:
    return app.has_session and app.workspace.lacks_key


def _sign_in(app: Opens, _: object) -> None:
    session, methods = app.session, app.sign_in_methods
    said = ""
    if session.account is not None:
        said = (
            f"Paste a new API key for {session.account.name or 'this account'}, or the API key of a different account."
        )
    reopen(app, lambda: (methods.asking(said, session), None))


def _switch(app: Opens, _: object) -> None:
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    now, methods = app.session.account, app.sign_in_methods
    others = [each for each in methods.accounts() if now is None or each.name != now.name]
    if not others:
        app.explain("No other account is saved on this computer. Sign in to add another account.")
        return

    def chosen(name: str | None) -> None:
        if name is not None:
            reopen(app, lambda: methods.use(name))

    choices = [Choice(each.name, each.name, detail=each.user, right=each.host) for each in others]
    app.push_screen(Picker("Switch account", choices), chosen)


def _why_not_signed_out(app: Opens, _: object) -> str | None:
    account = app.session.account
    if account is None:
        return "You are not signed in. The demo and local folders do not need an account."
    if not account.name:
        return "The API key of this account comes from OCTAVO_API_KEY. To sign out, unset OCTAVO_API_KEY and restart Octavo."
    return None


def _sign_out(app: Opens, _: object) -> None:
    from octavo.tui.widgets.confirm import ConfirmDialog

    if (account := app.session.account) is None:
        return

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.say(f"Signing out of {account.name}…")
            app.background(_signed_out(app, account))

    app.push_screen(
        ConfirmDialog(
            f"Sign out of {account.name} at {account.host}?",
            verb="Sign out",
            intro="The API key and the cached pages of this account will be deleted from this computer.",
            after="Your drafts and unsent changes will stay on this computer and will be available when you sign in again.",
        ),
        decided,
    )


async def _signed_out(app: Opens, account: Account) -> None:
    try:
        then = await app.sign_in_methods.sign_out(account)
    except (ApiError, ValueError, OSError) as error:
        app.say(f"Could not sign out of {account.name}: {in_words(error)}", tone="failed")
    else:
        reopen(app, then)


ACCOUNT: Commands[Opens] = Commands(
    "account",
    (
        Command("sign_in", "f3", "Sign in", "Sign in again or sign in to another account", run=_sign_in,
                is_available=_is_signed_in, offered_on_failure=_lacks_key, shown=False),
        Command("switch", "f4", "Switch account", "Switch to another account", run=_switch,
                is_available=_is_signed_in, offered_on_failure=_lacks_key, shown=False),
        Command("sign_out", "", "Sign out", "Sign out and delete the API key and cached pages",
                run=_sign_out, why_not=_why_not_signed_out, is_available=_is_signed_in, offered_on_failure=_lacks_key),
    ),
    find=lambda app: app,
)  # fmt: skip
