"""Events on disk: the persistence task, the readers, and everything that is SQL."""
