"""Named chains from image to answer: fit, answer, explain, save, load."""
