"""The notice that the daemon gives before new settings of retention purge anything."""

import time
from typing import Any

from reel.reading.wording import duration


def retention_notice(stats: dict[str, Any]) -> str | None:
    """Return when new settings begin to purge agents, as a sentence; ``None`` if they have begun, or there are none.

    Args:
        stats: what the daemon counts.
    """
    left = (stats.get("retention_after") or 0) / 1000 - time.time()
    if left <= 0:
        return None
    return f"the settings are new: the conversations that are too old are purged in {duration(left)}"
