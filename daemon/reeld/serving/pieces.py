"""What is sent at a time.

Vim drops a message whose rest is late, so none is cut in two but one that is longer than the kernel would take at
once anyway.
"""

from collections.abc import Iterator

# A peer that reads slowly is judged by the piece.
PIECE = 1 << 18


def pieces(messages: list[bytes], length: int = PIECE) -> Iterator[bytes]:
    """Join whole messages to pieces of some length at most, and cut those that are longer."""
    if sum(map(len, messages)) <= length:
        yield messages[0] if len(messages) == 1 else b"".join(messages)
        return
    joined: list[bytes] = []
    room = length
    for message in messages:
        if len(message) > room:
            if joined:
                yield b"".join(joined)
            joined, room = [], length
        if len(message) > length:
            yield from (message[start : start + length] for start in range(0, len(message), length))
        else:
            joined.append(message)
            room -= len(message)
    if joined:
        yield b"".join(joined)
