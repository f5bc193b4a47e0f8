"""How good are forecasts from measured steps? The parts of lab/studies/forecasts.py.

``questions`` chooses training data and held-out cells, ``answers`` forecasts these with gpucast and
``rivals`` with other models, ``scores`` and ``outcome`` summarize the errors, ``page`` shows them.
"""
