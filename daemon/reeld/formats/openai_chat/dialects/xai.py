"""xAI: every message has content, and reasoning goes back in Responses only (rule D15)."""

import re

from reeld.formats.openai_chat.dialects.dialect import Dialect, Media

DIALECT = Dialect(
    "xai",
    "xAI",
    re.compile(r"grok-.+"),
    media=Media(pictures=("image/png", "image/jpeg"), files=False, hears=lambda _model: False),
)
