"""The parts of lab/studies/traces.py."""
