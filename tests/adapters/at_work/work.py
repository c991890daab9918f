"""What somebody does with an agent, at random, and agents at work at once."""

import os
import queue
import random
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

from tests.adapters.at_work.agents import AGENTS
from tests.adapters.at_work.place import Place
from tests.adapters.at_work.session import Session
from tests.adapters.programs import program
from tests.adapters.scripted.answers import Answer, Failure, Held, Part, Shell, Thought, Use, Words
from tests.adapters.scripted_provider import Provider
from tests.patience import Deadline

SECONDS = float(os.environ.get("WATCHED_SECONDS", "0"))
SEED = int(os.environ.get("WATCHED_SEED", "0"))
# What a session does, as often as it is here; a session of `make adapters` does each once.
_ACTS = (
    *("turn", "turn", "turn", "parallel", "sub_agent", "failure", "interrupt", "kill"),
    *("kill_in_call", "resume", "rewind", "fork", "compact", "rename"),
)
# Between two looks whether a call runs.
_PAUSE = 0.05


class Work:
    """What somebody does with an agent.

    Args:
        session: the session.
        provider: the model's provider.
        chance: what decides.
        seen: waits until an import has stored an answer with this word.
    """

    def __init__(
        self, session: Session, provider: Provider, chance: random.Random, seen: Callable[[str], None]
    ) -> None:
        self._session = session
        self._provider = provider
        self._chance = chance
        self._seen = seen
        self._newest = ""
        # The words of the turns that the agent has deleted.
        self.deleted: list[str] = []

    def do(self, acts: Sequence[str]) -> None:
        """Open the session, do some things, and close it."""
        self._session.open()
        self.turn()
        for act in acts:
            getattr(self, act)()
        self._session.close()

    def _say(self, *middle: Answer) -> None:
        word = self._provider.script(lambda word: [*middle, self._end(word)])
        self._session.ask(self._prompt(word))
        self._session.finish()
        assert self._provider.spent(word), f"{word} is not spent"
        self._newest = word

    def _prompt(self, word: str) -> str:
        return f"{self._chance.choice(('Please do', 'Zeig mir bitte', 'Now the next one:', '次は'))} {word}"

    def _end(self, word: str) -> Answer:
        more: list[Part] = [Thought("It is done.")] if self._chance.random() < 1 / 2 else []
        return [*more, Words("A line of text.\n" * self._chance.randrange(3) + f"Ended {word}")]

    def _step(self, calls: int) -> Answer:
        first: list[Part] = [Thought("First a look.")] if self._chance.random() < 1 / 2 else []
        words: list[Part] = [Words("I look at it.")] if self._chance.random() < 1 / 2 else []
        commands = ("echo one", "echo 'two words'", "false", "printf 'a\\nb\\n'", "seq 200")
        return [*first, *words, *(Shell(self._chance.choice(commands)) for _ in range(calls))]

    def turn(self) -> None:
        """Send a prompt, whose answer makes up to two calls, one after the other."""
        self._say(*(self._step(1) for _ in range(self._chance.randrange(3))))

    def parallel(self) -> None:
        """Calls at once."""
        self._say(self._step(3))

    def failure(self) -> None:
        """A request fails, and is sent again."""
        self._say([Failure(500)], self._step(1))

    def sub_agent(self) -> None:
        """Let another agent work."""
        inner = self._provider.script(lambda word: [self._step(1), [Words(f"Ended {word}")]])
        call = self._session.sub_agent(inner)
        if call is None:
            self.turn()
            return
        self._say([Words("Somebody else looks."), Use(*call)])
        assert self._provider.spent(inner), f"{inner} is not spent"

    def _begin_held(self) -> None:
        held: list[Part] = [Words("It begins."), Held("It goes on, and on.")]
        word = self._provider.script(lambda _: [self._step(1), held])
        self._session.ask(self._prompt(word))
        assert self._provider.held(word), f"{word} is not held"

    def interrupt(self) -> None:
        """Interrupt an answer."""
        self._begin_held()
        self._session.interrupt()
        self.turn()

    def kill(self) -> None:
        """Kill the agent in the middle of an answer, and go on."""
        self._begin_held()
        self._session.kill()
        self._session.open()
        self.turn()

    def kill_in_call(self) -> None:
        """Kill the agent while a call runs, perhaps beside some that end at once, and go on."""
        begun = self._session.place.home / f"begun-{self._session.tool}"
        begun.unlink(missing_ok=True)
        quick = Shell("echo quick")
        calls = [quick, Shell(f"touch {begun}; sleep 60"), quick]
        first = self._chance.randrange(2)
        called = calls[first : self._chance.randrange(2, 4)]
        self._session.ask(self._prompt(self._provider.script(lambda _: [[Words("It begins."), *called]])))
        deadline = Deadline()
        while not begun.exists():
            assert not deadline.is_over, "the call does not run"
            time.sleep(_PAUSE)  # between two looks
        self._session.kill()
        self._session.open()
        self.turn()

    def resume(self) -> None:
        """End the agent, and go on."""
        self._session.close()
        self._session.open()
        self.turn()

    def rewind(self) -> None:
        """Take the last turn back; some agents delete it."""
        self.turn()
        self._seen(self._newest)
        if self._session.rewind():
            self.deleted.append(self._newest)
        self.turn()

    def fork(self) -> None:
        """Go on in a copy."""
        self._session.fork()
        self.turn()

    def compact(self) -> None:
        """Sum up."""
        self._session.compact()
        self.turn()

    def rename(self) -> None:
        """Rename the session."""
        self._session.rename(f"Title {self._newest}")
        self.turn()


class Works:
    """Lets agents work, session after session: as many at once as there are processors, and each in its turn.

    Args:
        place: where they work.
        seen_by: waits until an import has stored an answer with a word.
        problems: what went wrong; is added to.
    """

    def __init__(self, place: Place, seen_by: Callable[[str], None], problems: list[str]) -> None:
        # The words of the turns that the agents have deleted.
        self.deleted: set[str] = set()
        self._place = place
        self._seen_by = seen_by
        self._problems = problems
        self._next: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
        self.sessions: Counter[str] = Counter()

    def do(self, tools: Sequence[str], deadline: float) -> None:
        """Let each work until the time is over, at least for one session."""
        for tool in tools:
            AGENTS[tool].prepare(self._place)
            self._next.put((tool, 0))
        threads = [threading.Thread(target=self._do, args=(deadline,)) for _ in range(os.cpu_count() or 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _do(self, deadline: float) -> None:
        while True:
            try:
                tool, number = self._next.get_nowait()
            except queue.Empty:
                return
            if number and time.monotonic() > deadline:
                continue
            self._session(tool, number)
            self._next.put((tool, number + 1))

    def _session(self, tool: str, number: int) -> None:
        found, chance = program(tool), random.Random(f"{SEED} {tool} {number}")
        assert found is not None
        project = self._place.project(f"{tool}-{number % 3}")
        made = AGENTS[tool](found, self._place, project, chance.choice(AGENTS[tool].models))
        acts = [*_ACTS]
        chance.shuffle(acts)
        self.sessions[tool] += 1
        work = Work(made, self._place.provider, chance, self._seen_by)
        try:
            work.do(acts if not SECONDS else acts[: chance.randrange(3, 13)])
        except Exception:
            self._problems.append(f"{tool} session {number}, {acts}: {traceback.format_exc()}")
            with suppress(Exception):
                made.kill()
        self.deleted.update(work.deleted)
