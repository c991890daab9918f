"""Both clients have the same methods."""

import inspect

from reel import aio, requests
from reel.sync.client import Client, connect


def test_both_clients_have_every_request() -> None:
    """Each request is a method of both clients, with the same parameters and documentation."""
    for name in [*(name for name in requests.__all__ if hasattr(Client, name)), "answer"]:
        blocking, concurrent = getattr(Client, name), getattr(aio.Client, name)

        assert inspect.signature(blocking).parameters == inspect.signature(concurrent).parameters, name
        assert blocking.__doc__ == concurrent.__doc__, name


def test_the_async_client_lacks_no_method() -> None:
    """It lacks what ``reel.aio.connect`` does for it, and what those need who have a blocking client."""
    public = {name for name in dir(Client) if not name.startswith("_")}

    only = {"begin", "connect", "converse", "dial", "fingerprint", "is_still", "send_within"}
    assert only == public - set(dir(aio.Client))


def test_both_clients_connect_alike() -> None:
    """Connecting takes the same parameters."""
    assert inspect.signature(connect).parameters == inspect.signature(aio.connect).parameters
