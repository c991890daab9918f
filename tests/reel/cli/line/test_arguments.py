"""One rule finds the agent of every command."""

import pytest

from reel.cli.line.arguments import Arity, UsageError, arity, is_lone, resolve

ADD = "[NAME] [TEXT]"
SHOW = "[NAME]"
RESTORE = "[NAME] SEQ"
TAG = "[NAME] TAG..."


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ("", Arity(agent=False, least=0, most=0)),
        ("[TOOL]", Arity(agent=False, least=0, most=1)),
        (SHOW, Arity(agent=True, least=0, most=0)),
        (ADD, Arity(agent=True, least=0, most=1)),
        (RESTORE, Arity(agent=True, least=1, most=1)),
        (TAG, Arity(agent=True, least=1, most=1 << 30)),
    ],
)
def test_arity_of_a_usage(usage: str, expected: Arity) -> None:
    """The usage in the help determines how many arguments are accepted."""
    assert expected == arity(usage)


@pytest.mark.parametrize(
    ("usage", "words", "option", "default", "expected"),
    [
        pytest.param(SHOW, ["demo"], None, None, ("demo", []), id="named"),
        pytest.param(SHOW, [], None, "env", ("env", []), id="left out"),
        pytest.param(SHOW, ["demo"], None, "env", ("demo", []), id="named in spite of the variable"),
        pytest.param(SHOW, [], "opt", "env", ("opt", []), id="option before variable"),
        pytest.param(ADD, ["demo", "hi"], None, None, ("demo", ["hi"]), id="both words"),
        pytest.param(ADD, ["hi"], None, "env", ("env", ["hi"]), id="the text alone"),
        pytest.param(ADD, ["demo", "hi"], None, "env", ("demo", ["hi"]), id="both words in spite of the variable"),
        pytest.param(ADD, ["hi"], "opt", "env", ("opt", ["hi"]), id="option and text"),
        pytest.param(ADD, ["demo"], None, None, ("demo", []), id="the agent alone"),
        pytest.param(ADD, [], None, "env", ("env", []), id="no word at all"),
        pytest.param(ADD, ["demo"], None, "", ("demo", []), id="an empty variable is none"),
        pytest.param(RESTORE, ["demo", "17"], None, None, ("demo", ["17"]), id="agent and seq"),
        pytest.param(RESTORE, ["17"], None, "env", ("env", ["17"]), id="seq alone"),
        pytest.param(TAG, ["demo", "a=b", "c-"], None, None, ("demo", ["a=b", "c-"]), id="agent and tags"),
        pytest.param(TAG, ["a=b", "c-"], None, "env", ("env", ["a=b", "c-"]), id="tags alone"),
        pytest.param("[TOOL]", ["demo"], None, "env", ("", ["demo"]), id="a command without an agent"),
    ],
)
def test_agent_is_found_by_option_variable_or_position(
    usage: str, words: list[str], option: str | None, default: str | None, expected: tuple[str, list[str]]
) -> None:
    """-a comes first, then the variable if the arguments fit without an agent, then the first argument."""
    assert expected == resolve(usage, words, option, default)


@pytest.mark.parametrize(
    ("usage", "words", "option", "default", "expected"),
    [
        pytest.param(SHOW, [], None, None, "no conversation was named, and $REEL_AGENT is not set", id="no agent"),
        pytest.param(SHOW, ["a", "b"], None, "env", "unexpected argument 'b'; expected [NAME]", id="too many"),
        pytest.param(ADD, ["a", "b"], "opt", None, "unexpected argument 'b'; expected [NAME] [TEXT]", id="option"),
        pytest.param("", ["a"], None, None, "unexpected argument 'a'; expected none", id="takes none"),
        pytest.param(SHOW, [""], None, "env", "the conversation's name is empty", id="an empty word"),
        pytest.param(ADD, ["demo", "hi"], "", "env", "the conversation's name is empty", id="an empty option"),
        pytest.param(RESTORE, [], None, "env", "SEQ is missing; expected [NAME] SEQ", id="too few"),
        pytest.param(
            TAG,
            ["k=v"],
            None,
            None,
            "TAG is missing, because 'k=v' was taken for the conversation ($REEL_AGENT is not set);"
            " expected [NAME] TAG...",
            id="taken for the agent",
        ),
    ],
)
def test_wrong_number_of_arguments(
    usage: str, words: list[str], option: str | None, default: str | None, expected: str
) -> None:
    """The error names the missing or unexpected argument, and what is expected."""
    with pytest.raises(UsageError) as caught:
        resolve(usage, words, option, default)

    assert expected == caught.value.message


@pytest.mark.parametrize(
    ("usage", "words", "option", "default", "expected"),
    [
        pytest.param(ADD, ["other"], None, "env", True, id="a name"),
        pytest.param(ADD, ["0" * 32], None, "env", True, id="an id"),
        pytest.param(ADD, ["two words"], None, "env", False, id="no name"),
        pytest.param(ADD, ["-"], None, "env", False, id="stdin"),
        pytest.param(ADD, ["a" * 129], None, "env", False, id="too long for a name"),
        pytest.param(ADD, ["other"], None, None, False, id="no variable"),
        pytest.param(ADD, ["other"], "opt", "env", False, id="an option"),
        pytest.param(ADD, ["other", "hi"], None, "env", False, id="both words"),
        pytest.param(SHOW, ["other"], None, "env", False, id="the agent alone"),
        pytest.param(RESTORE, ["17"], None, "env", False, id="a word that must be there"),
        pytest.param(TAG, ["a-"], None, "env", False, id="words that must be there"),
        pytest.param("[TOOL]", ["other"], None, "env", False, id="a command without an agent"),
    ],
)
def test_lone_argument_is_ambiguous(
    usage: str, words: list[str], option: str | None, default: str | None, *, expected: bool
) -> None:
    """A single argument is ambiguous if it could be an agent and nothing else decides."""
    assert expected is is_lone(usage, words, option, default)


@pytest.mark.parametrize(("words", "option"), [([""], None), ([], "")])
def test_empty_name_is_not_all_agents(words: list[str], option: str | None) -> None:
    """If a command may be about all agents, no argument means all, but an empty one is refused."""
    with pytest.raises(UsageError, match="is empty"):
        resolve(SHOW, words, option, None, agent_optional=True)
