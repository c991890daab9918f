"""What functions of the daemon remember of texts."""

import gc
import re
import sys
from functools import cache

from reel.base import remembering


def remembered() -> list[str]:
    """Return the texts that functions of the daemon, and :mod:`re`, have in a cache."""
    modules = [module for name, module in sys.modules.items() if name.startswith("reeld.")]
    found = [each for module in modules for each in vars(module).values() if isinstance(each, type(cache(str)))]
    kept = [gc.get_referents(each) for each in (*found, *remembering._caches)]
    return [str(each) for each in (*kept, re._cache)]  # type: ignore[attr-defined]
