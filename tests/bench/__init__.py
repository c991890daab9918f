"""How fast reel is on this machine, beside comparable programs: ``make bench``."""
