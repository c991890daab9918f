"""The named tuples that are made without ``typing`` are like those that are made with it."""

from __future__ import annotations

import copy
import pickle
import typing

import pytest

from reel.base.light_typing import NamedTuple


class Light(NamedTuple):
    """A named tuple."""

    path: str
    line: int = 1

    @property
    def shown(self) -> str:
        """Both in one text."""
        return f"{self.path}:{self.line}"


class Original(typing.NamedTuple):
    """A named tuple."""

    path: str
    line: int = 1

    @property
    def shown(self) -> str:
        """Both in one text."""
        return f"{self.path}:{self.line}"


def test_instances_are_alike() -> None:
    """It is made from positions or names, has defaults, and equals its values."""
    light, original = Light("a"), Original("a")

    assert light == Light(path="a") == ("a", 1)
    assert ("Light(path='a', line=1)", "a:1") == (repr(light), light.shown)
    assert (original._asdict(), tuple(original._replace(line=2))) == (light._asdict(), light._replace(line=2))


@pytest.mark.parametrize(
    "attribute", ["_fields", "_field_defaults", "__match_args__", "__doc__", "__bases__", "__slots__"]
)
def test_classes_are_alike(attribute: str) -> None:
    """The class has what ``typing`` gives it."""
    assert getattr(Original, attribute) == getattr(Light, attribute)


def test_annotations_are_alike() -> None:
    """The class and what makes its instances have the types of the fields."""
    assert typing.get_type_hints(Original) == typing.get_type_hints(Light) == {"path": str, "line": int}
    assert {"path": "str", "line": "int"} == Light.__new__.__annotations__


def test_it_can_be_copied_and_pickled() -> None:
    """The class is found under its own name and module."""
    light = Light("a", 2)

    assert light == copy.copy(light) == pickle.loads(pickle.dumps(light))
    assert (__name__, "Light") == (Light.__module__, Light.__qualname__)


def test_a_missing_value_is_refused() -> None:
    """A value without a default has to be given."""
    with pytest.raises(TypeError, match="path"):
        Light()  # type: ignore[call-arg]
