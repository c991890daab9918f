"""A mixed load for minutes, and what it leaves behind in the daemon."""
