"""A Secret Service on a D-Bus session whose keyring is locked, and whose user dismisses the password prompt.

`python -m tests.cli.locked_keyring` serves the bus in DBUS_SESSION_BUS_ADDRESS, and prints a line once it can be asked.
"""

from __future__ import annotations

from typing import Any

from jeepney import (
    DBusAddress,
    HeaderFields,
    Message,
    MessageType,
    message_bus,
    new_error,
    new_method_return,
    new_signal,
)
from jeepney.io.blocking import open_dbus_connection

COLLECTION, SESSION, PROMPT = (f"/org/freedesktop/secrets/{name}" for name in ("collection/login", "session", "prompt"))


def answer(message: Message) -> tuple[str, tuple[Any, ...]] | None:
    """Return the signature and the values that answer a call. None if it is not supported."""
    name, body = message.header.fields[HeaderFields.member], message.body
    if name == "Get":
        return {"Locked": ("v", (("b", True),)), "Label": ("v", (("s", "Login"),))}.get(body[1])
    return {
        "OpenSession": ("vo", (("s", ""), SESSION)) if body[:1] == ("plain",) else None,
        "ReadAlias": ("o", (COLLECTION,)),
        "Unlock": ("aoo", ([], PROMPT)),
        "Prompt": ("", ()),
    }.get(name)


def main() -> None:
    with open_dbus_connection() as bus:
        bus.send_and_get_reply(message_bus.RequestName("org.freedesktop.secrets"))
        print("ready", flush=True)
        while True:
            message = bus.receive()
            if message.header.message_type != MessageType.method_call:
                continue
            found = answer(message)
            bus.send(
                new_method_return(message, *found)
                if found
                else new_error(message, "org.freedesktop.DBus.Error.NotSupported")
            )
            if message.header.fields[HeaderFields.member] == "Prompt":
                prompt = DBusAddress(PROMPT, interface="org.freedesktop.Secret.Prompt")
                bus.send(new_signal(prompt, "Completed", "bv", (True, ("ao", []))))


if __name__ == "__main__":
    main()
