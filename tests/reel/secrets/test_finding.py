import hmac
from collections import Counter
from hashlib import sha256
from itertools import pairwise
from random import Random
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.secrets.contexts import end_of_value
from reel.secrets.finding import anonymous, find, mask
from reel.secrets.marks import marks
from reel.secrets.places import places
from tests.reel.secrets.negatives import EXAMPLES, hashes, pictures
from tests.reel.secrets.positives import KEYS, PLACES, positives

GITHUB = "ghp_" + "".join(Random(1).sample("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", 36))


def fingerprint(secret: str) -> str:
    """Return a fingerprint as an import makes it."""
    return hmac.new(b"key", secret.encode(), sha256).hexdigest()[:16]


def test_keys_are_found_exactly() -> None:
    """More than 95 of 100 keys are found where conversations have them, each as exactly what it is."""
    given = positives(seed=1)
    found = [[one.text for one in find(positive.text)] for positive in given]

    missed = Counter(one.service for one, texts in zip(given, found, strict=True) if texts != [one.secret])
    assert 400 <= len(given)
    assert missed.total() / len(given) <= 0.05, missed


def test_hashes_are_no_keys() -> None:
    """At most one of 10,000 hashes, ids, checksums and pictures is taken for a key."""
    given = [*hashes(seed=1, number=10_000), *pictures(Random(1), 100)]

    taken = [(line, find(line)) for line in given if find(line)]
    assert len(taken) <= len(given) / 10_000, taken


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_no_key(example: str) -> None:
    """What documentation writes in place of a key is left as it is."""
    assert [] == find(example)


def test_a_mark_says_what_it_stands_for() -> None:
    """A mark has the kind of a key and its fingerprint, and nothing of the key."""
    assert f"use [masked:github-token.{fingerprint(GITHUB)}]!" == mask(f"use {GITHUB}!", fingerprint)
    assert [("github-token", fingerprint(GITHUB))] == marks(mask(GITHUB, fingerprint))


def test_a_key_is_the_same_everywhere() -> None:
    """A key has the same kind and the same fingerprint wherever it stands."""
    texts = [place(GITHUB) for place in PLACES]

    assert {("github-token", GITHUB)} == {(one.kind, one.text) for text in texts for one in find(text)}


pieces = st.one_of(
    st.sampled_from([make(Random(7)) for make in KEYS.values()]),
    st.sampled_from(["token=", "api_key: ", "password='", "://a:", "@host", "Bearer ", "sk-", "eyJ", "-----BEGIN "]),
    st.sampled_from([" ", "\n", "\\n", "'", '"', "/", "-", "_", ".", "=", "+", "%3D", "[", "]", "é", "Hunter2!x"]),
    st.text(max_size=8),
)
texts = st.lists(pieces, max_size=8).map("".join)


@given(texts)
def test_a_masked_text_has_nothing_to_mask(text: str) -> None:
    """Masking again changes nothing, and a text is known again whether it was masked or not."""
    masked = mask(text, fingerprint)

    assert masked == mask(masked, fingerprint)
    assert anonymous(text) == anonymous(masked)


@given(texts)
def test_what_is_found_is_in_the_text(text: str) -> None:
    """Each secret is where it is said to be, behind the one before it, in a place where secrets may begin."""
    found = find(text)

    assert [one.text for one in found] == [text[one.start : one.end] for one in found]
    assert sorted((one.start, one.end) for one in found) == [(one.start, one.end) for one in found]
    assert all(before.end <= after.start for before, after in pairwise(found))
    assert all(any(start <= one.start <= end for start, end in places(text)) for one in found)


def test_a_key_of_letters() -> None:
    """A key need not have a digit."""
    assert ["huggingface-token"] == [one.kind for one in find(f"'hf_{'aBcDeFgHiJkLmNoPq' * 2}'")]


def test_keys_without_anything_between() -> None:
    """What ends a key is not taken for a part of another one as well."""
    both = KEYS["OpenAI"](Random(3)) + KEYS["Mailchimp"](Random(3))

    assert [both.removesuffix("-us14")] == [one.text for one in find(both)]


HOSTILE = [
    "a",
    "sk-",
    "sk-ant-a1B",
    "eyJ",
    "eyJhbGciOiJI.",
    "token=",
    "api_key:'",
    "://a:",
    "://a1:b2@",
    "-----BEGIN PRIVATE KEY-----",
    "Bearer a1",
    "AKIA",
    "12345678:AA",
    "password=A1b!",
    "password=",
    "pwd=1example",
    "xoxb-1a",
    "\\n",
    "[0m",
    f"ya29.{'a' * 30}.",
]


@pytest.mark.parametrize("again", HOSTILE)
def test_the_time_grows_with_the_text(again: str) -> None:
    """A text of one word again and again takes a time that grows with its length, not with its square."""
    short, long = (again * (length // len(again)) for length in (10_000, 160_000))

    def seconds(text: str) -> float:
        began = process_time()
        find(text)
        return process_time() - began

    # 16 times the text: the square would be 256 times the time. Both are measured within a moment.
    assert min(seconds(long) for _ in range(2)) < 80 * max(min(seconds(short) for _ in range(3)), 0.001)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("password=", ""),
        ("PASSWD==", "a1"),
        ("pwd:", "1example"),
        ("secret=:", "xyz."),
        ("api_key=", "A1b!" * 30),
        ("access-token=", "+" * 20),
        ("auth:", "a1b2c3d4"),
        ("passphrase=", "x" * 600),
    ],
)
def test_no_character_is_looked_at_for_two_names(name: str, value: str) -> None:
    """However many names of secrets follow each other, the value of one ends where the next one begins."""
    again = name + value
    text = again * (900_000 // len(again))
    begins = range(len(name), len(text), len(again))

    assert sum(end_of_value(text, begin) - begin for begin in begins) <= len(text)


@pytest.mark.parametrize("behind", ["auth=Zs31", ".auth:Zs31", ":passwd==0", "API_KEY:@"])
def test_a_password_before_another_name(behind: str) -> None:
    """Nothing of the next name is taken for a part of it, with which it would not be a password any more."""
    assert ["Xk9vQ2mL7pRt"] == [one.text for one in find(f"password=Xk9vQ2mL7pRt{behind}")]


def test_a_password_behind_other_names() -> None:
    """What follows the last of several names is found, and nothing else of them."""
    text = f"{'password=' * 50}token=api_key:password=Hunter2!x"

    assert ["Hunter2!x"] == [one.text for one in find(text)]
    assert ["c2VjcmV0IGlzIGhlcmU1a2V5pwd=="] == [
        one.text for one in find("client_secret=c2VjcmV0IGlzIGhlcmU1a2V5pwd==")
    ]


def test_a_private_key_ends_where_its_text_ends() -> None:
    """Of a private key that was cut off, nothing is taken that is behind the string that has it."""
    begun = "-----BEGIN PRIVATE KEY-----\\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC9B7a" * 2

    assert [begun] == [one.text for one in find(f'{{"key": "{begun}", "other": 1}}')]
