"""The commands, programs, links and tables of the documentation are right."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import reel
from reel.base.errors import BY_NAME
from tests import documents, reused_daemon
from tests.daemon import Daemon
from tests.end_to_end import answers
from tests.end_to_end.provider import serving
from tests.patience import PATIENCE

# Without the conversations of other tests.
daemon, prepared, reused = reused_daemon.daemon, reused_daemon.prepared, reused_daemon.reused
_ROOT = Path(__file__).parent.parent
_README = (_ROOT / "README.md").read_text()
_TOUR = (documents.DOCS / "tour.md").read_text()
# The files that may tell somebody what to install.
_TEXTS = {".el", ".lua", ".md", ".py", ".ts", ".txt", ".vim"}
_READMES = ("tests", "examples", "client/editors/vscode")
_PROTOCOL = (_ROOT / "docs" / "protocol.md").read_text()


def _blocks(language: str, page: str = _TOUR) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def _run(words: list[str], daemon: Daemon, **environment: str) -> str:
    environment = {**os.environ, "REEL_SOCKET": daemon.socket, "VISUAL": "true", **environment}
    return subprocess.run(
        words, cwd=_ROOT, env=environment, text=True, capture_output=True, check=True, timeout=PATIENCE
    ).stdout


def test_the_commands_of_the_tour(daemon: Daemon) -> None:
    """Every command line of the tour works, one after the other, and the conversation is there."""
    lines = [line for block in _blocks("sh") for line in block.splitlines() if line.startswith("reel ")]
    for line in lines:
        _run([str(Path(sys.executable).parent / "reel"), *shlex.split(line, comments=True)[1:]], daemon)

    assert len(lines) > 12
    with daemon.client() as client:
        assert 3 == client.agent("demo").messages


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_pipe_of_the_tour(daemon: Daemon) -> None:
    """One turn with Anthropic, streamed, the next with OpenAI: both answers are in the conversation."""
    (pipe,) = _blocks("bash")
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with daemon.client() as client, serving("anthropic") as anthropic, serving("openai_responses") as openai:
        client.create("demo")
        anthropic.answers.append(answers.anthropic_stream("toolu_1"))
        openai.answers.append(answers.responses_text("A spool."))
        anthropics = {"ANTHROPIC_BASE_URL": anthropic.url, "ANTHROPIC_API_KEY": "none"}
        openais = {"OPENAI_BASE_URL": f"{openai.url}/v1", "OPENAI_API_KEY": "none"}
        _run(["bash", "-eo", "pipefail", "-c", pipe], daemon, PATH=programs, **anthropics, **openais)
        said = client.messages("demo").messages

    assert ["user", "assistant", "user", "assistant"] == [message["role"] for message in said]
    assert ["And once more", "A spool."] == [message["content"][0].get("text") for message in said[1::2]]
    assert [] == anthropic.problems + openai.problems


_READ = sorted(path for where in ("*.md", "docs/*.md", "client/**/*.md", "examples/*.*") for path in _ROOT.glob(where))


@pytest.mark.parametrize("page", _READ, ids=lambda path: str(path.relative_to(_ROOT)))
def test_no_key_in_an_argument(page: Path) -> None:
    """No page and no example puts the key of a provider into an argument, which every user of the machine can read."""
    assert [] == re.findall(
        r"(?:-H|--header|-u|--user)[ =]\S*\"[^\"\n]*\$\{?\w*(?:KEY|TOKEN|SECRET)\w*", page.read_text()
    )


def test_the_program_of_the_readme(daemon: Daemon) -> None:
    """The first program in Python runs, and prints the conversation."""
    (program,) = _blocks("python", _README)

    assert "2 user [{'type': 'text', 'text': 'What is a tape deck?'}]\n" == _run(
        [sys.executable, "-c", program], daemon
    )


def test_the_length_of_the_readme() -> None:
    """What does not fit into 120 lines is on another page."""
    assert len(_README.splitlines()) <= 120


def test_the_program_of_the_tour(daemon: Daemon) -> None:
    """The Python example runs, and prints the conversation."""
    (program,) = _blocks("python")

    assert ["4 []", "2 user", "3 assistant", "4 tool"] == [
        " ".join(line.split()[:2]) for line in _run([sys.executable, "-c", program], daemon).splitlines()
    ]


def test_the_program_of_the_page_about_python(daemon: Daemon) -> None:
    """The blocks of the page run as one program, against a provider that streams, calls a tool, and answers whole."""
    page = (documents.DOCS / "python.md").read_text()
    program = "\n".join(re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    with serving("openai_responses") as provider:
        call = ("call_1", "look_up", '{"word": "tape deck"}')
        provider.answers += [answers.responses_words("It is ", "a spool."), answers.responses_calls(call)]
        provider.answers += [answers.responses_words("As I said."), answers.responses_text("the last word")]
        url = {"OPENAI_BASE_URL": f"{provider.url}/v1", "OPENAI_API_KEY": "none"}
        printed = _run([sys.executable, "-c", program], daemon, **url).splitlines()

    assert "2 {'role': 'user', 'content': 'Hello?'}" == printed[3]
    assert "[('items', 'Two questions')]" == printed[4]
    assert "Two questions [{'type': 'text', 'text': 'Thanks.'}]" == printed[5]
    assert ["It is a spool.", "As I said."] == printed[6:8]
    assert [" 8 What is a tape deck? True", "['=', '+']"] == printed[8:10]
    assert "{}" == printed[10]
    assert "['sk-12ab'] 1" == printed[11]
    assert "3 [{'type': 'text', 'text': 'What is a tape deck?'}]" == printed[12]
    assert printed[-1].startswith("came meanwhile: 1 ")
    assert "the last word" == printed[-2]
    assert [] == provider.problems


_PAGES = [*_ROOT.glob("*.md"), *documents.DOCS.glob("*.md"), *(_ROOT / folder / "README.md" for folder in _READMES)]


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes for the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_ROOT)))
def test_links_of_a_page(page: Path) -> None:
    """Every link of a page to a file or a heading has a target."""
    broken = []
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text):
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{path}#{anchor}")

    assert [] == broken


def test_the_readme_leads_to_every_page() -> None:
    """The README links, directly or not, to every page for users and contributors."""
    pages = {str(page.relative_to(_ROOT)) for page in (*_ROOT.glob("*.md"), *documents.DOCS.glob("*.md"))}

    assert set() == pages - {"README.md"} - set(re.findall(r"\]\(([\w/.-]+\.md)", _README))


@pytest.mark.parametrize("page", documents.PARTS)
def test_what_the_documents_take_from_the_code_is_current(page: str) -> None:
    """The generated parts of the pages are current; `make docs` updates them."""
    assert documents.current(page) == (documents.DOCS / page).read_text()


def test_the_reference_has_every_public_name() -> None:
    """Each method of a client, each fact of an answer, and each name of the package is on the page."""
    page = documents.current("python-reference.md")
    of_client = {f"#### client.{name}" for name in dir(reel.Client) if not name.startswith("_")}
    of_answer = {f"#### answer.{name}" for name in dir(reel.Answer) if not name.startswith("_")}
    names = {name for name in dir(reel) if not name.startswith("_")}

    assert set() == (of_client | of_answer) - set(page.splitlines())
    assert set() == {name for name in names if not re.search(rf"\b{name}\b", page)}


@pytest.mark.parametrize(
    ("page", "line"),
    [
        ("protocol.md", "| `undo` | `agent` | `undone` `was` | Undo the newest command |"),
        ("protocol.md", "| `create` | `agent?` `system?` `title?` `tags?` | the agent | Create an agent |"),
        (
            "cli.md",
            "| `--role user\\|assistant\\|system` | role of the message (default: user); system sets the prompt |",
        ),
        ("python-reference.md", "`client.undo(agent, *, if_seq=None, key=None)`"),
        (
            "python-reference.md",
            "- `if_seq`: only if the agent's head is still this seq.",
        ),
        ("python-reference.md", "| `role` | `Literal['user', 'assistant', 'tool', 'system']` |"),
        ("operations.md", "| `agents.idle` | `600.0` | seconds until an unused conversation leaves memory |"),
    ],
)
def test_what_is_taken_from_the_code(page: str, line: str) -> None:
    """A generated row has what a reader needs, in a form that is valid in a table."""
    assert line in documents.current(page).splitlines()


def test_the_protocol_lists_every_error() -> None:
    """The table of the documentation has the names and codes of the errors that a daemon may send."""
    listed = dict(re.findall(r"`([a-z_]+)` \| \u2212(\d+)", _PROTOCOL))

    assert {name: str(-error.code) for name, error in BY_NAME.items() if name != "cancelled"} == listed


def test_every_word_of_verify_is_explained() -> None:
    """The operator's table has a row for each word that a problem may have."""
    page = (documents.DOCS / "operations.md").read_text()
    rows = page.split("| word | what is wrong")[1].split("\n\n")[0].splitlines()
    told = {word for row in rows for word in re.findall(r"`(\w+)`", row.split("|")[1])}
    code = "".join(path.read_text() for path in (_ROOT / "daemon" / "reeld").rglob("*.py"))

    assert set(re.findall(r'Problem\(\s*"(\w+)"', code)) <= told
    assert [] == [word for word in told if f'"{word}"' not in code]


def test_the_operators_symptoms_are_what_the_programs_say() -> None:
    """Every message that the operator's table quotes is in the code, or in the name of a command."""
    page = (documents.DOCS / "operations.md").read_text()
    rows = page.split("| you see |")[1].split("\n\n")[0].splitlines()
    quoted = [text for row in rows for text in re.findall(r"`([^`]+)`", row.split("|")[1]) if "reel " not in text]
    code = "".join(path.read_text() for top in ("client", "daemon") for path in (_ROOT / top).rglob("*.py"))

    pieces = [piece.strip() for text in quoted for piece in re.split(r"…|: |\(pid N\)", text)]
    assert [] == [piece for piece in pieces if piece not in code]


def test_nobody_is_sent_to_a_name_on_an_index() -> None:
    """No page, message, plug-in or example says to install a name that somebody else may take on PyPI."""
    ours = [path for place in ("client", "daemon", "docs", "examples") for path in (_ROOT / place).rglob("*.*")]
    texts = [path for path in ours if path.suffix in _TEXTS and "node_modules" not in path.parts]
    named = re.compile(r"\binstall +(-\S+ +)*['\"]?reeld\b")

    assert [] == [path for path in texts if named.search(" ".join(path.read_text(encoding="utf-8").split()))]
    assert not named.search(_README)


def test_contributors_are_shown_every_folder() -> None:
    """CONTRIBUTING.md says of every package of the client and of the daemon what is in it."""
    table = (_ROOT / "CONTRIBUTING.md").read_text().partition("## Where things are")[2].partition("\n## ")[0]
    folders = [
        path.parent for where in ("client/reel", "daemon/reeld") for path in (_ROOT / where).glob("*/__init__.py")
    ]

    assert [] == [folder.name for folder in folders if f"{folder.name}/`" not in table]
