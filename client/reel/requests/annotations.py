"""The names in the annotations of the requests that their modules import for checkers alone.

:mod:`reel.requests.calls` evaluates the annotations with them if somebody asks for the signature of a method.
"""

from collections.abc import Sequence
from typing import Any, Literal

from reel.formats import Body, Dialect, Format
from reel.messages import Addable

__all__ = ["Addable", "Any", "Body", "Dialect", "Format", "Literal", "Sequence"]
