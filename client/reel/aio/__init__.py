"""The async client, on anyio; :mod:`reel.sync` has the same modules for blocking programs."""

try:
    from reel.aio.client import Client, connect
    from reel.aio.subscription import Subscription
except ModuleNotFoundError as error:
    if error.name != "anyio":
        raise
    advice = "reel.aio needs anyio, which is not installed; install it with: pip install anyio"
    raise ModuleNotFoundError(advice, name=error.name) from None

__all__ = ["Client", "Subscription", "connect"]
