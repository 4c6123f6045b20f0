"""Protocols, measures, and reports with pictures."""

from lookalike.evaluate._draws import few_label_draws, folds
from lookalike.evaluate._judgement import Judgement, cross_validate
from lookalike.evaluate._measures import (
    accuracy_at_coverage,
    calibration_error,
    reliability,
    risk_coverage,
)
from lookalike.evaluate._report import ReportContents, ReportedPrototype, write_report

__all__ = [
    "Judgement",
    "ReportContents",
    "ReportedPrototype",
    "accuracy_at_coverage",
    "calibration_error",
    "cross_validate",
    "few_label_draws",
    "folds",
    "reliability",
    "risk_coverage",
    "write_report",
]
