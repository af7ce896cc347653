"""Learning from use: replayed feedback, a retrieval adapter, a language model's LoRA."""
