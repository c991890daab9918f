"""What ``reel doctor`` checks: one function per check, which changes nothing and opens no database."""
