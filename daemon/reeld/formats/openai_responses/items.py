"""Items, one after the other, gathered into messages: what the model made in a row is one message."""

import re
from typing import Any

from reeld.formats import metadata as native
from reeld.formats.fields import Json, entries_at, map_at, role_at, text_at
from reeld.formats.model import ABOVE
from reeld.formats.openai import PROVIDER
from reeld.formats.openai_responses.calls import KINDS, OUTPUTS, call_of, is_call, is_output, result_of
from reeld.formats.openai_responses.parts import blocks_of, text
from reeld.formats.pairing import Pairing

# Beside the outputs: what a client puts into a history that is no message.
_CLIENTS = ("additional_tools", "configuration_update", "compaction_trigger")


class Gathering:
    """Takes items in their order; ``messages`` is what they are so far."""

    def __init__(self, model: str | None) -> None:
        self.messages: list[Json] = []
        self.pairing = Pairing()
        self._model = model

    def take(self, given: Any, where: str) -> None:
        """Take one item; a bare string is the user's."""
        item = {"role": "user", "content": given} if type(given) is str else map_at(given, where)
        kind = item.get("type") or ("message" if "role" in item else "item_reference")
        if kind == "message":
            self._message(item, where)
        elif is_output(item):
            key = OUTPUTS[kind].names
            name = None if item[key] else item.get("name")  # an id tells by itself
            item = {**item, key: self.pairing.result(item[key], name, f"{where}.{key}")}
            self._add("tool", [result_of(item, where)])
        elif kind in _CLIENTS:
            self._add("user", [native.opaque(PROVIDER, item)])
        else:
            called = is_call(item)
            self.answer([call_of(self._named(item, where), where) if called else self._served({"type": kind, **item})])

    def answer(self, blocks: list[Json]) -> None:
        """Add what the model made to the message that it is making."""
        if self.messages and self.messages[-1]["role"] == "assistant":
            self.messages[-1]["content"] += blocks
        else:
            self._add("assistant", blocks)

    def _named(self, item: Json, where: str) -> Json:
        """Give a call an id from its place where it has an empty one."""
        key = KINDS[item["type"]].named
        made = "call_" + "_".join(re.findall(r"\w+", where))
        return item if item[key] else {**item, key: self.pairing.call(made, item.get("name"), where)}

    def _served(self, item: Json) -> Json:
        """Keep what the provider made for itself; what is encrypted only its own models read."""
        return native.opaque(PROVIDER, item, self._model if "encrypted_content" in item else None)

    def _message(self, item: Json, where: str) -> None:
        role = role_at(item.get("role"), f"{where}.role", "Responses")
        if role == "tool":
            # As Chat Completions has it; so are the calls of the assistant's.
            answer = {"type": "function_call_output", "output": item.get("content")}
            self.take({**answer, "call_id": item.get("tool_call_id") or item.get("call_id") or where}, where)
            return
        blocks = blocks_of(item.get("content"), f"{where}.content") or [text("")]
        if role == "assistant":
            self._spoken(blocks, item)
            for index, call in enumerate(entries_at(item.get("tool_calls"), f"{where}.tool_calls")):
                self._called(call, f"{where}.tool_calls[{index}]")
        else:
            above = {"role": role} if role in ABOVE else {}
            kept = native.keep(PROVIDER, {**item, "role": None, **above}, ("type", "content", "id", "status"))
            self._add("user", blocks, **kept)

    def _called(self, call: Any, where: str) -> None:
        tool = map_at(map_at(call, where).get("function"), f"{where}.function")
        self.take({**tool, "type": "function_call", "call_id": text_at(call.get("id"), f"{where}.id")}, where)

    def _spoken(self, blocks: list[Json], item: Json) -> None:
        """Add words of the assistant's; right after other words they are a message of their own."""
        for block in blocks:
            metadata = {"provider": PROVIDER, **block.get("provider_metadata", {}), "phase": item.get("phase")}
            block.update(native.keep(PROVIDER, metadata))
        if self.messages and self.messages[-1]["content"][-1]["type"] == "text":
            self._add("assistant", blocks)
        else:
            self.answer(blocks)

    def _add(self, role: str, blocks: list[Json], **kept: Any) -> None:
        self.messages.append({"role": role, "content": blocks, **kept})
