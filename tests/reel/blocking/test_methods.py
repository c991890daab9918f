"""The blocking client has a method for each request, and help that describes it."""

import inspect
import pydoc
import re
import typing

import pytest

from reel import replies, requests
from reel.requests.calls import annotation_names
from reel.sync.client import Client

pytestmark = pytest.mark.slow

# The requests that a client makes by itself, and the functions that work on requests.
NOT_METHODS = {"greeting", "hello", "next_page", "with_idempotency_key"}


@pytest.mark.parametrize("name", sorted({*requests.__all__} - {"Call", *NOT_METHODS}))
def test_one_method_for_each_request(name: str) -> None:
    """Every request has a method of the same name, with its parameters and its documentation."""
    request, method = getattr(requests, name), getattr(Client, name)
    names = annotation_names()
    _self, *parameters = inspect.signature(method).parameters.values()

    assert [*inspect.signature(request, locals=names, eval_str=True).parameters.values()] == parameters
    assert request.__doc__ == method.__doc__


def test_help_shows_parameters_and_the_reply() -> None:
    """``help(Client.add)`` shows what the method takes, in which order, and the type of the reply."""
    shown = pydoc.plain(pydoc.render_doc(Client.add))

    # From Python 3.13 on, in lines.
    assert re.search(r"add\(\s*self,\s+agent: str,\s+messages: ", shown)
    assert re.search(r",\s+key: str \| None = None\s*\) -> reel\.replies\.adding\.Added", shown)
    assert "create: create the agent" in shown


def test_type_hints_of_a_method() -> None:
    """A program that reads the type hints of a method gets types, although the client itself imports no ``typing``."""
    hints = typing.get_type_hints(Client.render)

    assert (int | None, replies.Rendered) == (hints["at"], hints["return"])


def test_help_of_a_bound_method_leaves_out_self() -> None:
    """``help(client.add)`` shows the parameters of the method as it is called."""
    assert ["agent", "messages"] == list(inspect.signature(Client("/nowhere").add).parameters)[:2]
