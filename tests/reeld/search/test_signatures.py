"""The signatures of pieces of texts: whatever letters a text has, one of its pieces never seems to lack them."""

import random
from array import array
from itertools import compress, count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.search.literals import folded
from reeld.search.signatures import LENGTH, OVERLAP, SIZES, Signature, bit_of, columns_of, having, pieces

# Of every length in UTF-8, and one that is not alone there.
LETTERS = st.text(st.sampled_from("abAB \n\0ßé修\U0001d505\U0010ffff\ud800"), max_size=60)


@given(before=LETTERS, letters=LETTERS, behind=LETTERS, size=st.sampled_from(SIZES))
def test_no_trigram_is_missing(before: str, letters: str, behind: str, size: int) -> None:
    """Letters have the same numbers wherever they are, and the bits of these are set."""
    numbers = Signature(letters).numbers
    whole = Signature(before + letters + behind)
    bits = whole.bits(size)

    assert max(0, len(letters) - LENGTH + 1) == len(numbers)
    assert list(numbers) == list(whole.numbers[len(before) : len(before) + len(numbers)])
    assert all(bits[bit_of(number, size)] for number in numbers)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 33, 1400, 1432, 1433, 1434, 2832, 2833, 5000, 100_000])
def test_pieces(length: int) -> None:
    """All letters that are near each other are together in a piece, and no piece is too long."""
    text = "".join(map(chr, range(0x20000, 0x20000 + length)))
    found = list(pieces(text))

    starts = {piece[0]: piece for piece in found}
    place = 0
    for at in range(length - LENGTH + 1):
        place = at if text[at] in starts else place
        assert text[at : at + OVERLAP + 1] in starts[text[place]]
    assert (length > 1432) == (len(found) > 1)
    assert all(Signature(piece).size in SIZES for piece in found)


def test_letters_are_folded() -> None:
    """Pieces have the letters in which a pattern is looked for."""
    assert [folded("STRASSE")] == list(pieces("Straße"))


@pytest.mark.parametrize(("words", "usual"), [(5, 7), (40, 250), (200, 1300)])
def test_size(words: int, usual: int) -> None:
    """A piece has some bits for each of its trigrams: at most two of five are set, and not much fewer."""
    chance = random.Random(1)
    piece = " ".join("".join(chance.choices("etaoinshrdlu", k=6)) for _ in range(words))[:usual]
    signature = Signature(piece)
    bits = signature.bits(signature.size)

    assert len(bits) == signature.size
    assert sum(bits) <= 0.45 * len(bits)
    assert signature.size == SIZES[0] or sum(bits) >= 0.2 * len(bits)


@pytest.mark.parametrize("different", [3, 20, 150, 300, 500, 700, 1400])
def test_size_of_what_repeats_itself(different: int) -> None:
    """A trigram that a piece has several times counts once, or nearly so."""
    letters = "".join(map(chr, range(0x4E00, 0x4E00 + different)))
    signature = Signature((letters * (1400 // different + 1))[:1402])

    assert different <= 0.46 * signature.size
    assert different >= 0.29 * signature.size or signature.size == SIZES[0]
    for size in SIZES:
        assert {bit_of(number, size) for number in signature.numbers} == {*compress(count(), signature.bits(size))}


def test_size_of_what_has_no_bit_in_common() -> None:
    """A piece may have as many bits set as it has trigrams, though hardly a text has one."""
    letters, taken = "\u4e00\u4e01", set[int]()
    while len(letters) < 1448:
        bits = ((bit_of(Signature(letters[-2:] + chr(code)).numbers[0], SIZES[-1]), code) for code in count(0x4E02))
        bit, code = next((bit, code) for bit, code in bits if bit not in taken)
        letters += chr(code)
        taken.add(bit)
    piece = next(pieces((letters * 2)[:2832]))

    assert letters == piece
    assert Signature(piece).size == SIZES[-1]


def test_few_seem_to_have_what_they_lack() -> None:
    """A piece rarely seems to have several trigrams that it lacks, though they are like those that it has."""
    chance = random.Random(2)

    def text(words: int) -> str:
        return " ".join("".join(chance.choices("etaoinshrdlucmfw", k=6)) for _ in range(words))

    signatures = [Signature(text(40)) for _ in range(500)]
    bits = [signature.bits(signature.size) for signature in signatures]
    for letters, most in ((3, 0.4), (5, 0.07), (8, 0.004)):
        seem = 0
        for _ in range(40):
            numbers = Signature("".join(chance.choices("etaoinshrdlucmfw", k=letters))).numbers
            seem += sum(all(some[bit_of(number, len(some))] for number in numbers) for some in bits)
        assert seem / 40 / len(bits) < most


@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5).map(bytes), min_size=8, max_size=16))
def test_columns(rows: list[bytes]) -> None:
    """The bits of pieces are turned, and back again."""
    rows = rows[: len(rows) // 8 * 8]
    numbers = array("q", range(len(rows)))
    columns = [list(having(int.from_bytes(column, "big"), numbers)) for column in columns_of(rows)]

    assert columns == [[number for number, bits in enumerate(rows) if bits[bit]] for bit in range(5)]


@pytest.mark.parametrize("pieces", [0, 1, 2, 100, 1000])
def test_events_of_pieces(pieces: int) -> None:
    """Those of few pieces are found, and those of many."""
    events = array("q", range(7, 1007))
    some = random.Random(3).sample(range(1000), pieces)

    assert sorted(events[at] for at in some) == list(having(sum(1 << 999 - at for at in some), events))
