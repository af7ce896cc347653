"""A LoRA of a language model, taught facts and memories (the `train` extra)."""

from remanence.learn.lora.evaluating import Figures, Score
from remanence.learn.lora.examples import Example
from remanence.learn.lora.finetuning import Finetuned, finetune
from remanence.learn.lora.registry import TunedAdapter
from remanence.learn.lora.tuning import Tuning

__all__ = ["Example", "Figures", "Finetuned", "Score", "TunedAdapter", "Tuning", "finetune"]
