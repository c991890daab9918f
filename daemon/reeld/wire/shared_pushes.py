"""Pushes that go to many subscriptions, encoded only once for each framing."""

from abc import ABC, abstractmethod
from typing import Any


class SharedPush:
    """The parameters of a push that goes to many subscriptions, encoded only once for each framing.

    Args:
        fields: the parameters that still have to be encoded.
        packed: further parameters, as MessagePack already.
    """

    __slots__ = ("encodings", "fields", "packed", "pushes")

    def __init__(self, fields: dict[str, Any], packed: dict[str, bytes]) -> None:
        self.fields = fields
        self.packed = packed
        # By the name of the framing.
        self.encodings: dict[str, Any] = {}
        # Complete pushes without a ``push_target``, by framing and subscription number. Most connections have only one
        # subscription, so most pushes are identical.
        self.pushes: dict[tuple[str, int], bytes] = {}


class SharedPushes(ABC):
    """The part of every framing that encodes a push to many subscriptions only once."""

    name: str
    push_target: list[str]

    def push(self, method: str, sub: int, shared: SharedPush) -> bytes:
        """Encode a push to the subscription with the number ``sub``."""
        if self.push_target:
            return self._lay_push(method, sub, shared)
        key = (self.name, sub)
        whole = shared.pushes.get(key)
        if whole is None:
            whole = shared.pushes[key] = self._lay_push(method, sub, shared)
        return whole

    @abstractmethod
    def _lay_push(self, method: str, sub: int, shared: SharedPush) -> bytes:
        """Encode the whole push, reusing ``shared.encodings`` if possible."""
