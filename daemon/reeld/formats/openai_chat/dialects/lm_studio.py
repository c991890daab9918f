"""LM Studio (rules D16, D17 and D20)."""

from reeld.formats.openai_chat.dialects.dialect import Dialect, Media

DIALECT = Dialect(
    "lm-studio",
    "LM Studio",
    instructions_anywhere=False,
    names=False,
    media=Media(("image/png", "image/jpeg"), picture_urls=False, files=False, hears=lambda _model: False),
    alternates=True,
)
