"""The report: one HTML file with answers, figures and their uncertainty.

    curves      forecast curves as points between which a page may interpolate
    content     the content of a report, as a plain dict of numbers and texts
    picture     the chart for readers without scripts
    render      renders the dict as a page

    templates/, static/   the page; vendor/ the libraries for its charts

Submodules are loaded when they are first used.
"""
