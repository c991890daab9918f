"""What becomes of keys and passwords in what is imported: a setting, about which a first import asks."""

import os
import sys
from collections.abc import Callable
from functools import partial

from reel.cli.line.arguments import SettingsError
from reel.cli.line.context import Context
from reel.cli.line.settings import SECRETS, settings_file
from reel.cli.line.settings_text import read, replace, with_setting
from reel.daemon.address import state_directory
from reel.importing.adding import fingerprints
from reel.importing.adding.fingerprints import Fingerprints
from reel.importing.adding.masking import Masking

_QUESTION = """What becomes of keys and passwords in what is imported?
  mark  they stay, and `reel secrets` lists them
  mask  a mark takes their place
  keep  they stay, and nothing is looked for
Which? [MARK/mask/keep] """


def mode_of(ctx: Context) -> str:
    """Return what the settings say, or the default."""
    return str(ctx.settings.importing.get("secrets", SECRETS[0]))


def maskings(ctx: Context) -> Callable[[], Masking]:
    """Return what makes a masking for each tool, as the settings say, or a person, who is asked at a first import.

    Raises:
        SettingsError: secrets are to be masked, and there can be no key for their fingerprints.
    """
    mode = mode_of(ctx)
    if "secrets" not in ctx.settings.importing and not os.path.exists(f"{state_directory()}/imported.json"):
        mode = _asked(ctx) or mode
    return masking_by(mode)


def masking_by(mode: str) -> Callable[[], Masking]:
    """Return what makes a masking that does what a mode says.

    Raises:
        SettingsError: secrets are to be masked, and there can be no key for their fingerprints.
    """
    return partial(Masking, mode, own_fingerprints() if mode == "mask" else str)


def own_fingerprints() -> Fingerprints:
    """Return the fingerprints of this machine.

    Raises:
        SettingsError: there is no key, and none can be made.
    """
    try:
        return Fingerprints(f"{state_directory()}/{fingerprints.NAME}")
    except OSError as error:
        raise SettingsError(f"there is no key for the fingerprints of secrets: {error}") from error


def _asked(ctx: Context) -> str | None:
    """Ask a person once, and write the answer into the settings; ``None`` if nobody can be asked."""
    if ctx.args.yes or ctx.out.as_json or not (sys.stdin.isatty() and ctx.out.tells_a_person):
        return None
    answer = None
    while answer not in SECRETS:
        try:
            answer = input(_QUESTION).strip().lower() or SECRETS[0]
        except EOFError:
            return None
    file = settings_file()
    text = with_setting(read(file), "import", "secrets", answer)
    if text is None:
        ctx.out.warn(f'{file} was not changed; to be asked no more, write secrets = "{answer}" into its table [import]')
        return answer
    try:
        replace(file, text)
    except OSError as error:
        ctx.out.warn(f"{file}: {error.strerror}; to be asked no more, write it there")
    else:
        ctx.out.hint(f'written to {file}: [import] secrets = "{answer}"')
    return answer
