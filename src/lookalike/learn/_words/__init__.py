"""Words in a hierarchy: which of them a picture may be given, and how many."""
