"""Protocols, measures, and reports with pictures."""

from lookalike.evaluate._annotations import (
    AnnotationScores,
    OneClassScores,
    annotation_scores,
    hierarchical_scores,
    one_class_scores,
)
from lookalike.evaluate._average_precision import class_average_precision
from lookalike.evaluate._draws import few_label_draws, folds
from lookalike.evaluate._judgement import Fit, Judgement, cross_validate
from lookalike.evaluate._leaks import columns_like_labels
from lookalike.evaluate._measures import accuracy_at_coverage, calibration_error, reliability, risk_coverage
from lookalike.evaluate._report import ReportContents, ReportedPrototype, write_report
from lookalike.evaluate._retrieval import RetrievalEvaluation, evaluate_retrieval
from lookalike.evaluate._sheets import SheetGroup, SheetPicture, draw_strip, write_sheet

__all__ = [
    "AnnotationScores",
    "Fit",
    "Judgement",
    "OneClassScores",
    "ReportContents",
    "ReportedPrototype",
    "RetrievalEvaluation",
    "SheetGroup",
    "SheetPicture",
    "accuracy_at_coverage",
    "annotation_scores",
    "calibration_error",
    "class_average_precision",
    "columns_like_labels",
    "cross_validate",
    "draw_strip",
    "evaluate_retrieval",
    "few_label_draws",
    "folds",
    "hierarchical_scores",
    "one_class_scores",
    "reliability",
    "risk_coverage",
    "write_report",
    "write_sheet",
]
