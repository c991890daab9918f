"""The async client, on anyio; :mod:`reel.sync` has the same modules for blocking programs."""

from reel.aio.client import Client, connect
from reel.aio.subscription import Subscription

__all__ = ["Client", "Subscription", "connect"]
