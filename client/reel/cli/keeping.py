"""What could not be added, and where it can be had again."""

from tempfile import NamedTemporaryFile

from reel.cli.context import Invocation


def keep(text: str, suffix: str) -> str:
    """Write a text into a file of its own; give its path."""
    with NamedTemporaryFile("w", prefix="reel-", suffix=suffix, delete=False, encoding="utf-8") as file:
        file.write(text)
    return file.name


def tell_of_text(run: Invocation, path: str) -> None:
    """Say where a message's text is, and how it is added."""
    role = ["--role", run.args.role] if run.args.role else []
    run.out.warn(f"your text is kept; add it with: {run.command('add', run.agent, '-', *role)} < {path}")
