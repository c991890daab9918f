"""The tables of commands, one per group."""
