"""How answers are shown: figures, the report, the paper's case study."""
