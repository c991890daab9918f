"""Commands about the daemon, its database and the command itself."""

from reel.cli.command import Command, at, option

COMMANDS = (
    Command(
        "start",
        "",
        "start the daemon unless it is running",
        "daemon.start",
        "reel start",
        (
            option("--database", metavar="FILE", help="database file (default: $REEL_DATABASE, else the usual place)"),
            option("--unless-stopped", action="store_true", help="do nothing if it was stopped with reel stop"),
        ),
        starts_daemon=False,
    ),
    Command(
        "stop",
        "",
        "stop the daemon and wait until it has ended",
        "daemon.stop",
        "reel stop",
        notes="Until the next reel start, no command, client or editor starts it by itself,\n"
        "even if no daemon was running.",
        starts_daemon=False,
    ),
    Command("status", "", "show whether the daemon is running", "daemon.status", "reel status", starts_daemon=False),
    Command(
        "stats",
        "",
        "print every counter and size of the daemon",
        "daemon.stats",
        "reel stats --json | jq .longest_commit_us",
        starts_daemon=False,
    ),
    Command(
        "doctor",
        "",
        "find out what is wrong and what to do about it",
        "doctor.doctor",
        "reel doctor",
        notes="Checks the settings of reel and of reeld, the socket, its directory, the daemon\n"
        "and its version, the locks, the database and the free space on its disk. Exits\n"
        "with status 1 if something is bad.",
        without_socket=True,
        starts_daemon=False,
    ),
    Command(
        "socket",
        "",
        "print the path of the daemon's socket",
        "daemon.socket",
        "nc -U $(reel socket)",
        starts_daemon=False,
    ),
    Command(
        "backup",
        "FILE",
        "write a copy of the database to a new file",
        "database.backup",
        "reel backup ~/reel-$(date +%F).db",
        notes="Other commands are not blocked. The file gets its name once it is complete and\n"
        "on disk. Only its owner can read it. An existing file is not replaced.",
    ),
    Command(
        "verify",
        "[AGENT]",
        "check the database for damage",
        "database.verify",
        "reel verify\n  reel verify demo",
        (option("--all", action="store_true", help="all agents, even if $REEL_AGENT is set"),),
        agent_optional=True,
        notes="Without AGENT, it checks all agents and the database file. It changes nothing\n"
        "and blocks nobody. Exits with status 1 if something is wrong.",
    ),
    Command(
        "replay",
        "[AGENT]",
        "rebuild the state from the log and compare",
        "reading.replay",
        "reel replay demo --strict",
        (
            at("as it was at SEQ; nothing is compared"),
            option("--strict", action="store_true", help="fail if an event cannot be read"),
        ),
        notes="If the live state differs from the log, it is repaired; the exit status is 1.",
    ),
)
