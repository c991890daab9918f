"""The encoder that everything in the event loop's thread shares."""

from reel.msgpack_codec import LastingPacker

loop_packer = LastingPacker()
