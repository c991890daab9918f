"""The title and the tags of an agent: those of its source, except for what a person set."""

from collections.abc import Mapping
from typing import Any

from reel import replies, requests
from reel.base.strict_json import parse
from reel.importing.adding.markers import has_marker
from reel.importing.adding.masking import tags_with
from reel.importing.steps import About
from reel.importing.values import map_in
from reel.requests import Call
from reel.secrets.finding import anonymous

# The tag that names the tool and the conversation of an agent, even after the agent is renamed.
TAG = "import"


class Described:
    """What a person changed of an agent's description since the importer set it, told by the events of its log."""

    def __init__(self) -> None:
        # The tags that somebody else set, changed or removed: they stay as they are.
        self.own: set[str] = set()
        # Whether the title is one that the importer set: then it follows that of the tool.
        self.follows_title = False
        self._tags: Mapping[str, Any] = {}

    def note(self, event: Any, *, is_importer: bool) -> None:
        """Process an event, if it describes the agent.

        Args:
            event: the event.
            is_importer: whether the importer wrote it.
        """
        if event["kind"] not in ("created", "changed") or not event.get("data_json"):
            return
        data = parse(event["data_json"])
        if "title" in data:
            self.follows_title = is_importer
        if "tags" in data:
            old, self._tags = self._tags, map_in(data, "tags")
            if is_importer:
                return
            self.own |= {name for name in old.keys() | self._tags.keys() if old.get(name) != self._tags.get(name)}


class Describing:
    """Describes the agent of a conversation as its source does.

    Args:
        conversation: the conversation's name at its source.
        row: the agent, if it exists.
    """

    def __init__(self, conversation: str, row: replies.AgentRow | None) -> None:
        self._conversation = conversation
        # What the source says.
        self._title, self.tags = "", dict[str, str]()
        # What the agent has, and the tags of it that stay whatever the source says.
        self._old_title, self._old_tags = (row.title or "", row.tags) if row else ("", {})
        self._staying = row.tags if row else {}
        # Whether it was created here, so that nobody else has described it.
        self._is_created = False

    def take(self, about: About) -> None:
        """Take what the source says; later words count."""
        self._title = about.title or self._title
        self.tags |= about.tags

    def create(self, agent: str, *, is_fork: bool) -> Call[replies.AgentInfo]:
        """Return the command that creates the agent, with what is known by now."""
        self._is_created = True
        self._old_title = "" if is_fork else self._title
        self._old_tags = {TAG: self._conversation, **self.tags}
        return requests.create(agent, title=self._title or None, tags=self._old_tags)

    def clone(self, info: replies.AgentInfo, *, is_fork: bool) -> None:
        """Take note that the agent is a clone. A fork has the title that its tool gave it, not that of its origin."""
        title = info.title or ""
        self._old_title, self._old_tags = "" if is_fork and not has_marker(title) else title, info.tags

    def change(self, agent: str, by_person: Described) -> Call[replies.AgentInfo] | None:
        """Return the command that describes the agent anew; ``None`` if nothing is new.

        A title and tags with words that were redacted stay: nobody can tell which of the source's these are.

        Args:
            agent: the agent.
            by_person: what a person changed, which stays.
        """
        is_told = by_person.follows_title and not has_marker(self._old_title)
        follows = not self._old_title or self._is_created or is_told
        title = self._title if follows and anonymous(self._title) != anonymous(self._old_title) else ""
        told = {name: value for name, value in self.tags.items() if name not in by_person.own}
        redacted = {name: value for name, value in self._old_tags.items() if has_marker(value)}
        tags = {**self._staying, TAG: self._conversation, **told, **redacted}
        is_new = tags_with(tags, anonymous) != tags_with(self._old_tags, anonymous)
        return requests.change(agent, title=title or None, tags=tags) if title or is_new else None
