"""The report as a small local application: files are loaded and questions asked in the browser.

    work        files to a fit and all that the report says of it
    process     that, in a process of its own
    inbox       files as they come from the browser
    app         the pages, and who may see them

The page is that of ``gpucast.report``; nothing here computes a step time.
"""
