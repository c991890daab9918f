"""Full-text search over all events: what counts as a word, the query language, and the index."""
