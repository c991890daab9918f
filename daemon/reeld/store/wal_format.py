"""The parts of a WAL that are read here (https://sqlite.org/fileformat2.html#walformat)."""

from struct import Struct

# The header from its page size on: that, and what the frames of one WAL have in common with it.
HEADER, HEADER_AT = Struct(">I4x8s"), 8
# Where the frames begin, and the header of each: its page, how many the file has if a commit ends there, and the same
# salts.
FRAMES_AT = 32
FRAME, FRAME_SIZE = Struct(">II8s"), 24
