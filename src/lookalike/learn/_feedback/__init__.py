"""Searching in rounds: the marks a person gives change what is found next."""
