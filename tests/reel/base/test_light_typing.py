"""The named tuples that are made without ``typing`` are like those that are made with it."""

from __future__ import annotations

import copy
import inspect
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


def test_a_wrong_number_of_values_or_a_wrong_name_is_refused() -> None:
    """What is made of a sequence has all values, and a copy differs in fields that there are."""
    for kind in (Light, Original):
        with pytest.raises(TypeError):
            kind._make(["a"])
        with pytest.raises((TypeError, ValueError), match="other"):
            kind("a")._replace(other=1)  # type: ignore[call-arg]
    assert ("b", 2) == Light._make(iter("b2"))._replace(line=2)


def test_what_makes_an_instance() -> None:
    """It has a signature and a name; a subclass makes instances of its own."""

    class Own(Light):
        pass

    assert "(path: 'str', line: 'int' = 1)" == str(inspect.signature(Light))
    assert "Light.__new__" == Light.__new__.__qualname__
    assert (Own, 1) == (type(Own("a")), Own("a").line)


@pytest.mark.parametrize("size", range(20))
def test_any_number_of_fields(size: int) -> None:
    """Values are given by position or by name, in any order, and what is wrong is told by the names of the fields."""
    fields, light = [f"field{number}" for number in range(size)], typing.cast("typing.Any", NamedTuple)
    body = {"__module__": __name__, "__qualname__": "Many", "__annotations__": dict.fromkeys(fields, "int")}
    many = type(light)("Many", (light,), body)

    assert tuple(range(size)) == many(*range(size))
    assert tuple(range(size)) == many(**{field: number for number, field in reversed([*enumerate(fields)])})
    with pytest.raises(TypeError, match="'other'"):
        many(*range(size), other=1)
    with pytest.raises(TypeError, match=r"Many.__new__\(\) takes"):
        many(*range(size + 1))


@pytest.mark.parametrize("name", ["__annotate__", "__annotate_func__"])
def test_annotations_that_are_evaluated_late(name: str) -> None:
    """From Python 3.14 on, the body of a class has a function in place of its annotations."""
    light: typing.Any = NamedTuple
    body = {"__module__": __name__, "__qualname__": "Late", name: lambda _: {"here": int}, "here": 1}
    late = type(light)("Late", (light,), body)

    assert (("here",), (1,)) == (late._fields, late())
