"""Learning from labelled images among all images of a collection."""
