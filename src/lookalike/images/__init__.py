"""Find, open, orient and scale pictures; set aside what cannot be read, with its reason."""
