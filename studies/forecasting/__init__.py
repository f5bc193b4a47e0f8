"""How good are forecasts from measured steps? The parts of studies/forecasts.py."""
