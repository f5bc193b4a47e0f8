"""The report as a small local web application, in which files are loaded in the browser.

    work    fits files and makes the report's content, in a separate process
    app     the pages, access control, and uploaded files

The page is that of ``gpucast.show.report``; nothing here computes a step time.
"""
