"""The notice that the daemon gives before new settings of retention purge anything."""

import time
from typing import Any

from reel.reading.wording import duration


def retention_notice(stats: dict[str, Any]) -> str | None:
    """Return when new settings begin to purge or prune, as a sentence; ``None`` if they have begun, or there are none.

    Args:
        stats: what the daemon counts.
    """
    about = {
        "retention_after": "the conversations that are too old are purged",
        "retention_history_after": "what nothing reaches any more and is too old is pruned",
    }
    left = {name: (stats.get(name) or 0) / 1000 - time.time() for name in about}
    coming = [f"{about[name]} in {duration(seconds)}" for name, seconds in left.items() if seconds > 0]
    return f"the settings are new: {', and '.join(coming)}" if coming else None
