"""The encoder that everything in the event loop's thread shares."""

from reel.wire.msgpack_codec import LastingPacker

loop_packer = LastingPacker()
