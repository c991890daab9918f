"""docs/provider-rules.md: every citation has its rule, and every rule its evidence, its code and its citation."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.formats.rules import RULES

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs" / "provider-rules.md"
FORMATS = ROOT / "daemon" / "reeld" / "formats"
CLIENT = ROOT / "client" / "reel"
LETTERS = {
    "openai_chat": "C",
    "chat_dialects": "D",
    "openai_responses": "R",
    "anthropic": "A",
    "anthropic_clouds": "A",
    "gemini_clouds": "G",
    "gemini": "G",
    "gemini_interactions": "I",
    "ollama": "O",
    "bedrock_converse": "B",
    "ai_sdk": "V",
    "langchain": "L",
}
# "rule A7", "rules A7 and X2", "rules A1, A2 and X4"
_ONE = rf"[X{''.join(LETTERS.values())}]\d+"
CITATION = re.compile(rf"\b[Rr]ules? ((?:{_ONE})(?:, {_ONE})*(?:,? (?:and|or) {_ONE})?)")
NUMBER = re.compile(_ONE)


class Rule(NamedTuple):
    """A rule: its number and its text."""

    number: str
    text: str

    def part(self, label: str) -> str:
        """Return what follows a label such as "Where", up to the next list item."""
        match = re.search(rf"^- {label}: (.*?)(?=\n- |\n\n|\Z)", self.text, re.DOTALL | re.MULTILINE)
        return " ".join(match[1].split()) if match else ""

    @property
    def functions(self) -> Iterator[tuple[str, str]]:
        """The module and the name of each function that the rule names."""
        module = ""
        for word in re.findall(r"`([^`]+)`", self.part("Where")):
            if word.endswith(".py"):
                module = word
            elif module:
                yield module, word

    @property
    def checked_as(self) -> set[str]:
        """The names under which the checker knows it."""
        return set(re.findall(r"`([a-z-]+)`", self.part("Checked as")))


def rules() -> list[Rule]:
    sections = re.split(r"^### ", DOCUMENT.read_text().replace("\n## ", "\n### ## "), flags=re.MULTILINE)[1:]
    return [Rule(section.split()[0], section) for section in sections if not section.startswith("## ")]


def citations() -> list[tuple[str, str]]:
    """Return every cited number with the file that cites it."""
    files = [path for folder in ("client", "daemon", "tests") for path in (ROOT / folder).rglob("*.py")]
    return [
        (number, str(path.relative_to(ROOT)))
        for path in files
        if path != Path(__file__)
        for cited in CITATION.findall(" ".join(path.read_text().split()))
        for number in NUMBER.findall(cited)
    ]


def path_of(module: str) -> Path:
    """Return the file of a module: one of the formats, or one of the readers that the client has too."""
    return (CLIENT if module.startswith(("providers/", "streams/")) else FORMATS) / module


ALL = rules()
NUMBERS = [rule.number for rule in ALL]


def test_rules_are_numbered_in_order() -> None:
    """Each letter counts from 1 without a gap, so that a number never changes its meaning unnoticed."""
    for letter in ("X", *LETTERS.values()):
        found = [int(number[1:]) for number in NUMBERS if number[0] == letter]

        assert list(range(1, len(found) + 1)) == found


def test_every_citation_has_its_rule() -> None:
    """A rule that code or a test cites is in the document."""
    assert [] == [cited for cited in citations() if cited[0] not in NUMBERS]


def test_every_rule_is_cited() -> None:
    """Code or a test cites every rule."""
    cited = {number for number, _ in citations()}

    assert [] == [number for number in NUMBERS if number not in cited]


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.number)
def test_a_rule_names_its_evidence_and_its_code(rule: Rule) -> None:
    """A rule names its evidence, and the code that follows it."""
    missing = [
        (module, name)
        for module, name in rule.functions
        if not re.search(rf"^( *def {name}\(|class {name}\b|{name} = )", path_of(module).read_text(), re.MULTILINE)
    ]

    assert rule.part("Evidence")
    assert list(rule.functions)
    assert [] == missing


@pytest.mark.parametrize("provider", list(RULES))
def test_the_checker_judges_by_these_rules(provider: str) -> None:
    """Every name that the checker has for a provider is in the document, under its letter or for all providers."""
    named = {name for rule in ALL if rule.number[0] in ("X", LETTERS[provider]) for name in rule.checked_as}

    assert set() == RULES[provider] - named


def test_the_document_names_no_rule_that_is_not_checked() -> None:
    """The name under which a rule is checked is a rule of the checker."""
    assert set() == {name for rule in ALL for name in rule.checked_as} - {
        name for names in RULES.values() for name in names
    }
