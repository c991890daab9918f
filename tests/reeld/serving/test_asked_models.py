"""The model that was asked for is known if all renderings since the last answer were for it (rule X16)."""

import pytest

from reeld.serving.asked_models import AskedModels

KEY = 1, "gemini"


@pytest.mark.parametrize(
    ("models", "asked"),
    [([], None), (["a"], "a"), (["a", "a"], "a"), (["a", "b"], None), (["a", None], None), ([None], None)],
)
def test_only_one_model_is_known(models: list[str | None], asked: str | None) -> None:
    """It is returned once; the next answer belongs to other renderings."""
    found = AskedModels()
    for model in models:
        found.note(KEY, model)
        found.note((2, "gemini"), "other")
        found.note((1, "anthropic"), "other")

    assert asked == found.take(KEY)
    assert found.take(KEY) is None


def test_the_oldest_renderings_are_forgotten() -> None:
    """A rendering that was never answered does not stay for ever."""
    found = AskedModels(room=2)
    for row in (1, 2, 1, 3):
        found.note((row, "gemini"), "a")

    assert ["a", None, "a"] == [found.take((row, "gemini")) for row in (1, 2, 3)]
