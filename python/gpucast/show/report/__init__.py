"""The report: one HTML file that answers, shows, and says how far to trust it.

    curves      forecast curves as points that a page may interpolate between
    content     all that a report says, as a plain dict of numbers and words
    picture     the chart that stands where no script runs
    render      that dict as a page

    templates/, static/   the page; vendor/ the libraries that draw its charts

Nothing here is loaded before it is used.
"""
