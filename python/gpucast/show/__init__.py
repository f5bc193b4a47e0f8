"""Presentation of answers: figures, the report, proposals, the paper's case study."""
