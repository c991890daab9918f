"""Whether an ``add`` has messages or a provider's items: the rules between its parameters."""

from reel.base.errors import InvalidParams
from reel.said.formats import FORMATS
from reeld.core.item_forms import is_own
from reeld.protocol.params import Add


def has_items(asked: Add) -> bool:
    """Return whether an ``add`` has items; if not, it has messages.

    Raises:
        InvalidParams: it has both or neither, or a parameter that does not go with them.
    """
    if asked.tags is not None and not asked.create:
        raise InvalidParams("tags: only a new agent gets them; add with create, or use change", field="tags")
    if asked.items is None:
        for name in ("format", "model", "refs", "sent"):
            if getattr(asked, name) is not None:
                raise InvalidParams(f"{name} applies to items; add items, or omit it", field=name)
        if asked.messages is None:
            raise InvalidParams("messages is missing; give messages, or items and their format", field="messages")
        return False
    if asked.format is None:
        raise InvalidParams(f"format is missing; items have one of {', '.join(FORMATS)}", field="format")
    if not is_own(asked.format):
        if asked.messages is not None:
            raise InvalidParams("items: give messages or items, not both; use two commands", field="items")
    elif asked.messages is None:
        why = f"messages is required: the daemon cannot read items of the format {asked.format!r}"
        raise InvalidParams(why, field="messages")
    elif asked.model is not None:
        why = "model: set it in the provider_metadata of the messages instead"
        raise InvalidParams(why, field="model")
    return True
