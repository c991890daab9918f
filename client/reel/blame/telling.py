"""How much a line says about where it comes from."""

from __future__ import annotations

import re

# The letters and digits, outside the words below, that a line needs to be found other than by its neighbours alone: `}`
# and `return x` have fewer.
TELLING = 5
# What a line needs to be found by itself, away from its neighbours.
STRONG = 8
_WORD = re.compile(r"\w+")
# Words that begin or fill lines in many languages: two people write the same line with them.
_COMMON = frozenset(
    re.findall(
        r"\w+",
        """
        and as async await begin break case catch class const continue def default do done elif else end endif esac
        except export extends false fi final finally fn for from func function go if impl import in is let loop match
        mod module none not null nil or package pass print private protected pub public raise require return self
        static struct super switch then this throw throws true try type undefined use using var void when while with
        yield
        """,
    )
)


def weight(line: str) -> int:
    """Return how many letters and digits of a line are outside of common words."""
    return sum(len(word) for word in _WORD.findall(line) if word.lower() not in _COMMON)
