"""A conversation that goes on at random, and everything about it that is checked whenever it is rendered."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from typing import Any, NamedTuple

from reel.base.errors import InvalidMessage, TooLarge
from reeld.core.events import Entry, read
from reeld.core.events import entry as entry_of
from reeld.core.redaction import Redaction
from reeld.core.validation import rows_from
from reeld.formats.body import Rendered, RenderRequest
from reeld.formats.ingest import read_response
from reeld.formats.render import render
from reeld.formats.render_state import RenderState
from tests.formats.checker import check
from tests.formats.checker.betas import undeclared
from tests.formats.checker.binding import Answered, bound_elsewhere
from tests.reeld.formats.histories import call, model, pack, prompt_in, result, text, thinking, tool, user
from tests.reeld.formats.hostile_answers import Answer, hostile_answer
from tests.reeld.formats.test_always_sendable import CASES, items, unmarked

Json = dict[str, Any]
# In these an answer keeps its order (rule A2); so it does in Converse for Claude.
ORDERED = ("anthropic", "gemini-interactions", "openai-responses", "ai-sdk")
_BETAS = ["server-side-fallback-2026-07-01", "compact-2026-09-04"]


class Before(NamedTuple):
    """An earlier rendering, and what must be the same for the next one to begin with it."""

    found: Rendered
    history: list[Any]
    settings: str


class Talk:
    """A conversation with models of one format.

    Args:
        seed: decides on everything.
        name: the format that answers, and a dialect after a slash.
        models: the models that answer.
    """

    def __init__(self, seed: int, name: str, models: list[str]) -> None:
        self.chance = random.Random(f"{name} {seed}")
        self.name, self.models, self.model = name, models, models[0]
        self.format = name.partition("/")[0]
        # Half of the conversations are as a loop has them: nothing but answers, results and questions.
        self.is_calm = self.chance.random() < 0.5
        self.entries: list[Entry] = []
        self.seqs = count(1)
        self.words: Iterator[str] = (f"q{number:07d}" for number in count())
        self.answers: list[tuple[int, Answer]] = []
        self.bound: dict[str, Answered] = {}
        self.kept: dict[str, RenderState] = {}
        self.before: dict[tuple[str, str | None], Before] = {}
        self.open: list[str] = []
        self.called: list[str] = []
        # It changes when something that was said is changed or gone.
        self.epoch = 0
        self.is_changed = False
        self.tools, self.thinks = 2, True
        self.betas = self.chance.choice([_BETAS, _BETAS, _BETAS[:1], []])
        self.has: frozenset[str] | None = None
        self.renders = 0
        self.add({"role": "system", "content": "Be brief"})
        self.ask()

    def add(self, *messages: Json) -> None:
        """Add messages."""
        for row, _ in rows_from(list(messages))[0]:
            self.entries.append(self._entry(next(self.seqs), row.kind, row.content, row.data_json))

    def _entry(self, seq: int, kind: str, content: str | None, data_json: str | None) -> Entry:
        message, tools = read(pack, kind, content, data_json, seq, 0)
        return entry_of(100 + seq, seq, kind, content, data_json, 0, message, tools)

    # What is rendered, and what is checked of it.

    def extra(self, format: str) -> Json:  # noqa: A002 - the protocol's word
        """Return what the caller declares to a format."""
        names = ["look", "find"][: self.tools]
        if format == "anthropic":
            tools: Json = {"tools": [{"name": name, "input_schema": {"type": "object"}} for name in names]}
            return {**tools, "betas": self.betas, **({"thinking": {"type": "adaptive"}} if self.thinks else {})}
        if format == "bedrock-converse":
            specs = [{"toolSpec": {"name": name, "inputSchema": {"json": {}}}} for name in names]
            return {"toolConfig": {"tools": specs}} if specs else {}
        if format == "openai-responses":
            return {"store": False} if self.thinks else {}
        return {}

    def render(self, name: str, model_name: str | None, **how: Any) -> Rendered:
        """Render it as one of a series and as by itself, which is the same, and check it."""
        format, _, dialect = name.partition("/")  # noqa: A001 - the protocol's word
        before = self.before.get((name, model_name))
        request = RenderRequest(format, model_name, self.extra(format), dialect=dialect or None, **how)
        request = request._replace(after=before.found.prefix if before else None)
        prompt = prompt_in(self.entries)
        found, self.kept[format] = render(request, self.entries, prompt, self.kept.pop(format, None))
        fresh, _ = render(request, self.entries, prompt)
        assert comparable(found) == comparable(fresh), (comparable(found), comparable(fresh))
        self.renders += 2
        self._check(name, model_name, found, is_cut=request.budget is not None)
        if request.budget is None:
            self._check_growth((name, model_name), found, request)
        return found

    def _check(self, name: str, model_name: str | None, found: Rendered, *, is_cut: bool = False) -> None:
        body = json.loads(found.body)
        format = name.partition("/")[0]  # noqa: A001 - the protocol's word
        if found.ready:
            found_wrong = check(name.replace("-", "_"), body, model_name)
            # The calls of a loop may be cut off by a budget; servers ignore the reasoning then (rule D3).
            problems = [wrong for wrong in found_wrong if not is_cut or wrong.rule != "reasoning-outside-loop"]
            assert [] == problems, (problems, found.body)
        if format == "anthropic" and not name.endswith("/bedrock-invoke"):  # there they are in the body
            missing = undeclared(body, found.betas)
            assert [] == missing, (missing, found.betas, found.body)
        if format in ORDERED or (format == "bedrock-converse" and "claude" in (model_name or "")):
            for _, answer in self.answers:
                places = [found.body.find(word) for word in answer.ordered]
                sent = [place for place in places if place >= 0]
                assert sorted(sent) == sent, (answer.body, found.body)
        if format in ("anthropic", "bedrock-converse") and binds(model_name):
            elsewhere = bound_elsewhere(body, self.bound)
            assert [] == elsewhere, (elsewhere, found.body)
            if not self.is_changed and not is_cut and format == self.format:
                lost = [change for change in found.report if "bound" in change.why]
                assert [] == lost, (lost, found.body)

    def _check_growth(self, key: tuple[str, str | None], found: Rendered, request: RenderRequest) -> None:
        """Check that it begins with the rendering before (rule X2)."""
        history = items(key[0], found.body)
        declared = unmarked(request.extra)
        # Bedrock wants a tool as soon as there is a call (rule B7).
        has_tools = self.tools or not key[0].startswith("bedrock")
        prompt = prompt_in(self.entries)
        settings = repr((declared, has_tools or len(self.entries), prompt and prompt.id, request.tools, self.epoch))
        before = self.before.get(key)
        if before is not None and before.settings == settings:
            settled = before.found.prefix.messages

            assert before.history[:settled] == history[:settled]
            assert found.extends is True
        self.before[key] = Before(found, history, settings)

    def look(self) -> None:
        """Render it for who answers, for somebody else, and with a question at its end."""
        self.render(self.name, self.model, tools=self.has, cache=self.chance.choice([None, "5m"]))
        self.render(*self.chance.choice(CASES))
        if self.chance.random() < 0.2:
            with suppress(TooLarge):
                self.render(self.name, self.model, tools=self.has, budget=self.chance.choice([80, 200, 500]))
        if self.chance.random() < 0.3:
            said, seq = len(self.entries), next(self.seqs)
            self.entries.append(self._entry(seq, "user", "Go on", None))
            asked = self._asked()
            del self.entries[said:]

            assert asked.ready

    def _asked(self) -> Rendered:
        format, _, dialect = self.name.partition("/")  # noqa: A001 - the protocol's word
        request = RenderRequest(format, self.model, self.extra(format), dialect=dialect or None, tools=self.has)
        found, _ = render(request, self.entries, prompt_in(self.entries))
        self.renders += 1
        self._check(self.name, self.model, found)
        return found

    # What happens.

    def step(self) -> None:
        """Let something happen, and look at what is there."""
        deeds: list[tuple[Callable[[], None], int]] = [(self.answer, 10), (self.ask, 3)]
        deeds += [(self.give_results, 12)] if self.open else []
        if not self.is_calm:
            deeds += [(deed, 1) for deed in (self.prompt, self.declare, self.redact, self.rewind, self.bring)]
            deeds += [(deed, 1) for deed in (self.instruct, self.answer_late, self.switch)]
        chosen, weights = zip(*deeds, strict=True)
        self.chance.choices(chosen, weights)[0]()
        self.look()

    def ask(self) -> None:
        """Let the user speak, sometimes where the caller wants a breakpoint."""
        mark = {"provider": "anthropic", "cache_control": {"type": "ephemeral"}}
        words = self.chance.choice(["And?", "x " * 60])
        self.add(user(text(words, **({"provider_metadata": mark} if self.chance.random() < 0.1 else {}))))

    def answer(self) -> None:
        """Let the model answer what is rendered, if there is something to answer."""
        found = self.render(self.name, self.model, tools=self.has)
        is_asked = found.ready and not self.open
        if not is_asked:
            if self.is_calm or self.chance.random() < 0.8:
                (self.give_results if self.open else self.ask)()
                return
            self.is_changed = True
        without = frozenset[str]()
        if self.is_calm:
            # A server's call without its result is given up as soon as the model goes on.
            without = frozenset({"asked"})
        elif not is_asked:
            # No API has another model take over, or a server at work, behind calls that nobody has answered.
            without = frozenset({"taken over", "asked", "served"})
        if not self.tools:
            without |= {"call"}
        made = hostile_answer(self.format, self.model, self.chance, self.words, without=without)
        knows = self.is_calm or self.chance.random() < 0.95
        prefix = found.prefix.body if knows else None
        try:
            message, *records = read_response(
                self.format, json.dumps(made.body), self.model, found.names, prefix=prefix
            )
        except InvalidMessage:  # nothing is in it
            return
        self.is_changed = self.is_changed or not knows
        # What an answer compacts stands no more where it was.
        self.epoch += made.is_compacting
        self.is_changed = self.is_changed or made.is_compacting
        self.answers.append((len(self.entries), made))
        # What is before a compaction is not sent again.
        answered = Answered(None if made.is_compacting else json.loads(found.body), made.words)
        self.bound |= dict.fromkeys(made.words if knows else (), answered)
        self.add(message, *records)
        calls = [block["id"] for block in message["content"] if block["type"] == "tool_call"]
        self.open += calls
        self.called += calls

    def give_results(self) -> None:
        """Answer open calls: all of them, or some, in any order, in one message or several."""
        ids = list(self.open)
        if not self.is_calm:
            self.chance.shuffle(ids)
            ids = ids[: self.chance.choice([1, 9, 9])]
        blocks = [result(of, self.chance.choice(["done", ""]), is_error=self.chance.random() < 0.1) for of in ids]
        one = self.chance.random() < 0.6
        self.add(*([tool(*blocks)] if one else [tool(block) for block in blocks]))
        self.open = [of for of in self.open if of not in ids]

    def prompt(self) -> None:
        """Give it another system prompt."""
        self._change({"role": "system", "content": self.chance.choice(["Be brief", "Be long"])})

    def instruct(self) -> None:
        """Add an instruction in the middle of it."""
        self.add({"role": "user", "content": [text("Look twice")], "provider_metadata": {"role": "system"}})

    def bring(self) -> None:
        """Add what another program has said and done."""
        of = f"brought_{next(self.seqs)}"
        self._change(model(thinking("hm", "aW1w", model=self.model), call(of), text("done")))
        self.open.append(of)

    def answer_late(self) -> None:
        """Answer a call again, or one that was given up."""
        if self.called:
            self._change(tool(result(self.chance.choice(self.called), "late")))

    def _change(self, message: Json) -> None:
        self.is_changed = True
        self.add(message)

    def declare(self) -> None:
        """Declare other tools, or think no more."""
        self.is_changed = True
        self.tools, self.thinks = self.chance.choice([0, 1, 2]), self.chance.random() < 0.7
        self.betas = self.chance.choice([_BETAS, _BETAS[:1], []])
        self.has = self.chance.choice([None, None, frozenset({"look"}), frozenset({"look", "find"})])

    def switch(self) -> None:
        """Let another model answer."""
        self.is_changed = True
        self.model = self.chance.choice(self.models)

    def redact(self) -> None:
        """Redact one message; the daemon forgets all renderings then."""
        place = self.chance.randrange(len(self.entries))
        entry = self.entries[place]
        found = Redaction("now", b"k").event(entry.kind, entry.content, entry.data_json, None, "")
        if found is not None:
            self.entries[place] = self._entry(entry.seq, entry.kind, found.content, found.data_json)
        self._forget()
        self.kept = {}

    def rewind(self) -> None:
        """Go back by some messages."""
        del self.entries[max(2, len(self.entries) - self.chance.randint(1, 4)) :]
        self.answers = [(place, answer) for place, answer in self.answers if place < len(self.entries)]
        self.open = []
        self._forget()

    def _forget(self) -> None:
        self.epoch += 1
        self.is_changed = True


def comparable(found: Rendered) -> Rendered:
    """Return what does not depend on what is kept of renderings: that may know old names, and where a change was."""
    report = [change for change in found.report if change.action != "prefix_changed"]
    return found._replace(names={}, report=report)


def binds(name: str | None) -> bool:
    """Whether a model binds its thinking to what is before it."""
    return name is not None and any(family in name for family in ("5-5", "5-1"))
