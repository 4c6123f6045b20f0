"""Protocols, measures, and reports with pictures."""

from lookalike.evaluate._annotations import AnnotationScores
from lookalike.evaluate._annotations import OneClassScores
from lookalike.evaluate._annotations import annotation_scores
from lookalike.evaluate._annotations import hierarchical_scores
from lookalike.evaluate._annotations import one_class_scores
from lookalike.evaluate._draws import few_label_draws
from lookalike.evaluate._draws import folds
from lookalike.evaluate._judgement import Judgement
from lookalike.evaluate._judgement import cross_validate
from lookalike.evaluate._measures import accuracy_at_coverage
from lookalike.evaluate._measures import calibration_error
from lookalike.evaluate._measures import reliability
from lookalike.evaluate._measures import risk_coverage
from lookalike.evaluate._report import ReportContents
from lookalike.evaluate._report import ReportedPrototype
from lookalike.evaluate._report import write_report
from lookalike.evaluate._retrieval import RetrievalEvaluation
from lookalike.evaluate._retrieval import evaluate_retrieval
from lookalike.evaluate._sheets import SheetGroup
from lookalike.evaluate._sheets import SheetPicture
from lookalike.evaluate._sheets import draw_strip
from lookalike.evaluate._sheets import write_sheet

__all__ = [
    "AnnotationScores",
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
