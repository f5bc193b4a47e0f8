"""The parts of studies/traces.py."""
