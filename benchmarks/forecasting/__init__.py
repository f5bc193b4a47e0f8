"""How good are forecasts from measured steps? The parts of benchmarks/forecasts.py."""
