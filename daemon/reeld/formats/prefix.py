"""The prefix of a rendering, which a later one extends unless model, prompt, tools or history have changed.

A provider's cache is of use only if it does. So ``render`` returns the prefix, takes that of an earlier rendering, and
says where the history departs from it.
"""

from bisect import bisect_left

from reel.base.light_typing import NamedTuple
from reel.providers.changes import Change
from reeld.formats.encoded_turns import DIGEST_SIZE, EncodedTurns, digest
from reeld.formats.format import Prompt
from reeld.formats.history import History

# The hexadecimal digits of the two digests in a prefix's hash; the rest identifies the model.
_HASH_SIZE = 4 * DIGEST_SIZE
_MODEL_SIZE = 8


class Prefix(NamedTuple):
    """The settled beginning of a rendered history: how many items, and a hash of model, prompt, tools and items.

    ``body`` is a hash of all that was sent: what an answer is bound to (:mod:`reeld.formats.binding`).
    """

    messages: int
    hash: str
    body: str = ""


class Beginning(NamedTuple):
    """How a body begins, up to any item: what the hash of a prefix is made of.

    Args:
        top: a digest of the prompt at the top of the body, and of the tools.
        prompt: the prompt.
        leading: the items before the history that the prompt became.
        model: the model; ``None`` if it is not known.
        history: the history.
    """

    top: bytes
    prompt: Prompt | None
    leading: EncodedTurns
    model: str | None
    history: History

    def hash(self, items: int) -> str:
        """Return the hash of a prefix of so many items, those of the prompt among them."""
        first = min(items, self.leading.count)
        found = self.history.hash(items - first).digest()[:DIGEST_SIZE]
        return self.top.hex() + digest(self.leading.hash(first).digest() + found).hex() + self._tag()

    def extends(self, after: Prefix) -> bool:
        """Whether the first items, with prompt and tools, have the hash of an earlier prefix."""
        is_same = self.hash(after.messages)[:_HASH_SIZE] == after.hash[:_HASH_SIZE]
        return is_same and not self._is_of_another_model(after)

    def change_since(self, after: Prefix, previous: EncodedTurns | None) -> Change:
        """Return the report line with the seq at which this body first differs from an earlier prefix.

        Args:
            after: the earlier prefix, which this body does not extend.
            previous: the settled turns of an earlier rendering, if the conversation has moved since.
        """
        seqs = self.history.extents.seqs
        first = seqs[0] if seqs else None
        if self._is_of_another_model(after):
            return Change(first, None, "prefix_changed", "the model has changed")
        if not after.hash.startswith(self.top.hex()):
            seq = self.prompt.seq if self.prompt else first
            return Change(seq, None, "prefix_changed", "the prompt or the tools have changed")
        if previous is None or not self._replace(history=History(previous, EncodedTurns())).extends(after):
            return Change(first, None, "prefix_changed", "the given prefix is not the beginning of this history")
        return Change(
            _first_difference(previous, self.history), None, "prefix_changed", "the history differs from here on"
        )

    def _is_of_another_model(self, after: Prefix) -> bool:
        """Whether an earlier prefix was for another model; one that is not known is not another."""
        earlier, model = after.hash[_HASH_SIZE:], self._tag()
        return bool(earlier and model) and earlier != model

    def _tag(self) -> str:
        """Return what identifies the model; nothing if it is not known."""
        return "" if self.model is None else digest(self.model.encode()).hex()[:_MODEL_SIZE]


def _first_difference(earlier: EncodedTurns, history: History) -> int | None:
    """Return the seq of the first turn that has changed; ``None`` if none has."""
    before, now, offsets = earlier.data.read(0, len(earlier.data)), history.data, history.offsets
    turns = range(len(offsets) - 1)
    # If a turn has changed, so has every prefix that ends with a later one.
    turn = bisect_left(turns, True, key=lambda index: now[: offsets[index + 1]] != before[: offsets[index + 1]])
    return history.extents.seqs[turn] if turn < len(turns) else None
