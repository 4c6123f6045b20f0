"""Several features of the same images become one learned space."""
