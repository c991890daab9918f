"""Names that were typed in part."""

from reel.errors import InvalidParams, NotFound
from reel.sync.client import Client

_SHOWN = 6


def only_one(client: Client, beginning: str, refused: NotFound) -> str:
    """Give the one agent whose name begins so; the dead count where no living one's does.

    Raises:
        NotFound: there is none, or more than one; they are in its ``data``.
    """
    names = _names(client, beginning, alive=True) or _names(client, beginning, alive=False)
    if len(names) == 1:
        return names[0]
    if not names:
        raise refused
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    raise NotFound(f"no agent {beginning}, and more than one whose name begins so: {shown}", candidates=names)


def _names(client: Client, beginning: str, *, alive: bool) -> list[str]:
    try:
        page = client.agents(beginning, alive, _SHOWN + 1)
    except InvalidParams:
        return []  # nothing that could begin a name
    return sorted({row.name for row in page.agents})
