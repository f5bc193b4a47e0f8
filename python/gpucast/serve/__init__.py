"""The report as a small local application: files are loaded and questions asked in the browser.

    work    files to a fit and all that the report says of it, in a process of its own
    app     the pages, who may see them, and the files that the browser sends

The page is that of ``gpucast.show.report``; nothing here computes a step time.
"""
