"""Where an importer puts the exit status of a command that it knows; others tell it by the words of the result."""

# The key of the result's metadata.
EXIT_STATUS = "exit_status"
