"""Which agent a log is of: one whose own log begins alike.

An event that was redacted here is the one of its place and time, whatever it said when the log was written. It stays
redacted, also if the log has gone on elsewhere and becomes another agent.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.importing.adding.markers import has_marker, is_certain
from reel.importing.adding.masking import event_with
from reel.importing.tools.reel_log.replay import element_of, time_of
from reel.importing.tools.reel_log.tool import Logged
from reel.importing.values import map_in, text_in
from reel.replies import AgentRow
from reel.said.kinds import ADDABLE
from reel.secrets.finding import anonymous

# An agent and a prompt that are created here, or a prompt restated by a clear, have no original time.
_TIMELESS = ("created", "system")


class Match(NamedTuple):
    """What an agent has of a log.

    Args:
        row: the agent; ``None`` if no agent has any of it.
        agrees: whether its log is a prefix of the other, or the reverse.
        redacted: the events that both have and that were redacted here, by their seqs.
    """

    row: AgentRow | None = None
    agrees: bool = False
    redacted: Mapping[int, Any] = MappingProxyType({})

    def event(self, event: Json) -> Json:
        """Return an event of the log as it is here, if it was redacted."""
        here = self.redacted.get(event["seq"])
        return event if here is None else {**event, "content": here["content"], "data_json": here["data_json"]}

    def agent(self, about: Json) -> Json:
        """Return the facts about the agent, with a title and tags as they are here if they were redacted."""
        if self.row is None:
            return about
        title = self.row.title or ""
        redacted = {name: value for name, value in self.row.tags.items() if has_marker(value)}
        return {
            **about,
            "title": title if has_marker(title) else text_in(about, "title"),
            "tags": {**map_in(about, "tags"), **redacted},
        }


def match(row: AgentRow, there: Iterator[Logged], here: Iterable[Any]) -> Match:
    """Compare the log of an agent with another one.

    Args:
        row: the agent.
        there: the events of the other log.
        here: the events of the agent's.
    """
    redacted: dict[int, Any] = {}
    theirs = next(there, None)
    for event in here:
        while theirs is not None and theirs.event["seq"] < event["seq"]:
            theirs = next(there, None)
        if theirs is None:
            break
        if theirs.event["seq"] == event["seq"]:
            if not _same(theirs.event, event):
                return Match(row, False, redacted)
            if _is_redacted(event):
                redacted[event["seq"]] = event
    return Match(row, True, redacted)


def _same(there: Json, here: Json) -> bool:
    if here["kind"] == "note" and there["kind"] != "note":
        return True
    if _is_redacted(here):
        return there["kind"] == here["kind"] and (here["kind"] in _TIMELESS or time_of(there) in (None, time_of(here)))
    if there["kind"] == "system":
        prompts = there.get("content") or "", here["content"] or ""
        return bool(here["kind"] == "system" and anonymous(prompts[0]) == anonymous(prompts[1]))
    if here["kind"] == "created":  # a log without its first event has another in its place
        return True
    if there["kind"] not in ADDABLE:
        return here["kind"] in (there["kind"], "restore")
    # An id that two events of a log have is that of one of them here.
    there, here = ({**element_of(event), "ref": ""} for event in (there, here))
    if "sent" not in there:  # it is damaged, and the event got another one here
        del here["sent"]
    return there == here or event_with(there, anonymous) == event_with(here, anonymous)


def _is_redacted(event: Json) -> bool:
    return is_certain(event["content"] or "") or is_certain(event["data_json"] or "")
