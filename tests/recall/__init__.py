"""How often a search finds what somebody remembers: ``make recall``."""
