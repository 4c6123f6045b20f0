"""Classifiers made of hyperplanes: several at once, and the analytic centre of those that separate."""
