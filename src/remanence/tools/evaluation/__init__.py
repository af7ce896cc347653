"""Measuring recall: public question sets, metrics, baselines in the same run, and training."""
