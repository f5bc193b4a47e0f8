"""An open benchmark of forecasters: who is nearest to times that were left out of tables?

``series`` reads tables, ``splits`` says what is left out, ``rivals`` holds a file a forecaster,
``asking`` and ``worker`` run them, ``study`` and ``scores`` judge, ``summing`` and ``page`` show.
"""
