"""OpenAI Chat Completions, and the servers with the same API (the C and D rules of docs/provider-rules.md)."""

from functools import cache, lru_cache, partial

from reel.providers.openai import PROVIDER
from reel.providers.openai_chat import NAME
from reeld.formats.format import Format
from reeld.formats.openai import TOOL_NAMES
from reeld.formats.openai_chat.dialect import Dialect
from reeld.formats.openai_chat.dialects import DIALECTS, dialect_for
from reeld.formats.openai_chat.read import read_request, read_response
from reeld.formats.openai_chat.rules import history_settings, why_invalid, why_unsendable
from reeld.formats.openai_chat.write import write_prompt, write_turn


@cache
def _format(dialect: Dialect) -> Format:
    """Return the format in a dialect; only OpenAI's own is in the table of formats."""
    return Format(
        name=NAME if dialect.is_openai else f"{NAME}/{dialect.name}",
        provider=PROVIDER,
        history_key="messages",
        reserved_keys=frozenset({"messages"}),
        why_unsendable=partial(why_unsendable, dialect),
        write_turn=partial(write_turn, dialect),
        write_prompt=partial(write_prompt, dialect),
        tool_names=TOOL_NAMES,
        read_request=read_request,
        read_response=read_response,
        signed_in=dialect.signed_in,
        alternates=dialect.alternates,
        history_settings=partial(history_settings, dialect),
        why_invalid=partial(why_invalid, dialect),
        sent_id=dialect.sent_id,
    )


@lru_cache(maxsize=64)  # a name is compared with those of all dialects
def _in_dialect(name: str | None, model: str | None) -> Format:
    return _format(dialect_for(name, model))


FORMAT = _format(DIALECTS["openai"])._replace(dialects=tuple(DIALECTS), in_dialect=_in_dialect)
