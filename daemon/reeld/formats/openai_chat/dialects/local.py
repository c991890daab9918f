"""What the servers have in common that put a model's own chat template around any model (rules D16 and D17)."""

from reeld.formats.openai_chat.dialects.dialect import Dialect
from reeld.formats.openai_chat.dialects.mistral import MODELS, nine_characters


def served(dialect: Dialect, model: str | None) -> Dialect:
    """Return the dialect of a server for one of its models: the template of Mistral's is as strict as its API."""
    if model is None or not MODELS.fullmatch(model):
        return dialect
    return dialect._replace(bridges=True, sent_id=nine_characters)
