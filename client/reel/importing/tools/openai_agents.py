"""OpenAI's Agents SDK: the database of SQLiteSession, with items of the Responses API for each session."""

from collections.abc import Iterator
from pathlib import Path

from reel.base.strict_json import Json
from reel.importing.sources.databases import Damaged, Database, databases_below, open_database
from reel.importing.sources.responses_items import Items, left_out_of
from reel.importing.steps import NOT_JSON, About, Counts, Found, Part, Problem, Said, Source, Step, Tool, nowhere
from reel.importing.values import id_in_name, milliseconds, other_fields, parse_record, tags_of, text_in, title_of
from reel.providers.openai import PROVIDER

_NAME = "openai-agents"
_TABLE = "agent_messages"
_COLUMNS = frozenset({"id", "session_id", "message_data", "created_at"})


class Sessions:
    """A database that is being read.

    Args:
        source: the location of the database.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.counts = Counts()

    def steps(self) -> Iterator[Step]:
        """Yield the steps of all sessions."""
        with open_database(self.source.path) as database:
            for session, numbers in database.groups(_TABLE, "session_id").items():
                try:
                    yield from self._session(database, session, numbers)
                except Damaged as error:
                    self.counts.problem(Problem(self.source.path, 0, f"session {session}: {error}"))

    def _session(self, database: Database, session: str, numbers: list[int]) -> Iterator[Step]:
        about = About(f"/{id_in_name(session)}", "", tags_of(tool=_NAME, source=self.source.path))
        yield about
        items = Items(self.counts.refused)
        waiting: Said | None = None
        for number in numbers:
            row = database.row(_TABLE, number)
            item = self._item(row, number)
            if item is None:
                continue
            said = _said(items, item, f"item-{number}", milliseconds(row.get("created_at")), number)
            if waiting is not None and waiting.role == said.role == "assistant":
                waiting = waiting._replace(parts=waiting.parts + said.parts)
                continue
            if waiting is not None:
                yield waiting
            waiting = said
            if said.role == "user" and not about.title:
                about = about._replace(title=title_of(text_in(said.parts[0].blocks[0], "text")))
                yield about
        if waiting is not None:
            yield waiting

    def _item(self, row: Json, number: int) -> Json | None:
        try:
            found = parse_record(text_in(row, "message_data").encode())
            what = "not a JSON object"
        except (ValueError, RecursionError) as error:
            found, what = None, f"not JSON: {error}"
        if found is None:
            self.counts.refuse(NOT_JSON, Problem(self.source.path, 0, f"{_TABLE}, row {number}: {what}"))
        else:
            self.counts.map()
            self.counts.left_out.update([*other_fields(row, _COLUMNS), *left_out_of(found)])
        return found


def _said(items: Items, found: Json, ref: str, sent: int | None, number: int) -> Said:
    """Convert an item to a message; consecutive items of the assistant become one."""
    item = items.read(found, ref)
    metadata = dict(item.metadata) or ({"provider": PROVIDER} if item.role == "assistant" else {})
    return Said(item.role, (Part(ref, item.blocks),), metadata, sent, number)


def _discover(root: Path) -> Found:
    return databases_below(root, _NAME, (".db", ".sqlite", ".sqlite3"), {_TABLE: "session_id"})


TOOL = Tool(_NAME, "OpenAI Agents SDK", nowhere, _discover, Sessions, by_position=True)
