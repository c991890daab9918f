"""Questions with a known answer: what somebody types weeks later, and the message that answers it.

A file of questions has one on each line, its fields divided by `` | ``: a part of the conversation's name, a text that
only the answer has, the kind of the question, three queries as a person types them, and the question itself. Write them
before anything is searched for.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_FIELDS = 7
# Hits that somebody looks at.
_LOOKED_AT = 10


class Question(NamedTuple):
    """A question: where its answer is, what the answer has, of which kind it is, and what is typed."""

    conversation: str
    answer: str
    kind: str
    queries: tuple[str, ...]

    def is_answered_by(self, conversation: str, text: str) -> bool:
        """Return whether a message is the answer."""
        return self.conversation.lower() in conversation.lower() and self.answer.lower() in text.lower()


class Found(NamedTuple):
    """How many of some questions found their answer: with the first query, by hits; with any query; and as asked."""

    questions: int
    first: Mapping[int, int]
    best_of_three: int
    itself: int


def read(path: Path) -> list[Question]:
    """Return the questions of a file; lines that begin with ``#`` are comments."""
    found = []
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            fields = [field.strip() for field in line.split(" | ")]
            if len(fields) != _FIELDS:
                raise ValueError(f"expected {_FIELDS} fields, got {len(fields)}: {line}")
            conversation, answer, kind, *queries = fields
            found.append(Question(conversation, answer, kind, tuple(queries)))
    return found


def ask(questions: Iterable[Question], search: Callable[[str], Sequence[tuple[str, str]]]) -> Found:
    """Return how many questions find their answer.

    Args:
        questions: the questions.
        search: returns the conversations and texts of the best hits for a query.
    """
    ranks = [[_rank(question, search(query)) for query in question.queries] for question in questions]
    return Found(
        len(ranks),
        {most: sum(each[0] < most for each in ranks) for most in (1, 5, _LOOKED_AT)},
        sum(min(each[:3]) < 5 for each in ranks),
        sum(each[3] < 5 for each in ranks),
    )


def _rank(question: Question, hits: Sequence[tuple[str, str]]) -> int:
    places = (place for place, hit in enumerate(hits[:_LOOKED_AT]) if question.is_answered_by(*hit))
    return next(places, _LOOKED_AT)
