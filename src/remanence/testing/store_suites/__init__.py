"""The parts of the Store port's conformance suite, one per small port."""
