"""When something was said, which may be long before it was added: by an import, for example."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reel.replies import Edit, Hit


def said_at(found: Edit | Hit) -> int:
    """Return when something was said, in milliseconds since the epoch."""
    return found.time if found.sent is None else found.sent
