"""Two representations become a number, or a map that makes a kernel a dot product."""
