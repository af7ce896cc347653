"""Public conformance suites: what a backend must do, as tests to inherit."""
