"""``reeld`` without its search index: ``python -m tests.bench.unindexed [options of reeld]``.

No setting leaves the index out, because it costs hardly anything: that is what a row shows.
"""

import sys

import anyio

from reeld.__main__ import main
from reeld.search.service import Search


async def _never(_self: Search) -> None:
    await anyio.sleep_forever()


if __name__ == "__main__":
    Search.run = _never  # type: ignore[assignment,method-assign]
    sys.exit(main())
