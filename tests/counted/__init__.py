"""What things take, counted: timings may not fail a test, but a change that doubles the work is seen here."""
