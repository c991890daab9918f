"""How long a test waits for something that happens unless the code hangs.

The limit is far above what anything takes, on two idle cores as on a machine that is ten times busier: a test that
passes never waits for it, and a test that hangs fails with a stack instead of holding up the run.
"""

PATIENCE = 300.0
