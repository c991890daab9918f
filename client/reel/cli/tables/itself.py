"""Commands about the command itself."""

from reel.cli.command import Command

COMMANDS = (
    Command(
        "help",
        "[COMMAND]",
        "explain a command, or a topic",
        "help.show_help",
        "reel help add\n  reel help environment",
        notes="Topics: agent, environment, exit-status.",
        without_socket=True,
    ),
    Command(
        "completion",
        "bash|zsh|fish",
        "print the completion script for a shell",
        "shells.completion",
        'eval "$(reel completion bash)"  # in ~/.bashrc\n'
        "  reel completion zsh > ~/.zfunc/_reel  # a directory of $fpath\n"
        "  reel completion fish > ~/.config/fish/completions/reel.fish",
        without_socket=True,
    ),
)
