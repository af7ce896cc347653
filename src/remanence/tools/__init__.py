"""Work on a whole memory by its public verbs alone: transfer, evaluation, an agent loop."""
