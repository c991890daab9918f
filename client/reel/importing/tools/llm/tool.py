"""llm: a database of all conversations. Older versions kept a row for each response, newer ones a tree of messages."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from reel.base.strict_json import Json
from reel.importing.sources.blocks import by_role, made_by
from reel.importing.sources.databases import Damaged, Database, databases_below, open_database
from reel.importing.steps import About, Back, Counts, Found, Kept, Part, Problem, Said, Source, Step, Tool
from reel.importing.tools.llm.rows import FIELDS, PROVIDER, message_blocks, response_messages
from reel.importing.values import id_in_name, milliseconds, origins_first, other_fields, tags_of, text_in, title_of
from reel.providers.blocks import text as text_block
from reel.providers.refusals import Refusals

_ROLES = {"user": "user", "tool": "user", "assistant": "assistant", "system": "system"}
_FILE = "logs.db"


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    if user_path := environment.get("LLM_USER_PATH"):
        yield Path(user_path) / _FILE
        return
    home = Path(environment.get("HOME", "/"))
    yield Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "io.datasette.llm" / _FILE
    yield home / "Library/Application Support/io.datasette.llm" / _FILE


def _discover(root: Path) -> Found:
    return databases_below(root, PROVIDER, (_FILE,), {"turns": "thread_id", "responses": "conversation_id"})


class Logs:
    """A database that is being read.

    Args:
        source: the location of the database.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.counts = Counts()

    def steps(self) -> Iterator[Step]:
        """Yield the steps of all conversations."""
        with open_database(self.source.path) as database:
            responses = _responses(database)
            threads = database.groups("threads", "id")
            names = dict.fromkeys([*responses, *threads, *database.groups("turns", "thread_id")])
            for name in origins_first({name: _origin(database, name) for name in names}):
                try:
                    yield from self._conversation(database, name, responses.get(name, []))
                except Damaged as error:
                    self.counts.problem(Problem(self.source.path, 0, f"conversation {name}: {error}"))

    def _conversation(self, database: Database, name: str, responses: list[int]) -> Iterator[Step]:
        threads = [*database.rows("threads", "id", name), *database.rows("conversations", "id", name)]
        turns = sorted(database.rows("turns", "thread_id", name), key=lambda row: text_in(row, "id"))
        models = [text_in(row, "model") for row in (*turns[-1:], *threads)]
        origin = _origin(database, name)
        model = next(filter(None, models), "")
        facts = tags_of(tool=PROVIDER, source=self.source.path, model=model, forked_from=origin)
        for table, rows in (("threads", threads), ("turns", turns)):
            for row in rows:
                self._leave(table, row)
        title = next((text_in(row, "name") for row in threads), "")
        yield About(_part(name), title_of(title), facts, _part(origin) if origin else "")
        prompt = ""
        for number in responses:
            row = database.row("responses", number)
            self.counts.map()
            self._leave("responses", row)
            yield from response_messages(database, row, prompt, self._leave)
            prompt = text_in(row, "system") or prompt
            yield from _usage(row)
        tips = [(text_in(row, "tip_message_hash"), row) for row in turns]
        tips += [(text_in(row, "tip_message_hash"), {}) for row in threads]
        said = set[str]()
        last = "" if not responses else "?"
        for tip, turn in tips:
            for step in self._turn(database, tip, turn, said, last):
                last = step.to if isinstance(step, Back) else step.parts[-1].ref if isinstance(step, Said) else last
                yield step
            yield from _usage(turn)

    def _turn(self, database: Database, tip: str, turn: Json, said: set[str], last: str) -> Iterator[Step]:
        """Yield the messages up to a tip that were not yielded before."""
        chain: list[Json] = []
        at, on_the_way = tip, set[str]()
        while at and at not in said and at not in on_the_way:
            on_the_way.add(at)
            rows = database.rows("messages", "hash", at)
            if not rows:
                self.counts.problem(Problem(self.source.path, 0, f"message {at} is missing"))
                at = ""
                break
            chain.append(rows[0])
            at = text_in(rows[0], "parent_hash")
        if chain and at not in said:
            at = ""
        if chain and at != last:
            yield Back(at)
        sent = milliseconds(turn.get("datetime_utc"))
        model = text_in(turn, "resolved_model") or text_in(turn, "model")
        for row in reversed(chain):
            name = text_in(row, "hash")
            said.add(name)
            yield from self._message(database, row, name, model, sent)

    def _leave(self, table: str, row: Json) -> None:
        self.counts.left_out.update(other_fields(row, FIELDS[table], f"{table}."))

    def _report(self, what: str) -> None:
        self.counts.problem(Problem(self.source.path, 0, what))

    def _message(self, database: Database, row: Json, name: str, model: str, sent: int | None) -> Iterator[Step]:
        role = _ROLES.get(text_in(row, "role"), "")
        self._leave("messages", row)
        if role:
            self.counts.map()
        else:
            self.counts.note(f"role {text_in(row, 'role') or 'missing'}")
        blocks = message_blocks(database, name, role or "user", self._report, self._leave) or [text_block("")]
        metadata = made_by(PROVIDER, model)
        runs = by_role(blocks, role or "user", Refusals(PROVIDER, self.counts.refused))
        for number, (owner, run) in enumerate(runs):
            ref = name if number == len(runs) - 1 else f"{name}/{number}"
            yield Said(owner, (Part(ref, run),), metadata if owner == "assistant" else {}, sent)


def _part(name: str) -> str:
    return f"/{id_in_name(name or 'unnamed')}"


def _origin(database: Database, name: str) -> str:
    """Return the thread that this one was forked from, or an empty string if it was not forked or is damaged."""
    with suppress(*Damaged):  # reported when the conversation is read
        return next((text_in(row, "forked_from") for row in database.rows("threads", "id", name)), "")
    return ""


def _responses(database: Database) -> dict[str, list[int]]:
    """Return the rows of the older table by conversation, without those that are also in the newer one."""
    turns = database.groups("turns", "id")
    found: dict[str, list[int]] = {}
    newer = {
        number for name, numbers in database.groups("responses", "id").items() if name in turns for number in numbers
    }
    for name, numbers in database.groups("responses", "conversation_id").items():
        for number in numbers:
            if number not in newer:
                # A response without a conversation forms its own.
                key = name or text_in(database.row("responses", number), "id")
                found.setdefault(key, []).append(number)
    return found


def _usage(row: Json) -> Iterator[Step]:
    usage = {key: row[key] for key in ("input_tokens", "output_tokens") if type(row.get(key)) is int}
    if usage:
        data: Json = {"provider": PROVIDER, "usage": usage}
        if model := text_in(row, "model"):
            data["model"] = model
        yield Kept("usage", f"usage-{text_in(row, 'id')}", None, data, milliseconds(row.get("datetime_utc")))


TOOL = Tool(PROVIDER, "llm", _places, _discover, Logs)
