"""Requests that add one plain text: what is read of them is what the signature and the handler of ``add`` read."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from reel.base.errors import ReelError
from reel.base.values import is_clean
from reeld.agents.idempotency import digest
from reeld.core.validation import UNALTERED, rows_from
from reeld.serving.methods import METHODS
from reeld.serving.plain_adds import plain_add

texts = st.text(max_size=6) | st.sampled_from(("", "a\0", "\ud800", "é"))
blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(("text", "thinking")), "text": texts | st.none()},
    optional={"provider_metadata": st.none()},
)
messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(("user", "assistant", "system", None, [])),
        "content": texts | st.lists(blocks, max_size=2),
    },
    optional={"seq": st.integers(), "ref": texts},
)
given_messages = texts | messages | st.lists(texts | messages, max_size=2) | st.none()
addresses = st.sampled_from(("demo", "a b", None, 1))
create: st.SearchStrategy[Any] = st.sampled_from((True, False, None, 1, {}))
positional = st.tuples(addresses, given_messages) | st.tuples(addresses, given_messages, create)
named = st.fixed_dictionaries(
    {"agent": addresses, "messages": given_messages},
    optional={
        "create": create,
        "key": st.sampled_from(("k", "", "x" * 257, 1, None)),
        "if_seq": st.none() | st.integers(0, 3),
        "from": st.none(),
        "unknown": st.none(),
    },
)


@given(positional.map(list) | named | st.lists(named, max_size=1) | st.lists(texts, max_size=4) | texts | st.none())
@example(["demo", {"role": "user", "content": "a message"}])
@example(["demo", [{"role": "user", "content": "a message"}], True])
@example({"agent": "demo", "messages": ["text"], "create": None, "key": None})
@example(["\0", "text"])
def test_what_is_read_is_what_the_others_read(params: Any) -> None:
    """Whatever is read as a plain add has the parameters, the row and the digest that it has as any other request."""
    found = plain_add(params)
    if found is None or not is_clean(found[0]):  # no live agent has such an address, so the others refuse it
        return
    values, replaced = METHODS["add"].signature.bind(params)
    address, given_as, made, *rest, if_seq, key = values
    found_address, kind, content, found_as, found_create, found_key = found

    assert 0 == replaced
    assert (found_address, found_as, found_create, found_key) == (address, given_as, made, key)
    assert if_seq is None
    assert [None] * len(rest) == rest
    rows, altered = rows_from(given_as)
    assert altered is UNALTERED
    assert [(kind, content, None, None)] == [tuple(row.row) for row in rows]
    assert digest("add", values[1:-2]) == digest("add", (found_as, found_create, *rest))


@given(st.sampled_from(("user", "assistant")), st.text().filter(lambda text: "\0" not in text))
def test_what_clients_send_is_read(role: str, text: str) -> None:
    """A clean text is read in every form in which clients send one."""
    message = {"role": role, "content": text}
    in_blocks = {"role": role, "content": [{"type": "text", "text": text}]}
    for params in (
        ["demo", text],
        ["demo", text, True],
        {"agent": "demo", "messages": text},
        {"agent": "demo", "messages": [message], "key": "k"},
        {"agent": "demo", "messages": [in_blocks], "create": True, "key": "k"},
        [{"agent": "demo", "messages": text, "key": "k"}],
    ):
        try:
            METHODS["add"].signature.bind(params)
        except ReelError:
            continue  # the other way refuses it
        found = plain_add(params)

        assert found is not None
        _, _, content, _, _, _ = found
        assert text == content
