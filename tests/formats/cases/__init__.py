"""Minimal bodies that each rule permits, tolerates (careless) and refuses."""
