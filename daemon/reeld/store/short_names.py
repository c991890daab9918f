"""The shortest forms of the names on a page of agents, and the agents for which a form stands.

A form has to be compared with all names that begin or end like it. No index has their ends, because every new agent
would have to update it: one statement reads the names of all agents, once for a page.
"""

from collections.abc import Iterable
from itertools import islice

from reel.reading.short_names import LEAST, digits_of, short_forms, shortest
from reeld.store.connection import Connection, Texts

# The names that end with one of these, or have one of them at the beginning of their only part below the tool. Each has
# as many characters as a form has at least. Because these are alternatives, PostgreSQL looks them up in a hash; in a
# statement of their own, the daemon's connections compare every name with every one of them, 10 s for 100,000 names.
ALIKE = """
    SELECT name FROM agents WHERE substr(name, length(name) - 7) IN (SELECT value FROM json_each(:ends))
    OR (
        substr(name, instr(name, '/') + 1, 8) IN (SELECT value FROM json_each(:ends))
        AND instr(substr(name, instr(name, '/') + 1), '/') = 0
    )
"""
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
    digits = [digits_of(form) for name in wanted for form in islice(short_forms(name), _FIRST)]
    if not digits:
        return {name: name for name in wanted}
    ends = Texts({end for each in digits for end in (each[:LEAST], each[-LEAST:])})
    return shortest(wanted, [name for (name,) in connection.execute(ALIKE, {"ends": ends})])
