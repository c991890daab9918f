"""Parameters as in PROTOCOL, section 3: by position, by name, or both.

The signatures are the daemon's own, so that these tests also hold for its table.
"""

from typing import Any

import pytest

from reel.base.errors import InvalidParams
from reeld.protocol import converters
from reeld.protocol.converters import MAX_DEPTH, MAX_ITEMS, MAX_LABEL, MAX_PAGE, MAX_TITLE
from reeld.serving.methods import METHODS

BAD_BYTES = b"\xff".decode(errors="surrogateescape")


def bound(method: str, params: Any) -> dict[str, Any]:
    """Bind a method's parameters, and return those that were given."""
    signature = METHODS[method].signature
    values, _ = signature.bind(params)
    return {param.name: value for param, value in zip(signature.params, values, strict=True) if value is not None}


def refused(method: str, params: Any) -> InvalidParams:
    """Return the error with which parameters are refused."""
    with pytest.raises(InvalidParams) as caught:
        METHODS[method].signature.bind(params)
    return caught.value


def nested(levels: int) -> Any:
    """Return that many nested lists."""
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    "params",
    [
        ["demo", "hi", True],
        {"agent": "demo", "messages": "hi", "create": True},
        [{"agent": "demo", "messages": "hi", "create": True}],
        ["demo", {"messages": "hi", "create": True}],
        ["demo", "hi", {"create": True}],
        ["demo", "hi", True, None],
        ["demo", "hi", True, None, None],
        ["demo", "hi", True, []],
        ["demo", "hi", True, {}],
    ],
)
def test_ways_to_say_the_same(params: Any) -> None:
    """By position, by name, and with a map of names at the end are one call."""
    assert {"agent": "demo", "messages": "hi", "create": True} == bound("add", params)


@pytest.mark.parametrize("params", [None, {}, [], [[]], [None], [{}]])
@pytest.mark.parametrize("method", ["ping", "create", "agents", "hello"])
def test_ways_to_say_nothing(method: str, params: Any) -> None:
    """Every encoding of no parameters is accepted."""
    assert {} == bound(method, params)


@pytest.mark.parametrize("params", [["demo", None], {"agent": "demo", "label": None}, ["demo", {"label": None}]])
def test_null_is_left_out(params: Any) -> None:
    """An optional parameter that is null counts as not given."""
    assert {"agent": "demo"} == bound("mark", params)


def test_null_by_position_may_be_given_by_name() -> None:
    """A position that holds null is free, so its parameter may be given by name."""
    assert {"agent": "demo", "label": "x"} == bound("mark", ["demo", None, {"label": "x"}])


@pytest.mark.parametrize("params", [["demo", None], {"agent": "demo"}, ["demo", {"at": None}], ["demo"]])
def test_required_is_missing(params: Any) -> None:
    """The error names the missing parameter, and lists the accepted ones."""
    error = refused("restore", params)

    assert "at is missing; accepted: agent, at, if_seq?, key?" == error.message
    assert {"field": "at"} == error.data


def test_unknown_name() -> None:
    """An unknown name is refused, and the accepted ones are listed."""
    error = refused("mark", ["demo", {"lable": "x"}])

    assert "unknown parameter 'lable'; accepted: agent, label?, if_seq?, key?" == error.message
    assert {"field": "lable"} == error.data


@pytest.mark.parametrize("name", [1, None, b"x", BAD_BYTES])
def test_a_name_that_is_not_a_text(name: Any) -> None:
    """A key that is not a string, or not valid text, is an unknown name."""
    assert refused("ping", {name: 1}).message.endswith("; it takes none")


def test_given_twice() -> None:
    """A parameter by position and by name is refused."""
    assert {"field": "label"} == refused("mark", ["demo", "x", {"label": "y"}]).data


def test_too_many() -> None:
    """More parameters than accepted are refused, and the accepted ones are listed."""
    assert (
        "3 parameters are too many; accepted: agent, without_tag?" == refused("agent", ["demo", "private", 1]).message
    )
    assert "2 parameters are too many; it takes none" == refused("ping", [1, 2]).message


@pytest.mark.parametrize("params", ["demo", 1, True, 1.5, b"x"])
def test_params_that_are_neither(params: Any) -> None:
    """Parameters that are neither a list nor a map are refused."""
    assert refused("agent", params).message.startswith("params: expected a list or a map, got ")


@pytest.mark.parametrize("message", [{"role": "user", "content": "hi"}, {"kind": "note"}])
def test_a_lone_message_is_a_list_of_one(message: dict[str, Any]) -> None:
    """One message or record counts as a list of it, by name or by position, also before named parameters."""
    expected = {"agent": "demo", "messages": [message]}

    assert expected == bound("add", {"agent": "demo", "messages": message})
    assert expected == bound("add", ["demo", message])
    assert {**expected, "create": True} == bound("add", ["demo", message, {"create": True}])


def test_a_map_at_the_end_that_is_not_a_message() -> None:
    """A map without a role or a kind holds names, also in the position of another parameter."""
    assert {"field": "content"} == refused("add", ["demo", {"content": "hi"}]).data
    assert {"field": "role"} == refused("add", [{"role": "user", "content": "hi"}]).data
    assert {"field": "role"} == refused("mark", ["demo", {"role": "user"}]).data


def test_an_empty_map_is_not_a_message() -> None:
    """An empty map in the position of messages stays what it is, and is not a message."""
    assert {"agent": "demo", "messages": {}} == bound("add", {"agent": "demo", "messages": {}})


def test_the_depth_of_a_single_message() -> None:
    """The list around a single message counts as a level, so that its answer has at most sixteen."""
    assert bound("add", {"agent": "demo", "messages": {"role": nested(MAX_DEPTH - 3)}})
    assert ("messages: nested deeper than 16 levels") == refused(
        "add", {"agent": "demo", "messages": {"role": nested(MAX_DEPTH - 2)}}
    ).message


def test_lone_list_of_a_method_that_takes_one() -> None:
    """An empty list is a list if one is expected, not Lua's empty table."""
    assert {"agent": "demo", "messages": []} == bound("add", ["demo", []])


@pytest.mark.parametrize("method", ["hello", "create"])
def test_empty_list_for_a_map(method: str) -> None:
    """An empty list is accepted as a map: Lua has one empty table for both."""
    name = {"hello": "client", "create": "tags"}[method]

    assert {name: {}} == bound(method, {name: []})


@pytest.mark.parametrize("name", ["since", "limit", "last", "at", "max_bytes"])
def test_no_integers(name: str) -> None:
    """Neither true nor a float is an integer, as they are in Python."""
    for value in (True, False, 1.5, 1.0, "1", [1], b"1"):
        assert {"field": name} == refused("messages", {"agent": "demo", name: value}).data


@pytest.mark.parametrize(
    ("name", "lowest", "highest"),
    [
        ("since", 0, 2**53 - 1),
        ("at", 0, 2**53 - 1),
        ("limit", 1, MAX_ITEMS),
        ("last", 1, MAX_ITEMS),
    ],
)
def test_bounds_of_an_integer(name: str, lowest: int, highest: int) -> None:
    """An integer is accepted at its bounds and refused beyond them."""
    for value in (lowest, highest):
        assert bound("messages", {"agent": "demo", name: value})[name] == value
    for value in (lowest - 1, highest + 1):
        assert refused("messages", {"agent": "demo", name: value}).message.startswith(f"{name}: must be ")


@pytest.mark.parametrize(
    ("asked", "taken"), [(1, 1), (MAX_PAGE, MAX_PAGE), (MAX_PAGE + 1, MAX_PAGE), (2**53 - 1, MAX_PAGE)]
)
def test_a_page_has_a_largest_size(asked: int, taken: int) -> None:
    """Who asks for a larger page than there is gets the largest one: older clients could ask for any."""
    assert taken == bound("messages", {"agent": "demo", "max_bytes": asked})["max_bytes"]


@pytest.mark.parametrize("value", [0, 2**53])
def test_no_size_of_a_page(value: int) -> None:
    """A page of no bytes is refused, and so is what is no integer in JavaScript."""
    assert refused("messages", {"agent": "demo", "max_bytes": value}).message.startswith("max_bytes: must be ")


@pytest.mark.parametrize("value", [0, 1, "true", [True]])
def test_no_booleans(value: Any) -> None:
    """Only true and false are booleans."""
    assert {"field": "create"} == refused("add", ["demo", "hi", value]).data


@pytest.mark.parametrize("value", ["none", "", 1, None, ["messages"]])
def test_one_of_some_words(value: Any) -> None:
    """A value outside the choices is refused; null counts as not given."""
    if value is None:
        assert {"agent": "demo"} == bound("replay", {"agent": "demo", "view": value})
    else:
        assert refused("replay", {"agent": "demo", "view": value}).message.startswith("view: expected messages or ")


@pytest.mark.parametrize(
    ("given", "end"),
    [
        ("openai", "or langchain, got 'openai'; did you mean openai-chat?"),
        ("antropic", "got 'antropic'; did you mean anthropic?"),
        ("morse", "or langchain, got 'morse'"),
        ("", "or langchain, got ''"),
        (["gemini"], "got ['gemini']; did you mean gemini?"),
    ],
)
def test_what_one_of_some_words_may_have_meant(given: Any, end: str) -> None:
    """A typing error, or the beginning of a word, is answered with the word."""
    assert refused("render", {"agent": "demo", "format": given}).message.endswith(end)


def test_depth_of_the_parameters() -> None:
    """Sixteen levels are accepted, the parameters being the first; seventeen are not."""
    assert bound("add", ["demo", nested(MAX_DEPTH - 1)])["messages"] == nested(15)
    assert bound("add", {"agent": "demo", "messages": nested(MAX_DEPTH - 1)})["messages"] == nested(15)
    assert "messages: nested deeper than 16 levels" == refused("add", ["demo", nested(MAX_DEPTH)]).message
    assert {"field": "client"} == refused("hello", {"client": {"x": nested(400)}}).data


@pytest.mark.parametrize("name", ["a", "7", "A" * 128, "a.b_c/d@e-f", "0" * 31, "0" * 33])
def test_names_of_agents_that_are_accepted(name: str) -> None:
    """A name has 1 to 128 of some characters, and begins with a letter or digit."""
    assert {"agent": name} == bound("create", [name])


@pytest.mark.parametrize(
    "name",
    [
        "",
        "A" * 129,
        ".a",
        "-a",
        "_a",
        "/a",
        "@a",
        "a b",
        "a\n",
        "a\x00",
        "ä",
        "a" + BAD_BYTES,
        "0af" + "0" * 29,
        "F" * 32,
        1,
    ],
)
def test_names_of_agents_that_are_refused(name: Any) -> None:
    """Other names are refused, such as ids and bytes that are not UTF-8."""
    assert {"field": "agent"} == refused("create", [name]).data
    assert {"field": "name"} == refused("change", ["demo", name]).data
    assert {"field": "name"} == refused("clone", ["demo", name]).data


@pytest.mark.parametrize(("method", "name"), [("mark", "label"), ("rewind", "label"), ("add", "key")])
def test_length_of_labels_and_keys(method: str, name: str) -> None:
    """Labels and keys have 1 to 256 characters, none of which would have to be replaced."""
    rest = {"agent": "demo", "messages": "hi"} if method == "add" else {"agent": "demo"}

    assert "ä" * 256 == bound(method, {**rest, name: "ä" * MAX_LABEL})[name]
    for value in ("", "x" * (MAX_LABEL + 1), "a\x00", BAD_BYTES, 1):
        assert {"field": name} == refused(method, {**rest, name: value}).data


def test_length_of_a_title() -> None:
    """A title has up to 1,024 characters; an empty one is given, not left out."""
    assert {"title": "x" * MAX_TITLE} == bound("create", {"title": "x" * 1024})
    assert {"agent": "demo", "title": ""} == bound("change", {"agent": "demo", "title": ""})
    assert {"field": "title"} == refused("create", {"title": "x" * 1025}).data
    assert {"field": "title"} == refused("create", {"title": 1}).data


def test_names_and_values_of_tags() -> None:
    """Tags are a map of strings: names of 1 to 256 characters, values of up to 1,024."""
    tags = {"n" * 256: "v" * 1024, "empty": ""}

    assert {"tags": tags} == bound("create", {"tags": tags})


@pytest.mark.parametrize(
    "tags",
    [
        {"": "x"},
        {"n" * 257: "x"},
        {"n": "v" * 1025},
        {"n": 1},
        {"n": None},
        {1: "x"},
        {"n\x00": "x"},
        {BAD_BYTES: "x"},
        {"n": BAD_BYTES},
        ["x"],
        "x",
    ],
)
def test_invalid_tags(tags: Any) -> None:
    """Other tags are refused."""
    assert {"field": "tags"} == refused("create", {"tags": tags}).data


def test_tags_that_are_too_large_together() -> None:
    """The error has the limit, and how large they are; bytes count, not characters."""
    tags = {f"{number:02}": "ä" * 511 for number in range(64)}

    assert {"tags": tags} == bound("create", {"tags": tags})
    assert (
        "tags: all tags together may take 65,536 bytes (65,537 given); store longer texts as a note"
        == refused("create", {"tags": {**tags, "x": ""}}).message
    )


@pytest.mark.parametrize("text", ["a\x00b\x00", f"a{BAD_BYTES}b{BAD_BYTES}", "a\ud800b\udfff"])
def test_free_text_of_all_parameters_is_counted(text: str) -> None:
    """Invalid characters in texts for people are replaced, and counted over all parameters."""
    values, replaced = METHODS["create"].signature.bind(["demo", text, text])

    assert ["demo", "a\ufffdb\ufffd", "a\ufffdb\ufffd"] == values[:3]
    assert 4 == replaced


@pytest.mark.parametrize("address", ["a\x00", BAD_BYTES, 1, ["demo"]])
def test_addresses_are_not_repaired(address: Any) -> None:
    """An agent's name or id is used as it is, or refused."""
    assert {"field": "agent"} == refused("agent", [address]).data
    assert {"field": "into"} == refused("clone", {"agent": "demo", "into": address}).data


@pytest.mark.parametrize("kinds", ["user", ["user", "nonsense"], [1], [None], {"user": 1}])
def test_invalid_kinds(kinds: Any) -> None:
    """An unknown kind is refused, since it is most likely a typing error."""
    assert {"field": "kinds"} == refused("history", {"agent": "demo", "kinds": kinds}).data


def test_map_of_what_no_client_can_read() -> None:
    """A map with raw bytes or with NaN is refused."""
    for value in (b"x", float("nan")):
        assert {"field": "client"} == refused("hello", {"client": {"x": value}}).data


def test_each_kind_counts_once() -> None:
    """A kind that is named several times is queried once."""
    assert ["user", "mark"] == converters.kinds(["user", "mark", "user"] * 30_000)
