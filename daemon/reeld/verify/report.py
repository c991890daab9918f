"""What a check of the database has found."""

from collections.abc import Iterable
from typing import NamedTuple

from reel.values import clean
from reeld.verify.rows import Problem

# Problems that are listed; the others are counted.
LISTED = 100


class ReportedProblem(NamedTuple):
    """A problem, and the id and name of the agent that it is about, if it is about one."""

    problem: Problem
    uid: str | None
    name: str | None


class Report:
    """What was looked at, and the problems: the first of them, and how many more there are."""

    def __init__(self) -> None:
        self.agents = 0
        self.events = 0
        self.listed: list[ReportedProblem] = []
        self.omitted = 0

    def note(self, problems: Iterable[Problem], uid: str | None = None, name: str | None = None) -> None:
        """Take problems in; what a damaged row says need not be text."""
        for problem in problems:
            if len(self.listed) < LISTED:
                told = problem._replace(reason=clean(problem.reason)[0])
                self.listed.append(ReportedProblem(told, uid and clean(uid)[0], name and clean(name)[0]))
            else:
                self.omitted += 1
