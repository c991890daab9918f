"""The replies of the daemon, as tuples with the protocol's fields.

A field that an older or newer daemon leaves out has its default. A field that is not known here is ignored. The modules
import the types of what is said, and nothing else. Begin with :mod:`reel.replies.agents`.

As in the package above, a module is loaded when a name of it is first used: creating all forty-five would take each
command as long as a quarter of Python's start.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in the package above
if TYPE_CHECKING:
    from typing import Any

    from reel.replies.adding import Added as Added
    from reel.replies.adding import AddedItems as AddedItems
    from reel.replies.adding import Appended as Appended
    from reel.replies.adding import Committed as Committed
    from reel.replies.adding import Known as Known
    from reel.replies.adding import Orphan as Orphan
    from reel.replies.adding import PartResult as PartResult
    from reel.replies.agents import AgentInfo as AgentInfo
    from reel.replies.agents import AgentRow as AgentRow
    from reel.replies.agents import AgentsPage as AgentsPage
    from reel.replies.agents import KilledAgents as KilledAgents
    from reel.replies.agents import Mark as Mark
    from reel.replies.agents import OpenCall as OpenCall
    from reel.replies.agents import Source as Source
    from reel.replies.agents import Value as Value
    from reel.replies.daemon import BackedUp as BackedUp
    from reel.replies.daemon import Hello as Hello
    from reel.replies.daemon import MethodInfo as MethodInfo
    from reel.replies.daemon import Problem as Problem
    from reel.replies.daemon import Verified as Verified
    from reel.replies.edits import Edit as Edit
    from reel.replies.edits import EditsPage as EditsPage
    from reel.replies.erasing import ErasedBackup as ErasedBackup
    from reel.replies.erasing import OldAgent as OldAgent
    from reel.replies.erasing import Place as Place
    from reel.replies.erasing import Pruned as Pruned
    from reel.replies.erasing import Purged as Purged
    from reel.replies.erasing import Redacted as Redacted
    from reel.replies.erasing import Retained as Retained
    from reel.replies.following import Subscribed as Subscribed
    from reel.replies.following import Waited as Waited
    from reel.replies.moving import Marked as Marked
    from reel.replies.moving import Moved as Moved
    from reel.replies.moving import Redone as Redone
    from reel.replies.moving import Rewound as Rewound
    from reel.replies.moving import TurnUndone as TurnUndone
    from reel.replies.moving import Undone as Undone
    from reel.replies.providers import Change as Change
    from reel.replies.providers import Loaded as Loaded
    from reel.replies.providers import Parsed as Parsed
    from reel.replies.providers import Prefix as Prefix
    from reel.replies.providers import Rendered as Rendered
    from reel.replies.reading import ConversationPage as ConversationPage
    from reel.replies.reading import Expression as Expression
    from reel.replies.reading import HistoriesPage as HistoriesPage
    from reel.replies.reading import HistoryPage as HistoryPage
    from reel.replies.reading import Hit as Hit
    from reel.replies.reading import HitsPage as HitsPage
    from reel.replies.reading import ItemsPage as ItemsPage
    from reel.replies.reading import MessagesPage as MessagesPage
    from reel.replies.reading import ReplayPage as ReplayPage
    from reel.replies.reading import Skipped as Skipped
    from reel.replies.reading import StatePage as StatePage

_NAMES = {
    "reel.replies.adding": "Added AddedItems Appended Committed Known Orphan PartResult",
    "reel.replies.agents": "AgentInfo AgentRow AgentsPage KilledAgents Mark OpenCall Source Value",
    "reel.replies.daemon": "BackedUp Hello MethodInfo Problem Verified",
    "reel.replies.edits": "Edit EditsPage",
    "reel.replies.erasing": "ErasedBackup OldAgent Place Pruned Purged Redacted Retained",
    "reel.replies.following": "Subscribed Waited",
    "reel.replies.moving": "Marked Moved Redone Rewound TurnUndone Undone",
    "reel.replies.providers": "Change Loaded Parsed Prefix Rendered",
    "reel.replies.reading": "ConversationPage Expression HistoriesPage HistoryPage Hit HitsPage ItemsPage MessagesPage"
    " ReplayPage Skipped StatePage",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
if not TYPE_CHECKING:
    __all__ = sorted(_MODULE_OF)  # noqa: PLE0605 - as in the package above


def __dir__() -> list[str]:
    """List the names, for completion."""
    return sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    """Load a name from its module when it is first used."""
    from importlib import import_module  # noqa: PLC0415 - loaded only when a name is first used

    if name not in _MODULE_OF:
        raise AttributeError(f"module 'reel.replies' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return value
