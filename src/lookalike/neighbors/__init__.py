"""Who is near: exact search, Bregman trees, the k-NN graph."""
