"""An open benchmark of forecasters: which comes nearest to times held out of tables?

``series`` reads tables, ``splits`` chooses the held-out cells, ``rivals`` holds one file for each
forecaster, ``asking`` and ``worker`` run them, ``study`` and ``scores`` judge the forecasts,
``summing`` and ``page`` show the results.
"""
