"""The context in which the turns of one request are written."""

from reeld.formats.model import Action, Change, Piece


class RenderContext:
    """What writing a turn depends on besides the turn, and where it reports what it could not keep.

    Args:
        model: the model that will answer, if it is known.
        cache_breakpoints: how many cache breakpoints may still be set.
    """

    __slots__ = ("cache_breakpoints", "model", "report", "thinking")

    def __init__(self, model: str | None, cache_breakpoints: int = 0) -> None:
        self.model = model
        self.cache_breakpoints = cache_breakpoints
        # Whether the turn may contain thinking.
        self.thinking = True
        self.report: list[Change] = []

    def note(self, piece: Piece, action: Action, why: str) -> None:
        """Report what happened to a block."""
        self.report.append(Change(piece.seq, piece.block_index, action, why))
