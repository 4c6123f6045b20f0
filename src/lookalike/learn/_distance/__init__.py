"""Discriminants made from distances between observations: linear, in a kernel, and in a learned kernel."""
