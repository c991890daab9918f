"""The tables of commands, one per group.

They import what the types of their arguments need, and no client: the help is made from them. Begin with
:mod:`reel.cli.line.tables.writing`.
"""
