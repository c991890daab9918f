"""What a peer says of itself in ``hello``, and how it is talked to from then on."""

import re
from typing import NamedTuple

from reel.session import MessagePack
from reel.version import __version__

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?")
_ANY_ORDER_SINCE = (0, 10)


class Greeting(NamedTuple):
    """What a peer has said; ``None`` where it said nothing.

    ``client`` and ``version`` are its own, ``errors`` is how it wants them, ``notify`` the method and the first
    arguments that it wants pushes with.
    """

    client: str | None
    version: str | None
    errors: str | None
    notify: list[str] | None

    @property
    def is_neovim(self) -> bool:
        """Whether the peer is Neovim."""
        return self.client == "nvim"

    @property
    def wants_newest_first(self) -> bool:
        """Whether the peer takes replies to nested calls from the inside out only: a Neovim that is, or may be, old."""
        if not self.is_neovim:
            return False
        found = _VERSION.match(self.version or "")
        return found is None or (int(found[1]), int(found[2])) < _ANY_ORDER_SINCE


def introduction(framing: MessagePack) -> bytes:
    """Tell Neovim who we are; from 0.10 on it then takes replies in any order."""
    found = _VERSION.match(__version__)
    numbers = [int(number or 0) for number in found.groups()] if found else [0, 0, 0]
    version = dict(zip(("major", "minor", "patch"), numbers, strict=True))
    return framing.notify("nvim_set_client_info", ["reeld", version, "msgpack-rpc", {}, {}])
