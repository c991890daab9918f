"""Problems, and the report of a check of the database."""

from collections.abc import Iterable
from typing import NamedTuple

from reel.values import clean

# Problems that are listed; more are only counted.
LISTED = 100


class Problem(NamedTuple):
    """A problem: a stable word for it, an explanation, and the event that it is about, if any."""

    what: str
    reason: str
    seq: int | None = None
    event_id: int | None = None


class ReportedProblem(NamedTuple):
    """A problem, and the id and name of the agent that it is about, if it is about one."""

    problem: Problem
    uid: str | None
    name: str | None


class Report:
    """What was checked, the first problems, and how many more there are."""

    def __init__(self) -> None:
        self.agents = 0
        self.events = 0
        self.listed: list[ReportedProblem] = []
        self.omitted = 0

    def note(self, problems: Iterable[Problem], uid: str | None = None, name: str | None = None) -> None:
        """Add problems; the texts of a damaged row are cleaned, because they may not be valid text."""
        for problem in problems:
            if len(self.listed) < LISTED:
                told = problem._replace(reason=clean(problem.reason)[0])
                self.listed.append(ReportedProblem(told, uid and clean(uid)[0], name and clean(name)[0]))
            else:
                self.omitted += 1
