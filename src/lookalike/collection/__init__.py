"""All that is known of a set of images, on disk."""
