"""The settings of the command, in reel.toml."""

import subprocess
import sys
from pathlib import Path

import pytest

from reel.cli.line.arguments import SettingsError
from reel.cli.line.settings import Settings, load
from reel.cli.screen.output import Output
from tests.reel.cli.conftest import Reel, texts


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the file, which is not there yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "reel").mkdir()
    return tmp_path / "reel" / "reel.toml"


def test_no_file_means_the_defaults(file: Path) -> None:
    """Without a file every setting has its default."""
    assert not file.exists()
    assert Settings() == load()


def test_tomllib_is_imported_only_for_a_file(file: Path) -> None:
    """Most have no file, and do not pay for a parser."""
    code = "import sys; from reel.cli.line.settings import load; load(); print('tomllib' in sys.modules)"
    seen = []
    for text in (None, "hints = false\n"):
        if text is not None:
            file.write_text(text)
        seen.append(subprocess.check_output([sys.executable, "-c", code], text=True).strip())

    assert ["False", "True"] == seen


def test_every_setting(file: Path) -> None:
    """Each setting is read."""
    file.write_text(
        'hints = false\ncolor = "never"\npager = "less -R"\nagent = "demo"\nstart = false\nvia = "ask --fast"\n'
        '[providers.claude]\ncommand = "ask-claude -x"\nformat = "anthropic"\nset = { max_tokens = 9 }\n'
        '[aliases]\nlast = "show --last 1"\n[prices]\nmine = { input = 1, output = 2.5 }\n'
        '[contexts]\nmine = 32768\n[import]\nsecrets = "mask"\n'
        "[mcp]\nwrite = true\nimport = false\n"
    )
    providers = {"claude": {"command": "ask-claude -x", "format": "anthropic", "set": {"max_tokens": 9}}}

    aliases, prices = {"last": "show --last 1"}, {"mine": {"input": 1, "output": 2.5}}

    given = (False, "never", "less -R", "demo", False, "ask --fast", providers, aliases, prices, {"mine": 32768})
    assert Settings(*given, importing={"secrets": "mask"}, mcp={"write": True, "import": False}) == load()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[mcp]\nwrite = 1", " line 2: mcp: write: write true or false, not 1"),
        (
            "[mcp]\nsecrets = true",
            " line 2: mcp: secrets: there is no such setting; there are write, import and show_secrets",
        ),
        ("mcp = 1", " line 1: mcp: write lines such as [mcp], then write = true, not 1"),
        ("hints = x", ": Invalid value (at line 1, column 9); correct it there"),
        ("\nhint = true", " line 2: hint: there is no such setting (did you mean hints?)"),
        ("zzz = 1", "there are hints, color, pager, agent, start, via, providers, aliases, prices"),
        ('hints = "no"', " line 1: hints: write true or false, not 'no'"),
        ('start = true\ncolor = "yes"', " line 2: color: write one of auto, always, never, not 'yes'"),
        ("pager = 1", """pager: write a text, such as "less -R", not 1"""),
        ('pager = "less \'"', "is not a command line: No closing quotation"),
        ('agent = "no name"', "agent: write the name of a conversation, not 'no name'"),
        ("aliases = 1", "aliases: write a table: [aliases]"),
        ('[aliases]\nshow = "log"', " line 2: aliases: show: this is a command"),
        ('[aliases]\nx = "shw"', "x: 'shw' does not begin with a command"),
        ('[aliases]\nx = ""', "x: '' does not begin with a command"),
        ("providers = 1", "providers: write a table: [providers.NAME]"),
        ("[providers.x]", " line 1: providers: x: write a table"),
        ('[providers.x]\ncommand = "\\""', "x.command: '\"' is not a command line"),
        (
            '[providers.x]\ncommand = "c"',
            "x.format: write one of openai-chat, openai-responses, anthropic, ",
        ),
        ('[providers.x]\ncommand = "c"\nformat = "gemini"\nset = 1', "x.set: write a table, such as"),
        ('[providers.x]\ncommand = "c"\nformat = "gemini"\nset = { a = 1979-05-27 }', "cannot be part of a request"),
        ('[providers.x]\ncommand = "c"\nformat = "openai-chat"\ndialect = "gpt"', "x.dialect: write one of openai,"),
        ('[providers.x]\ncommand = "c"\nformat = "gemini"\nurl = 1', "x.url: there is no such setting"),
        ("prices = 1", "prices: write lines such as [prices]"),
        ("[prices]\nx = { input = 1 }", "prices: x: write lines such as"),
        ("[prices]\nx = { input = 1, output = -1 }", "x.output: write what a million tokens cost, not -1"),
        ("[prices]\nx = { input = true, output = 1 }", "x.input: write what a million tokens cost, not True"),
        ("[prices]\nx = { input = 1, output = 1, written = 1 }", "x.written: there is no such setting"),
        ("contexts = 1", "contexts: write lines such as [contexts]"),
        (
            "[contexts]\nx = true",
            " line 2: contexts: x: write how many tokens the context of the model holds, not True",
        ),
        ("[contexts]\nx = 0", "x: write how many tokens the context of the model holds, not 0"),
        ("import = 1", "import: write lines such as [import]"),
        (
            '[import]\nsecret = "mask"',
            " line 2: import: secret: there is no such setting; there are secrets and originals",
        ),
        ('[import]\nsecrets = "no"', " line 2: import: secrets: write one of mark, mask, keep, not 'no'"),
        ("aliases.x = 5", " line 1: aliases: x: write a text"),
    ],
)
def test_a_wrong_file_is_one_line(reel: Reel, file: Path, text: str, expected: str) -> None:
    """The error names the file, the line and the setting, and says what to write; the status is that of wrong usage."""
    file.write_text(text)
    ran = reel("list")

    assert (2, "") == ran[:2]
    assert ran.err.startswith(f"reel: settings: {file}")
    assert expected in ran.err
    assert 1 == ran.err.count("\n")


def test_a_file_that_cannot_be_read(reel: Reel, file: Path) -> None:
    """A file that is not readable, or not UTF-8, is one line too."""
    file.mkdir()
    assert (2, "", f"reel: settings: {file}: Is a directory; correct it, or move it away\n") == reel("list")
    file.rmdir()
    file.write_bytes(b"\xff")
    assert "can't decode byte" in reel("list").err


@pytest.mark.slow
def test_help_and_doctor_work_with_a_wrong_file(reel: Reel, file: Path) -> None:
    """What explains the problem still runs, and the doctor finds it."""
    file.write_text("hints = 1")

    assert [0, 0] == [reel(*argv).status for argv in (("help", "add"), ("add", "--help"))]
    found = reel("doctor")
    assert 1 == found.status
    assert f"bad   reel.toml        {file} line 1: hints: write true or false, not 1" in found.out


@pytest.mark.slow
def test_doctor_names_the_file(reel: Reel, file: Path) -> None:
    """The doctor says where the file is, or would be."""
    assert f"ok    reel.toml        {file}: not there; the defaults apply" in reel("doctor").out
    file.touch()
    assert f"ok    reel.toml        {file}\n" in reel("doctor").out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "about"),
    [
        ('[providers.p]\ncommand = "/none/such --fast"\nformat = "gemini"', "providers.p.command: '/none/such'"),
        ('[providers.p]\ncommand = "KEY=1 ./no-such.sh"\nformat = "gemini"', "providers.p.command: './no-such.sh'"),
        ('via = "no-such-program-of-mine x"', "via: 'no-such-program-of-mine'"),
    ],
)
def test_doctor_finds_a_provider_without_its_program(reel: Reel, file: Path, text: str, about: str) -> None:
    """The doctor warns of a command that cannot run, and names the setting and the program."""
    file.write_text(text)
    found = reel("doctor")

    setting, _, program = about.partition(": ")
    assert 0 == found.status
    assert f"warn  reel.toml        {file}: {setting}: there is no program {program}\n" in found.out


@pytest.mark.slow
def test_doctor_accepts_what_a_shell_runs(reel: Reel, file: Path) -> None:
    """Programs, parts of the shell, and what only the shell can expand are no reason to warn."""
    commands = ["sh -c true", "KEY=1 exec sh", "if true; then sh; fi", "$(pick) x"]
    providers = [f'[providers.p{at}]\ncommand = "{command}"\n' for at, command in enumerate(commands)]
    file.write_text("".join(f'{each}format = "gemini"\n' for each in providers))

    assert f"ok    reel.toml        {file}\n" in reel("doctor").out


def test_the_agent_of_the_file(reel: Reel, talk: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is used where $REEL_AGENT would be, which takes precedence, also if it is empty."""
    file.write_text(f'agent = "{talk}"')

    assert "A machine." in reel("show").out
    monkeypatch.setenv("REEL_AGENT", "nobody-else")
    assert 4 == reel("show").status
    monkeypatch.setenv("REEL_AGENT", "")
    assert (2, "") == reel("show")[:2]


def test_an_alias(reel: Reel, talk: str, file: Path) -> None:
    """An alias stands for a command with arguments; more may follow, and quotes keep words together."""
    lines = ['last = "show --last 1"', 'say = "add --role assistant"', f"hi = \"add -a {talk} 'good day'\""]
    file.write_text("\n".join(["[aliases]", *lines]))

    assert "A machine." in reel("last", talk).out
    assert "What is" not in reel("last", talk).out
    assert 0 == reel("--json", "say", talk, "Yes.").status
    assert 0 == reel("hi").status
    assert ["Yes.", "good day"] == texts(reel, talk)[-2:]


def test_a_name_that_is_neither_command_nor_alias(reel: Reel, file: Path) -> None:
    """It is refused as without a file."""
    file.write_text('[aliases]\nlast = "show --last 1"')

    assert 2 == reel("lst").status
    assert "no command 'lst'" in reel("lst").err


@pytest.mark.parametrize(("color", "expected"), [("always", "\x1b[1mx\x1b[0m\n"), ("never", "x\n"), ("auto", "x\n")])
def test_when_to_use_colours(capsys: pytest.CaptureFixture[str], color: str, expected: str) -> None:
    """The setting decides also where stdout is no terminal."""
    Output(sys.stdout, sys.stderr, color=color).line(("x", "bold"))

    assert expected == capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            '[providers.a]\ncommand = "x"\nformat = "anthropic"\n\n[providers.b]\ncommand = "y"\nformat = "z"\n',
            7,
        ),
        ('[providers]\na = { command = "x", format = "anthropic" }\nb = { command = "y", format = "z" }\n', 3),
        ('providers.a.command = "x"\nproviders.a.format = "z"\n', 2),
        ('[providers.a]\n\n[providers."b.c"]\ncommand = "y"\n', 1),
        ('[providers."b.c"]\ncommand = """\nx\n"""\nformat = "z" # wrong\n', 5),
        ('[aliases]\nok = "list"\nbad = "nothing here"\n', 3),
        ('[providers.a]\nformat = "anthropic"\ncommand = """\nx \'y\n"""\n', 3),
    ],
)
def test_the_line_of_an_error(file: Path, text: str, line: int) -> None:
    """An error in a table names the line that has it, in whatever form the table is written."""
    file.write_text(text)
    with pytest.raises(SettingsError, match=f"reel.toml line {line}: "):
        load()


def test_a_file_with_a_byte_order_mark(file: Path) -> None:
    """Windows editors begin a file with one, which is not part of the first key."""
    file.write_bytes(b"\xef\xbb\xbfhints = false\n")

    assert Settings(hints=False) == load()
