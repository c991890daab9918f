"""Commands about the daemon and its database."""

from reel.cli.line.arguments import time_limit
from reel.cli.line.command import Command, at, option

COMMANDS = (
    Command(
        "start",
        "",
        "start the daemon unless it is running",
        "start",
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
        "stop",
        "reel stop",
        notes="Until the next reel start, no command, client or editor starts it by itself,\n"
        "even if no daemon was running.",
        starts_daemon=False,
    ),
    Command("status", "", "show the daemon, and what was imported when", "status", "reel status", starts_daemon=False),
    Command(
        "stats",
        "",
        "print every counter and size of the daemon",
        "stats",
        "reel stats --json | jq .longest_commit_us\n  reel stats --format openmetrics",
        (
            option(
                "--format",
                choices=("openmetrics", "prometheus"),
                metavar="FORMAT",
                help="print metrics: openmetrics, or prometheus as node_exporter reads it",
            ),
        ),
        starts_daemon=False,
    ),
    Command(
        "top",
        "",
        "show what the daemon is doing, live",
        "top",
        "reel top\n  reel top --once\n  reel top --json | jq .commits",
        (
            option("--once", action="store_true", help="print one frame and end, as without a terminal"),
            option("--every", type=time_limit, metavar="SECONDS", help="seconds between two frames (default: 1)"),
        ),
        notes="Conversations, methods and connections, the most active first. Keys: q quits,\n"
        "Tab shows the next table, < and > choose the column to sort by, r reverses, /\n"
        "filters by name, p pauses. Rates are those of the last interval, latencies\n"
        "those of the last ten seconds. If the daemon goes away, it waits.",
        starts_daemon=False,
    ),
    Command(
        "doctor",
        "",
        "find out what is wrong and what to do about it",
        "doctor",
        "reel doctor",
        notes="Checks the settings of reel and of reeld, the socket, its directory, the daemon\n"
        "and its version, the locks, the database, its content for up to five seconds,\n"
        "the free space on its disk, and when each tool was imported last. Exits with\n"
        "status 1 if something is bad.",
        without_socket=True,
        starts_daemon=False,
    ),
    Command(
        "socket",
        "",
        "print the path of the daemon's socket",
        "socket",
        "nc -U $(reel socket)",
        starts_daemon=False,
    ),
    Command(
        "backup",
        "FILE",
        "write a copy of the database to a new file",
        "backup",
        "reel backup ~/reel-$(date +%F).db",
        notes="Other commands are not blocked. The file gets its name once it is complete, on\n"
        "disk and checked. If the database is damaged, so is the copy, and the exit\n"
        "status is 1. Only its owner can read the file. An existing file is not replaced.",
    ),
    Command(
        "restore-backup",
        "FILE",
        "replace the database with a backup",
        "restore_backup",
        "reel restore-backup ~/backups/monday.db",
        (
            option(
                "--force",
                action="store_true",
                help="discard everything newer than the backup; accept a damaged backup",
            ),
        ),
        notes="Refuses if the backup lacks anything that the database has, and says what. The\n"
        "backup is checked first. A running daemon is stopped and started again. The\n"
        "replaced database is kept beside the new one.",
        starts_daemon=False,
    ),
    Command(
        "copy",
        "",
        "copy the database to a server, or back to a file",
        "copy",
        "reel copy --from ~/old/reel.db --to postgresql:///reel",
        (
            option("--from", metavar="DATABASE", dest="source", help="a file or a postgresql:// URL"),
            option("--to", metavar="DATABASE", dest="target", help="the destination, of the other kind and empty"),
        ),
        notes="No daemon may be using either. If it is interrupted, run it again, and it goes\n"
        "on. At the end all rows are compared; only then can a daemon use the copy. reel\n"
        "migrate is the same command.",
        starts_daemon=False,
    ),
    Command(
        "verify",
        "[NAME]",
        "check the database for damage",
        "verify",
        "reel verify\n  reel verify demo\n  reel verify --database ~/backups/monday.db",
        (
            option("--all", action="store_true", help="all conversations, even if $REEL_AGENT is set"),
            option("--database", metavar="FILE", help="a file, such as a backup, without the daemon"),
        ),
        agent_optional=True,
        notes="Without NAME, it checks all conversations and the database file. It changes\n"
        "nothing and blocks nobody. Exits with status 1 if something is wrong.",
    ),
    Command(
        "replay",
        "[NAME]",
        "rebuild the state from the log and compare",
        "replay",
        "reel replay demo --strict",
        (
            at("as it was at SEQ; nothing is compared"),
            option("--strict", action="store_true", help="fail if an event cannot be read"),
        ),
        notes="If the live state differs from the log, it is repaired; the exit status is 1.",
    ),
)
