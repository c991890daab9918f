"""The parameters of ``add`` that are about a provider's items, before anything converts them."""

from typing import Any, NamedTuple

from reel.errors import InvalidParams
from reel.formats import FORMATS
from reeld.core.item_forms import is_own


class GivenItems(NamedTuple):
    """The parameters of ``add`` that say what the items are; ``refs`` and ``sent`` are lists with one for each.

    ``messages`` are what items of a client's own format say; those of a provider's format are converted here.
    """

    items: Any
    format: str
    messages: Any
    model: str | None
    refs: Any
    sent: Any


def given_items(
    messages: Any, items: Any, format_name: str | None, model: str | None, refs: Any, sent: Any
) -> GivenItems | None:
    """Return the items that an ``add`` has; ``None`` if it has messages.

    Raises:
        InvalidParams: it has both or neither, or the format is missing.
    """
    if items is None:
        others = {"format": format_name, "model": model, "refs": refs, "sent": sent}
        for name, value in others.items():
            if value is not None:
                raise InvalidParams(f"{name}: it is about items; give items, or leave it out", field=name)
        if messages is None:
            raise InvalidParams("messages is missing; give messages, or items and their format", field="messages")
        return None
    if format_name is None:
        raise InvalidParams(f"format is missing; items have one of {', '.join(FORMATS)}", field="format")
    if not is_own(format_name):
        if messages is not None:
            raise InvalidParams("items: give messages or items, not both; use two commands", field="items")
    elif messages is None:
        why = f"messages is missing; what items of {format_name!r} say, only the client can tell"
        raise InvalidParams(why, field="messages")
    elif model is not None:
        why = "model: the messages say it; put it into the provider_metadata of those that the model wrote"
        raise InvalidParams(why, field="model")
    return GivenItems(items, format_name, messages, model, refs, sent)
