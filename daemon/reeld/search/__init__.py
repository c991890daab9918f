"""Search in everything that was ever said: what counts as a word, what a person asks for, and the index of both."""
