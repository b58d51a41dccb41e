"""The cancel token: raised once, seen by all, and no wake after its subscription ended."""

from __future__ import annotations

import threading

from holon_core.cancel import CancelToken


def test_a_subscriber_is_woken_once() -> None:
    """Cancelling again does not wake again."""
    cancel, woken = CancelToken(), []
    cancel.subscribe(lambda: woken.append(1))

    cancel.cancel()
    cancel.cancel()

    assert (cancel.cancelled, woken) == (True, [1])


def test_who_subscribes_too_late_is_woken_at_once() -> None:
    """Nobody waits for a cancellation that has been."""
    cancel, woken = CancelToken(), []
    cancel.cancel()

    cancel.subscribe(lambda: woken.append(1))

    assert woken == [1]


def test_an_ended_subscription_is_not_woken() -> None:
    """Ending it twice, or after the cancellation, is no mistake."""
    cancel, woken = CancelToken(), []
    end = cancel.subscribe(lambda: woken.append(1))
    end()
    end()

    cancel.cancel()
    end()

    assert woken == []


def test_a_wake_may_end_its_own_subscription_and_ask_the_token() -> None:
    """What runs inside ``cancel`` does not wait for ``cancel``."""
    cancel = CancelToken()
    woken: list[bool] = []

    def wake() -> None:
        end()
        cancel.cancel()
        woken.append(cancel.cancelled)

    end = cancel.subscribe(wake)
    cancel.cancel()

    assert woken == [True]


def test_ending_a_subscription_waits_for_a_wake_that_is_running() -> None:
    """So that what the wake uses can be closed afterwards."""
    cancel, order = CancelToken(), []
    inside, go_on = threading.Event(), threading.Event()

    def wake() -> None:
        inside.set()
        go_on.wait(10)
        order.append("woken")

    end = cancel.subscribe(wake)
    canceller = threading.Thread(target=cancel.cancel)
    canceller.start()
    inside.wait(10)
    threading.Timer(0.1, go_on.set).start()
    end()
    order.append("ended")
    canceller.join()

    assert order == ["woken", "ended"]
