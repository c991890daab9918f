"""``reeld``, or ``python -m reeld``. What takes long to import is imported when signals are expected."""

import gc
import signal
import sys

from reeld.signals import end_by, end_with_a_word

# The commands of :mod:`reeld.backups.commands`.
_ON_A_FILE = ("verify", "restore", "copy")


def main() -> int:
    """Run the daemon, or work on a file."""
    if sys.argv[1:2] and sys.argv[1] in _ON_A_FILE:
        return _work_on_a_file()
    end_with_a_word()
    return _serve()


def _work_on_a_file() -> int:
    try:
        from reeld.backups import commands  # noqa: PLC0415 - as above
        from reeld.startup import FAILED, leave_no_core  # noqa: PLC0415 - as above

        leave_no_core()
        return commands.main(sys.argv[1:])
    except KeyboardInterrupt:  # so that it removes what it has begun, but without a traceback
        end_by(signal.SIGINT)
        return FAILED


def _serve() -> int:
    from reeld.huge_pages import begin_with_huge_pages  # noqa: PLC0415 - as above

    begin_with_huge_pages()
    from reeld.startup import CANNOT_START, leave_no_core, take_name  # noqa: PLC0415 - as above

    take_name()
    leave_no_core()
    # Imported modules are never freed, so the garbage collector would scan them for nothing; the daemon enables it.
    gc.disable()
    try:
        from reeld import app, config  # noqa: PLC0415 - as above
    except ModuleNotFoundError as error:
        from reel.base.installation import install_command  # noqa: PLC0415 - only then

        advice = f"reeld: {error.name} is missing; install what it needs with: {install_command()}"
        print(advice, file=sys.stderr)  # noqa: T201 - it cannot log yet
        return CANNOT_START
    return app.main(config.parse())


if __name__ == "__main__":
    sys.exit(main())
