"""The body of a request, put together from what is rendered; and how it compares with an earlier one."""

from typing import Any, Literal, NamedTuple

from reel.errors import TooLarge
from reeld.formats.budget import TOKEN, Cut, cut
from reeld.formats.format import Dialect, Page, Prompt
from reeld.formats.jsonbytes import encode
from reeld.formats.model import Json
from reeld.formats.names import sent_name
from reeld.formats.render_state import RenderState
from reeld.formats.repair import PLACEHOLDER_TURN
from reeld.formats.report import Change
from reeld.formats.roll import DIGEST, Roll, digest


class Prefix(NamedTuple):
    """The settled beginning of a rendered history: how many entries, and the hash of prompt, tools and these."""

    messages: int
    hash: str


class RenderRequest(NamedTuple):
    """How a conversation is to be rendered.

    Args:
        format: a key of ``FORMATS``.
        model: the model that it is for; where it is left out, ``extra`` may name it.
        extra: what is merged in at the top of the body: a map, or the JSON text of one.
        budget: how large it may be, in estimated tokens.
        open: what to do about calls without a result: ``close`` makes results up, ``refuse`` is a conflict.
        pin: the seq of the mark up to which everything must stay, whatever the budget; 0: there is none.
        after: the prefix of an earlier rendering, of which the caller wants to know whether this one extends it.
    """

    format: str
    model: str | None = None
    extra: Json | str | None = None
    budget: int | None = None
    open: Literal["close", "refuse"] = "close"
    pin: int = 0
    after: Prefix | None = None


class Rendered(NamedTuple):
    """What rendering gives; its fields are the protocol's.

    Args:
        format: the format.
        body: JSON text, ready to be sent.
        report: what is not rendered as it is stored.
        ready: whether the provider has something to answer.
        names: the tools that are sent under another name, by that name.
        prefix: what a later rendering will begin with too.
        extends: whether it begins with ``after``; ``None`` where that was not asked.
    """

    format: str
    body: str
    report: list[Change]
    ready: bool
    names: dict[str, str]
    prefix: Prefix
    extends: bool | None

    def as_map(self) -> dict[str, Any]:
        """Give what the wire shows of it."""
        shown: dict[str, Any] = {
            "format": self.format,
            "body": self.body,
            "report": [change.as_map() for change in self.report],
            "ready": self.ready,
            "prefix": self.prefix._asdict(),
        }
        if not self.ready:
            shown["needs"] = "user"
        if self.names:
            shown["names"] = self.names
        if self.extends is not None:
            shown["extends"] = self.extends
        return shown


class Tail(NamedTuple):
    """The open last turn, rendered."""

    roll: Roll
    report: list[Change]


# What stands around the list of entries and its key.
_BRACKETS = len(',"":[]}')


class _History(NamedTuple):
    """The entries of the history list: those that nothing changes any more, and the rest."""

    settled: Roll
    open: Roll


def assemble(
    asked: RenderRequest,
    dialect: Dialect,
    extra: Json,
    prompt: Prompt | None,
    kept: RenderState,
    last: Tail,
    *,
    ready: bool,
    stale: RenderState | None,
) -> Rendered:
    """Put a body together.

    Args:
        asked: how it is to be rendered.
        dialect: the format.
        extra: what is merged in at the top.
        prompt: the system prompt.
        kept: the settled turns.
        last: the open last turn.
        ready: whether there is something to answer.
        stale: what was kept of an earlier rendering, where the history is another one now.

    Raises:
        TooLarge: not even the newest turn fits the budget.
    """
    names = dict(kept.memory.names)
    page = Page(kept.model)
    head = dialect.head(prompt, page)
    fields = {**_renamed(dialect, extra, names), **head.fields}
    if dialect.has_model and kept.model is not None:
        fields = {"model": kept.model, **fields}
    lead = Roll()
    lead.add(head.entries, prompt.seq if prompt else 0, is_user=False, begins=False)
    top = encode(fields)
    report = [*page.report, *kept.report, *last.report]
    history = _History(kept.roll, last.roll)
    if asked.budget is not None:
        base = len(top) + len(dialect.history) + _BRACKETS + len(lead.data)
        history, report = _within(asked.budget, asked.pin, base, dialect, history, report)
    leading = digest(encode([head.fields, fields.get("tools")]))
    digests = lead.digests + history.settled.digests
    prefix = Prefix(lead.count + history.settled.count, _hash(leading, digests))
    extends = None
    if asked.after is not None:
        everything = digests + history.open.digests
        extends = prefix_hash(leading, everything, asked.after.messages) == asked.after.hash
        if not extends:
            report.append(_changed(asked.after, leading, prompt, lead, history, stale))
    entries = b"".join((lead.data, history.settled.data, history.open.data))
    opening = b"{" if top == b"{}" else top[:-1] + b","
    body = b"".join((opening, encode(dialect.history), b":[", entries[:-1], b"]}"))
    return Rendered(asked.format, body.decode(), report, ready, names, prefix, extends)


def _renamed(dialect: Dialect, extra: Json, names: dict[str, str]) -> Json:
    """Give ``extra`` with the names of tools as they are sent, and note which are others."""

    def send(given: str) -> str:
        name = sent_name(given)
        if name != given:
            names[name] = given
        return name

    return dialect.rename(extra, send)


def _within(
    budget: int, pin: int, base: int, dialect: Dialect, history: _History, report: list[Change]
) -> tuple[_History, list[Change]]:
    """Leave out what is over the budget."""
    spans = [*history.settled.spans, *history.open.spans]
    pinned = sum(span.seq <= pin for span in spans)
    filler = _filler(dialect)
    found = cut(spans, pinned, base + len(filler.data), budget * TOKEN)
    if found is None:
        raise TooLarge(
            f"budget: the newest turn does not fit {budget} tokens (of {TOKEN} bytes) with the prompt, extra and "
            "what is pinned; give more, or take the pin away",
            budget=budget,
        )
    start, end = found
    if start == end:
        return history, report
    first, after = spans[start].seq, spans[end].seq
    why = f"over the budget: {end - start} turns, up to seq {after}"
    kept = [change for change in report if change.seq is None or not first <= change.seq < after]
    needed = dialect.alternates and not spans[end].is_user
    return _without(history, found, filler if needed else Roll()), [Change(first, None, "dropped", why), *kept]


def _filler(dialect: Dialect) -> Roll:
    """Give the user turn that stands before the assistant's where a history goes on with that."""
    filler = Roll()
    if dialect.alternates:
        filler.add(dialect.entries(PLACEHOLDER_TURN, Page(None)), 0, is_user=True, begins=True)
    return filler


def _without(history: _History, found: Cut, filler: Roll) -> _History:
    """Give the history without a cut, and with what stands in its place."""
    whole = Roll()
    whole.extend(history.settled)
    whole.extend(history.open)
    border, newest = len(history.settled.spans), len(whole.spans)
    settled, rest = Roll(), Roll()
    settled.extend(whole.part(0, min(found.start, border)))
    rest.extend(whole.part(border, max(found.start, border)))
    (settled if found.end < border else rest).extend(filler)
    settled.extend(whole.part(found.end, max(found.end, border)))
    rest.extend(whole.part(max(found.end, border), newest))
    return _History(settled, rest)


def prefix_hash(leading: bytes, digests: bytes | bytearray, count: int) -> str:
    """Give the hash of prompt, tools and the first entries."""
    return _hash(leading, digests[: count * DIGEST])


def _hash(leading: bytes, digests: bytes | bytearray) -> str:
    return leading.hex() + digest(digests).hex()


def _changed(
    after: Prefix, leading: bytes, prompt: Prompt | None, lead: Roll, history: _History, stale: RenderState | None
) -> Change:
    """Say from which seq on an earlier prefix does not stand any more."""
    spans = [*history.settled.spans, *history.open.spans]
    first = spans[0].seq if spans else None
    if not after.hash.startswith(leading.hex()):
        return Change(prompt.seq if prompt else first, None, "prefix_changed", "the prompt or the tools are others")
    if stale is None or prefix_hash(leading, lead.digests + stale.roll.digests, after.messages) != after.hash:
        return Change(first, None, "prefix_changed", "it is not the beginning of this history")
    return Change(_parting(stale.roll, history), None, "prefix_changed", "another history from here on")


def _parting(earlier: Roll, history: _History) -> int | None:
    """Give the seq of the first turn that is not what it was."""
    place = 0
    now = history.settled.digests + history.open.digests
    for span in (*history.settled.spans, *history.open.spans):
        end = place + span.entries * DIGEST
        if now[place:end] != earlier.digests[place:end]:
            return span.seq
        place = end
    return None
