"""The async client, on anyio; :mod:`reel.sync` has the same modules for blocking programs.

It imports what is below both clients, and anyio; nothing of the blocking client. Begin with :mod:`reel.aio.client`.
"""

try:
    from reel.aio.client import Client
    from reel.aio.connecting import connect
    from reel.aio.subscription import Subscription
except ModuleNotFoundError as error:
    if error.name != "anyio":
        raise
    from reel.base.installation import needs

    raise ModuleNotFoundError(needs("reel.aio", "anyio"), name=error.name) from None

__all__ = ["Client", "Subscription", "connect"]
