"""Labels become classifiers, embeddings and ensembles; arrays in, arrays out."""
