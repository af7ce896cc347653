"""A LoRA of a language model, taught facts and memories (the `train` extra)."""
