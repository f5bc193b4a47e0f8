"""The paper's case study: its findings, figures and source documents, and its machines rebuilt.

findings           what the paper found, asked of any steps
figures            its figures 2, 3 and 4, for any steps and models
documents          the source documents' tables beside a machine's own measurements
document_figures   the same as plots
"""
