"""The paper's case study: its findings, figures and source documents.

findings           the paper's findings, tested on any steps
documents          compares the source documents' tables with a machine's own measurements
document_figures   plots of these comparisons
"""
