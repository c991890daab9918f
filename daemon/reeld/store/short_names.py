"""The shortest forms of the names on a page of agents, and the agents for which a form stands.

A form has to be compared with all names that begin or end like it. The beginnings have an index. The ends have none,
because every new agent would have to update it: SQLite reads the names of 100,000 agents in 30 ms, once for a page.
"""

from collections.abc import Iterable
from itertools import islice

from reel.reading.short_names import LEAST, digits_of, short_forms, shortest
from reeld.store.connection import Connection, Texts

_BEGINS = """
    SELECT name FROM agents
    WHERE name >= :begin AND name < :after AND instr(substr(name, length(:begin) + 1), '/') = 0
"""
# By the last eight characters, as many as a form has at least.
_ENDS = "SELECT name FROM agents WHERE substr(name, length(name) - 7) IN (SELECT value FROM json_each(?))"
# The names of the candidates for a form: they end with its digits, or are one part that begins with these.
STANDS_FOR = """
    (
        substr(a.name, length(a.name) - length(:digits) + 1) = :digits
        OR (instr(a.name, :digits) > 0 AND instr(substr(a.name, instr(a.name, :digits)), '/') = 0)
    )
"""
# Of a beginning or an end with the least digits, one name has two forms.
_FIRST = 2


def shortened(connection: Connection, names: Iterable[str]) -> dict[str, str]:
    """Return the shortest form of each name: it stands for no other agent, killed ones included."""
    wanted = list(names)
    forms = [form for name in wanted for form in islice(short_forms(name), _FIRST)]
    if not forms:
        return {name: name for name in wanted}
    ends = Texts(digits_of(form)[-LEAST:] for form in forms)
    others = {name for (name,) in connection.execute(_ENDS, (ends,))}
    for form in forms:
        after = form[:-1] + chr(ord(form[-1]) + 1)
        others |= {name for (name,) in connection.execute(_BEGINS, {"begin": form, "after": after})}
    return shortest(wanted, others)
