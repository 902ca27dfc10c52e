"""Callbacks that are called on changes."""

from __future__ import annotations

from octavo.data.live_response import Observers


def test_callbacks_are_called_in_order_until_they_are_removed() -> None:
    seen: list[str] = []
    observers: Observers[[str]] = Observers()
    assert not observers
    remove = observers.add(lambda text: seen.append(f"first {text}"))
    observers.add(lambda text: seen.append(f"second {text}"))
    observers.notify("a")
    remove()
    remove()
    observers.notify("b")
    assert seen == ["first a", "second a", "second b"]


def test_callback_may_remove_itself_and_add_another_while_called() -> None:
    seen: list[str] = []
    observers: Observers[[]] = Observers()

    def once() -> None:
        seen.append("once")
        remove()
        observers.add(lambda: seen.append("later"))

    remove = observers.add(once)
    observers.notify()
    observers.notify()
    assert seen == ["once", "later"]
