"""What the vendors' SDKs know of requests and responses is read and kept."""

import json
from typing import Any, get_args

import pytest
from typing_extensions import get_type_hints

from reel.providers.openai_responses import CALL_KINDS, OUTPUT_KINDS
from reeld.core.validation import rows_from
from reeld.formats.anthropic.rules import UNMARKED
from reeld.formats.ingest import read_request, read_response
from tests.formats.checker import check
from tests.reeld.formats.sending import sent
from tests.sdks.examples import example, faults, keys, members, one_by_one, variants, with_nulls

anthropic_types = pytest.importorskip("anthropic.types", reason="the SDKs are not installed")
beta_types = pytest.importorskip("anthropic.types.beta", reason="the SDKs are not installed")
chat_types = pytest.importorskip("openai.types.chat", reason="the SDKs are not installed")
responses_types = pytest.importorskip("openai.types.responses", reason="the SDKs are not installed")
gemini_types = pytest.importorskip("google.genai.types", reason="the SDKs are not installed")
interactions = pytest.importorskip("google.genai.interactions", reason="the SDKs are not installed")

Json = dict[str, Any]
ANSWERS = {
    "Message": ("anthropic", anthropic_types.Message),
    "BetaMessage": ("anthropic", beta_types.BetaMessage),
    "ChatCompletion": ("openai-chat", chat_types.ChatCompletion),
    "Response": ("openai-responses", responses_types.Response),
    "GenerateContentResponse": ("gemini", gemini_types.GenerateContentResponse),
    "Interaction": ("gemini-interactions", interactions.Interaction),
}
each_answer = pytest.mark.parametrize(("name", "kind"), ANSWERS.values(), ids=ANSWERS)
# The keys of an answer with another name in the metadata, or that are its content.
READ = {
    **dict.fromkeys(("id", "responseId"), "response_id"),
    "modelVersion": "model",
    "usageMetadata": "usage",
    **dict.fromkeys(("stop_reason", "finish_reason", "finishReason"), "finish_reason"),
}
NOT_KEPT = {
    *("content", "choices", "output", "candidates", "message", "index"),
    *("object", "type", "role", "instructions", "tools", "sdkHttpResponse", "parsed"),
    *("steps", "input", "system_instruction", "output_text", "output_image", "output_audio", "output_video"),
}


@each_answer
def test_everything_beside_an_answer_is_kept(name: str, kind: Any) -> None:
    """It is in the metadata of the message, whatever the SDK knows of (rules X15 and R11)."""
    body = example(kind, full=True)
    inside = {"openai-chat": "choices", "gemini": "candidates"}.get(name)
    beside = {**body, **(body[inside][0] if inside else {})}
    message = read_response(name, json.dumps(body))[0]
    kept = {key.removesuffix("_json") for key in message["provider_metadata"]}
    read = {**READ, **({"status": "finish_reason"} if name == "gemini-interactions" else {})}

    assert set() == {read.get(key, key) for key in beside.keys() - NOT_KEPT} - kept
    assert rows_from([message])


@each_answer
def test_an_answer_with_nulls_is_that_without(name: str, kind: Any) -> None:
    """A model dumps every key that it lacks as null."""
    body = example(kind, full=False)
    whole = read_response(name, json.dumps({**body, **FINISHED.get(name, {})}))

    assert whole == read_response(name, json.dumps(with_nulls(kind, {**body, **FINISHED.get(name, {})})))
    assert keys(kind)


FINISHED: dict[str, Json] = {
    "gemini": {"candidates": [{"content": {"parts": [{"text": "x"}]}}]},
    "gemini-interactions": {"status": "completed", "steps": []},
}


OUTPUT_ITEMS = {kind.__name__: kind for kind in members(responses_types.ResponseOutputItem)}
# Keys that the SDK requires and the API does not.
OPTIONAL = frozenset({"id", "status", "type", "annotations", "result", "code", "outputs"})
# Keys that the SDK requires in a request and not in an answer.
NULLABLE = frozenset({"parameters", "strict"})


def output_with(item: Json) -> list[Json]:
    """Return the output of a response with an item, and what belongs to it: its call, or what it led to."""
    spoken = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
    output = OUTPUT_KINDS.get(item["type"])
    if output is None:
        return [item, spoken]
    name = next(name for name, kind in CALL_KINDS.items() if kind == output)
    made = [example(kind, full=False) for kind in OUTPUT_ITEMS.values()]
    call = next(found for found in made if found["type"] == name)
    return [{**call, output.call_id_key: item[output.output_id_key]}, item, spoken]


@pytest.mark.parametrize("kind", OUTPUT_ITEMS.values(), ids=OUTPUT_ITEMS)
@pytest.mark.parametrize("full", [True, False])
def test_every_output_item_of_responses_is_ingested(kind: Any, full: bool) -> None:
    """It is sent back in a form that the SDK knows, or its loss is reported (rules R6 and R12)."""
    item = with_nulls(kind, example(kind, full=full))
    body = json.dumps({"model": "gpt-5", "output": output_with(item)})
    message = read_response("openai-responses", body)[0]
    sent_back, report = sent("openai-responses", ["Hi", message, "And?"], "gpt-5", {"store": False})
    inputs = responses_types.ResponseInputItemParam
    wrong = [fault for item in sent_back["input"] for fault in faults(inputs, item, "", OPTIONAL | NULLABLE)]

    assert rows_from([message])
    assert item["type"] in [found.get("type", "message") for found in sent_back["input"]] or "dropped" in [
        change.action for change in report
    ]
    assert [] == wrong


def test_responses_has_28_types_of_output_items() -> None:
    """A new type is one to look at."""
    assert 28 == len(OUTPUT_ITEMS)


MODELS = {
    "openai-chat": "gpt-5",
    "openai-responses": "gpt-5",
    "anthropic": "claude-opus-4-8",
    "gemini": "gemini-3-pro-preview",
    "gemini-interactions": "gemini-3-pro-preview",
}
REQUESTS: list[tuple[str, Any, Json, Any]] = [
    ("openai-responses", responses_types.ResponseInputItemParam, {"input": [{"role": "user", "content": "Hi"}]}, None),
    ("openai-chat", chat_types.ChatCompletionMessageParam, {"messages": [{"role": "user", "content": "Hi"}]}, None),
    ("openai-chat", chat_types.ChatCompletionContentPartParam, {"messages": []}, {"role": "user", "key": "content"}),
    ("anthropic", beta_types.BetaContentBlockParam, {"messages": []}, {"role": "user", "key": "content"}),
    ("anthropic", beta_types.BetaContentBlockParam, {"messages": []}, {"role": "assistant", "key": "content"}),
    ("gemini", gemini_types.Part, {"contents": []}, {"role": "user", "key": "parts"}),
    ("gemini", gemini_types.Part, {"contents": []}, {"role": "model", "key": "parts"}),
    ("gemini-interactions", interactions.StepParam, {"input": []}, None),
    ("gemini-interactions", interactions.ContentParam, {"input": []}, None),
]
LOADED = [
    pytest.param(name, value, body, place, id=f"{name}-{member.__name__}-{place['role'] if place else 'item'}-{number}")
    for name, kind, body, place in REQUESTS
    for member in members(kind)
    if member.__name__ != "ItemReference"  # it refers to the outside of a request (rule R8)
    for number, value in enumerate(one_by_one(member) if name == "gemini" else variants(member))
]


@pytest.mark.parametrize(("name", "value", "body", "place"), LOADED)
def test_every_type_of_a_request_is_loaded(name: str, value: Json, body: Json, place: Json | None) -> None:
    """What the SDKs write is read, and every format renders it to what its API accepts."""
    item = value if place is None else {"role": place["role"], place["key"]: [value]}
    key = next(iter(body))
    loaded = read_request(name, json.dumps({**body, key: [*body[key], item]}), MODELS[name])

    for target, model in MODELS.items():
        found, _ = sent(target, [*loaded.messages, "And?"], model)
        problems = check(target.replace("-", "_"), found, model)
        assert [] == [problem for problem in problems if problem.why != "unknown key"]


CITATIONS = {kind.__name__: kind for kind in members(beta_types.BetaTextCitation)}


@pytest.mark.parametrize("kind", CITATIONS.values(), ids=CITATIONS)
def test_a_citation_of_an_answer_has_the_keys_of_a_request(kind: Any) -> None:
    """What only the types of answers have is not sent back (rule A16)."""
    block = {"type": "text", "text": "x", "citations": [example(kind, full=True)]}
    message = read_response("anthropic", json.dumps({"content": [block]}))[0]
    body, report = sent("anthropic", ["Hi", message, "And?"])
    (citation,) = body["messages"][1]["content"][0]["citations"]

    assert [] == faults(beta_types.BetaTextCitationParam, citation)
    assert [] == report


STEPS = {kind.__name__: kind for kind in members(interactions.StepParam)}


def step_with(kind: Any) -> list[Json]:
    """Return a step of an answer, and what belongs to it: its call, or its result."""
    step = example(kind, full=True)
    of = step["type"].removesuffix("_call").removesuffix("_result")
    halves = sorted((example(other, full=True) for other in STEPS.values()), key=lambda half: str(half["type"]))
    pair = [found for found in halves if found["type"] in (f"{of}_call", f"{of}_result")]
    names = {"id": "x1", "call_id": "x1", "arguments": {}}
    return [{**half, **{key: names[key] for key in names.keys() & half.keys()}} for half in pair or [step]]


@pytest.mark.parametrize("kind", STEPS.values(), ids=STEPS)
def test_every_step_of_an_interaction_goes_back_as_the_sdk_has_it(kind: Any) -> None:
    """A request to Interactions is one of the SDK's own type, without steps that it does not know (rule I6)."""
    history = [{"type": "user_input", "content": [{"type": "text", "text": "Hi"}]}, *step_with(kind)]
    model = MODELS["gemini-interactions"]
    loaded = read_request("gemini-interactions", json.dumps({"input": history}), model).messages
    body, report = sent("gemini-interactions", [*loaded, "And?"], model)
    parsed = interactions.CreateModelInteraction.model_validate(body)
    wrong = [fault for step in body["input"] for fault in faults(interactions.StepParam, step)]

    assert [step["type"] for step in body["input"]] == [step.type for step in parsed.input]
    assert [] == wrong
    if kind is not interactions.ThoughtStepParam:  # alone it is no turn
        assert example(kind, full=True)["type"] in [step["type"] for step in body["input"]]
        assert {"merged"} >= {change.action for change in report}


def test_the_blocks_without_cache_control_are_those_of_the_sdk() -> None:
    """Every other block of a request may have a breakpoint (rule A7)."""
    blocks = [kind for kind in get_args(beta_types.BetaContentBlockParam) if hasattr(kind, "__total__")]
    without = {kind for block in blocks if "cache_control" not in get_type_hints(block) for kind in types_of(block)}

    assert set(UNMARKED) == without


def types_of(block: Any) -> tuple[str, ...]:
    """Return the types that a block of a request may have."""
    hints = get_type_hints(block)
    found: tuple[str, ...] = get_args(hints["type"])
    return found
