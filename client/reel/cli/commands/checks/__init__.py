"""What ``reel doctor`` checks: one function per check, which changes nothing and opens no database.

A check imports what it looks at, and returns findings; it prints nothing. Begin with
:mod:`reel.cli.commands.checks.finding`.
"""
