"""Protocols, measures, and reports with pictures."""
