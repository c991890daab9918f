"""Changes the text of ``reel.toml``, and nothing else in it."""

import os
import re
import tomllib
from contextlib import suppress


def read(path: str) -> str:
    """Return the text of the file, which need not exist."""
    try:
        with open(path, encoding="utf-8-sig") as file:  # what is put before the text would come before its BOM
            return file.read()
    except FileNotFoundError:
        return ""


def replace(path: str, text: str) -> None:
    """Replace a file as a whole, so that no command reads half of it; a link stays one."""
    import tempfile  # noqa: PLC0415 - it takes long, and who only reads does not need it

    target = os.path.realpath(path)
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=os.path.dirname(target), delete=False) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileNotFoundError):
        os.chmod(file.name, os.stat(target).st_mode & 0o777)
    os.replace(file.name, target)


def with_setting(text: str, table: str, name: str, value: str) -> str | None:
    """Return settings with one more in a table; ``None`` if that is not possible without changing other lines.

    Args:
        text: valid TOML.
        table: the name of the table.
        name: the name of the setting, which the table does not have.
        value: its value.
    """
    line = f'{name} = "{value}"'
    head = re.search(rf"^\[{table}\].*$", text, re.MULTILINE)
    if head is not None:
        made = f"{text[: head.end()]}\n{line}{text[head.end() :]}"
    else:
        made = f"{text.rstrip()}\n\n[{table}]\n{line}\n".lstrip()
    try:
        return made if tomllib.loads(made)[table][name] == value else None
    except (tomllib.TOMLDecodeError, LookupError):  # the table is written in another form, or its name stands in a text
        return None
