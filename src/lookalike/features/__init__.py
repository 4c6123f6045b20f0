"""One image becomes one vector, or one bag of local descriptors."""
