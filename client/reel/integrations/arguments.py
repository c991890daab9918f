"""The arguments of a call, for a framework in which they are a map."""

import json

from reel.base.strict_json import Json


def map_of(arguments: str) -> Json:
    """Return the arguments of a call, which are JSON text that a model wrote, as a map.

    Whatever is no JSON object becomes the value of the key ``arguments``.
    """
    try:
        found = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return {"arguments": arguments}
    return found if isinstance(found, dict) else {"arguments": found}
