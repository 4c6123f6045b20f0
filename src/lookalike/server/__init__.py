"""The web door; no logic of its own."""
