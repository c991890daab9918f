"""Errors have the protocol's names and codes, and arrive as the same exception."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reel
from reel.base import errors
from reel.base.errors import BY_NAME, Exists, NotFound, NotRunning, ReelError, as_map, from_wire

pytestmark = pytest.mark.slow

TABLE: list[tuple[str, int, str]] = [
    ("parse_error", -32700, "ParseError"),
    ("invalid_request", -32600, "InvalidRequest"),
    ("method_not_found", -32601, "MethodNotFound"),
    ("invalid_params", -32602, "InvalidParams"),
    ("internal", -32603, "Internal"),
    ("protocol_mismatch", -32001, "ProtocolMismatch"),
    ("busy", -32002, "Busy"),
    ("too_large", -32003, "TooLarge"),
    ("not_found", -32004, "NotFound"),
    ("timeout", -32005, "Timeout"),
    ("conflict", -32006, "Conflict"),
    ("exists", -32007, "Exists"),
    ("killed", -32008, "Killed"),
    ("no_such_mark", -32009, "NoSuchMark"),
    ("invalid_message", -32010, "InvalidMessage"),
    ("storage", -32011, "Storage"),
    ("shutting_down", -32012, "ShuttingDown"),
    ("nothing_to_undo", -32013, "NothingToUndo"),
    ("cancelled", -32800, "Cancelled"),
]
CLASSES: list[type[ReelError]] = [getattr(errors, class_name) for _, _, class_name in TABLE]

of_every_class = pytest.mark.parametrize("error_class", CLASSES, ids=lambda found: found.__name__)
details = st.dictionaries(
    st.text().filter(lambda key: key not in ("self", "message")) | st.just("name"),
    st.integers() | st.text() | st.none(),
)


@pytest.mark.parametrize(("name", "code", "class_name"), TABLE)
def test_an_error_has_its_name_and_code(name: str, code: int, class_name: str) -> None:
    """A name and its code belong together, in every framing and for ever."""
    error_class = getattr(errors, class_name)

    assert (name, code) == (error_class.name, error_class.code)
    assert error_class is BY_NAME[name]


def test_the_table_is_complete() -> None:
    """The daemon sends only the errors that the protocol lists."""
    expected = {name for name, _, _ in TABLE}

    assert expected == set(BY_NAME)
    assert len(TABLE) == len({error_class.code for error_class in BY_NAME.values()})


@of_every_class
def test_an_error_is_public(error_class: type[ReelError]) -> None:
    """Every error can be caught by its own name, straight from the package."""
    assert error_class is getattr(reel, error_class.__name__)
    assert issubclass(error_class, reel.ReelError)


def test_nobody_answers_is_never_sent() -> None:
    """`not_running` is the client's own error, and no reply can cause it."""
    assert "not_running: start it" == str(NotRunning("start it"))
    assert "not_running" not in BY_NAME
    assert NotRunning.code not in {error_class.code for error_class in BY_NAME.values()}


def test_the_base_is_a_fault_of_the_daemons_own() -> None:
    """A plain error is the daemon's fault, by name and by code."""
    assert ("internal", -32603) == (ReelError.name, ReelError.code)


def test_what_a_person_reads() -> None:
    """An error reads as its name and what is wrong; the parts stay apart in its fields."""
    error = NotFound("no agent zed", agent="zed")

    assert "not_found: no agent zed" == str(error)
    assert "no agent zed" == error.message
    assert {"agent": "zed"} == error.data


def test_the_map_of_an_error() -> None:
    """The map equals the protocol's example, with the name at its top as well."""
    expected = {
        "code": -32004,
        "name": "not_found",
        "message": "not_found: no agent zed",
        "data": {"name": "not_found", "agent": "zed"},
    }

    assert expected == as_map(NotFound("no agent zed", agent="zed"))


@of_every_class
def test_data_never_overrides_the_name(error_class: type[ReelError]) -> None:
    """In the map the error's own name wins over one in its data, and the data stays as it was."""
    error = error_class("x", name="zed", agent="a1")
    expected = {"name": error_class.name, "agent": "a1"}

    assert expected == as_map(error)["data"]
    assert {"name": "zed", "agent": "a1"} == error.data


@of_every_class
@given(message=st.text(), data=details)
def test_a_map_comes_back_as_the_same_error(error_class: type[ReelError], message: str, data: dict[str, Any]) -> None:
    """An error that went over the wire as a map is the same exception with the same text and data."""
    came = from_wire(as_map(error_class(message, **data)))

    assert (error_class, message) == (type(came), came.message)
    assert {**data, "name": error_class.name} == came.data


@of_every_class
@given(message=st.text(), kind=st.sampled_from([0, 1]))
def test_a_pair_comes_back_as_the_same_error(error_class: type[ReelError], message: str, kind: int) -> None:
    """The pair that Neovim shows loses the data, but never the class or the text."""
    came = from_wire([kind, str(error_class(message))])

    assert (error_class, message, {}) == (type(came), came.message, came.data)


@pytest.mark.parametrize("wire", [as_map(Exists("exists: twice")), [0, str(Exists("exists: twice"))]])
def test_only_one_name_is_taken_off(wire: Any) -> None:
    """A text that starts with the error's own name keeps it."""
    assert "exists: twice" == from_wire(wire).message


def test_a_map_whose_text_has_no_name() -> None:
    """A text without a name in front is taken as it is."""
    came = from_wire({"name": "busy", "message": "later", "data": {"in_flight": 256}})

    assert (errors.Busy, "later", {"in_flight": 256}) == (type(came), came.message, came.data)


@pytest.mark.parametrize("rest", [{}, {"data": None}, {"data": [1]}, {"data": "text"}, {"code": "x", "more": 1}])
def test_a_map_without_data(rest: dict[str, Any]) -> None:
    """Missing data, or data that is not a map, becomes an empty map, and unknown fields are ignored."""
    came = from_wire({"name": "busy", "message": "busy: later", **rest})

    assert (errors.Busy, "later", {}) == (type(came), came.message, came.data)


@pytest.mark.parametrize(
    "wire",
    [{"name": "brand_new", "message": "it happened"}, {"name": "not_running", "message": "it happened"}],
)
def test_a_map_of_an_unknown_name_is_the_base(wire: Any) -> None:
    """An error of a newer daemon is still an error, with its text."""
    came = from_wire(wire)

    assert (ReelError, "it happened") == (type(came), came.message)


@pytest.mark.parametrize("text", ["brand_new: it happened", "it happened", "", ": ", "not_found:x"])
def test_a_pair_of_an_unknown_name_keeps_its_text(text: str) -> None:
    """A text that names no known error is kept whole."""
    came = from_wire([0, text])

    assert (ReelError, text) == (type(came), came.message)


@pytest.mark.parametrize(
    "wire",
    [
        None,
        5,
        "not_found: x",
        [],
        [0],
        [0, 1],
        ["0", "x"],
        [0, "x", 1],
        {},
        {"name": "busy"},
        {"name": 1, "message": "x"},
    ],
)
def test_what_is_no_error_is_shown(wire: Any) -> None:
    """A peer that sends nonsense is quoted in an error."""
    came = from_wire(wire)

    assert type(came) is ReelError
    assert repr(wire) in came.message
