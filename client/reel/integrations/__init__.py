"""Session stores of other frameworks, with their history in ``reeld``: one module for each framework."""
