"""How good are forecasts from measured steps? The parts of lab/studies/forecasts.py.

``questions`` say what is forecast from what, ``answers`` forecast it, ``rivals`` forecast the same,
``scores`` and ``outcome`` sum it up, ``page`` shows it.
"""
