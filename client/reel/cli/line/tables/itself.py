"""Commands about the command itself."""

from reel.cli.line.command import Command, option

EDITORS = ("nvim", "vim", "emacs", "vscode")

COMMANDS = (
    Command(
        "help",
        "[COMMAND]",
        "explain a command, or a topic",
        "show_help",
        "reel help add\n  reel help environment",
        notes="Topics: name, positions, settings, environment, exit-status.",
        without_socket=True,
        starts_daemon=False,
    ),
    Command(
        "completion",
        "[bash|zsh|fish]",
        "print or install the completion of a shell",
        "completion",
        'reel completion --install\n  eval "$(reel completion bash)"  # in ~/.bashrc',
        (option("--install", action="store_true", help="write it where the shell finds it"),),
        notes="The default is the shell in $SHELL.",
        without_socket=True,
        starts_daemon=False,
    ),
    Command(
        "editor",
        "EDITOR",
        "print the lines that load an editor's plug-in",
        "editor",
        "reel editor nvim >> ~/.config/nvim/init.lua",
        (option("--path", action="store_true", help="print only where the plug-in is"),),
        notes=f"EDITOR is one of {', '.join(EDITORS)}.",
        without_socket=True,
        starts_daemon=False,
    ),
    Command(
        "units",
        "",
        "print or install the units for systemd or launchd",
        "units",
        "reel units --install\n  reel units --import",
        (
            option("--install", action="store_true", help="write them where the supervisor of this user finds them"),
            option(
                "--import",
                dest="importing",
                action="store_true",
                help="install and start one more, which keeps importing what other tools write",
            ),
            option("--remove", action="store_true", help="with --import: end it and remove it"),
        ),
        notes="They start the reeld that was installed together with this command. --import\ninstalls them as well.",
        without_socket=True,
        starts_daemon=False,
    ),
)
