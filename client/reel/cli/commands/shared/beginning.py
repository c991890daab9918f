"""Which conversation a question belongs to, and what a template says of it."""

from reel.base.ids import is_id, is_name
from reel.base.place import tags_of_place
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.replies import AgentInfo


def take_text(ctx: Context) -> None:
    """Take the only argument for the text if no agent can be called so: ``reel ask "What is 2+2?"``."""
    if ctx.args.agent is None and ctx.words == [] and ctx.agent and not (is_name(ctx.agent) or is_id(ctx.agent)):
        ctx.use_as_text(ctx.agent)


def opened(ctx: Context) -> AgentInfo | None:
    """Return the agent that is begun, or whose prompt is asked for; ``None`` if it is just the one that was named.

    Raises:
        UsageError: it exists, and has another prompt.
    """
    args, system = ctx.args, ctx.args.system
    if not ctx.agent:
        return ctx.client.create(system=system, tags=tags_of_place())
    if system is None:
        return None
    if args.create and not ctx.client.has(ctx.agent):
        return ctx.client.create(ctx.agent, system=system, tags=tags_of_place())
    info = ctx.client.agent(ctx.agent)
    if info.system != system:
        raise UsageError(f"{info.name} exists; change its prompt with /system in reel chat, or leave out --system")
    return info


def apply_template(ctx: Context) -> None:
    """Let the template of ``-t`` say what the command line does not: the prompt, the text, the model.

    Raises:
        UsageError: there is no such template.
    """
    name, known = ctx.args.template, ctx.settings.templates
    if name is None:
        return
    if name not in known:
        from reel.cli.line.suggestions import like  # noqa: PLC0415 - only after a typing error

        there = f"; there are {', '.join(known)}" if known else "; reel.toml has none: [templates.NAME]"
        raise UsageError(f"there is no template {name!r}{like(name, known) or there}")
    template, args = known[name], ctx.args
    for option in ("system", "model", "via", "schema"):
        if getattr(args, option) is None and option in template:
            setattr(args, option, template[option])
    if (text := template.get("text")) is not None:
        said = ctx.word or ""
        whole = text.replace("{text}", said) if "{text}" in text else "\n\n".join(filter(None, (text, said)))
        ctx.words = [whole]
