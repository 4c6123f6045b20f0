"""Bags of local descriptors, and what makes two of them comparable."""

from lookalike.arrays import Bags

__all__ = ["Bags"]
