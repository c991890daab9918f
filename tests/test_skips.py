"""What a run says of the tests that it skipped."""

import re
from pathlib import Path

import pytest

from tests.conftest import remedy

_REASON = re.compile(r'(?:(?:skipif|importorskip|require)\(.*reason=|pytest\.skip\()"([^"{]+)"')


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("nvim is not installed", "apt-get install neovim"),
        ("nc or jq is not installed", "apt-get install netcat-openbsd jq"),
        ("the SDKs are not installed", "make install"),
        ("the newest nvim is not installed", ".venv/bin/python -m pip install -e '.[editors]'"),
    ],
)
def test_a_remedy(reason: str, expected: str) -> None:
    """A missing program is named as Debian's package, anything else by its own remedy."""
    assert expected == remedy(reason)


def test_every_reason_has_a_remedy() -> None:
    """No test is skipped for a reason that the summary cannot explain."""
    reasons = {
        reason for file in Path(__file__).parent.rglob("*.py") for reason in _REASON.findall(file.read_text())
    } - {"npm cannot install vscode-jsonrpc"}

    assert reasons
    assert [] == [reason for reason in sorted(reasons) if remedy(reason).startswith("see ")]
