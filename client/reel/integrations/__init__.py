"""Session stores for other frameworks, which keep the history in ``reeld``: one module for each framework."""
