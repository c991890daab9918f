"""The rules of a conversation, as functions from values to values: no await, no clock, no I/O."""
