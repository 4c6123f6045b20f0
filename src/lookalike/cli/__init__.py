"""The terminal's door; no logic of its own."""
