"""Fits of step models to records, over ``gpucast._core``.

The package is not called ``fit``: ``gpucast.fit`` is the function.
"""
