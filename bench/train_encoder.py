"""Tunes MiniLM for memory: a low-rank adapter and a learned basis for the token codes.

    python bench/train_encoder.py --data data.npz --model FOLDER --out FOLDER [--fold N]

Needs torch, on a GPU or a CPU; everything is seeded. `--data` is what bench/encoder_data.py made.
A step takes one conversation, some of its questions, and its pieces: every other turn of it is a
negative, scored as the product scores it, by the vector and by late interaction of the content
tokens. `--general` holds texts that are no conversation; on them, the vectors have to stay as like
or unlike each other as the plain model has them.

With `--fold N` the conversations of that fold are left out and asked at the end. What is in `--out`
already is not made again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as functional
from safetensors.torch import load_file, save_file

BITS = 128
SCALE = 2.0
QUESTIONS, PIECES, TOGETHER = 48, 1_000, 192
GENERAL = 192
LATE_HEAT, DENSE_HEAT = 0.03, 0.05
WARM_UP = 20
UNSEEN = -2.0
LINEAR = (
    *("attention.self.query", "attention.self.key", "attention.self.value"),
    *("attention.output.dense", "intermediate.dense", "output.dense"),
)


def hush() -> None:
    """Nothing is told to anybody; the package, which has a longer list, is not needed here."""
    os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1", DISABLE_TELEMETRY="1")


@dataclass(frozen=True)
class Recipe:
    """How it is trained."""

    rank: int = 16
    epochs: int = 4
    rate: float = 5e-4
    basis_rate: float = 3e-4
    drift: float = 20.0  # how much the likenesses of general texts count
    strength: float = 0.8  # of what was learned, what is kept: less forgets less, and finds more
    seed: int = 0


@dataclass(frozen=True)
class Texts:
    """Token ids of texts, and what each token is worth."""

    ids: list[np.ndarray]
    worth: list[np.ndarray]

    def padded(self, rows: Sequence[int], device: str) -> tuple[torch.Tensor, ...]:
        """Ids, which of them are there, and their worth: (texts, tokens) each."""
        width = max(len(self.ids[n]) for n in rows)
        ids, there, worth = (np.zeros((len(rows), width), kind) for kind in ("i8", "?", "f4"))
        for at, n in enumerate(rows):
            length = len(self.ids[n])
            ids[at, :length], there[at, :length] = self.ids[n], True
            worth[at, :length] = self.worth[n]
        return tuple(torch.from_numpy(array).to(device) for array in (ids, there, worth))


@dataclass(frozen=True)
class Talk:
    """A conversation with its questions; `wordings` are two ways to put each."""

    name: str
    dataset: str
    fold: int
    pieces: Texts
    of: np.ndarray
    wordings: tuple[Texts, Texts]
    gold: list[set[int]]
    categories: list[str]

    @property
    def turns(self) -> int:
        return int(self.of.max()) + 1


def read_texts(saved: Any, name: str) -> Texts:
    cuts = saved[f"{name}.ends"][:-1]
    ids = np.split(saved[f"{name}.ids"].astype(np.int64), cuts)
    return Texts(ids, np.split(saved[f"{name}.worth"].astype(np.float32), cuts))


def read_talks(path: Path) -> list[Talk]:
    """All conversations of a prepared file."""
    with np.load(path) as saved:
        about = json.loads(saved["about"].tobytes())
        talks = []
        for n, name in enumerate(about["names"]):
            gold: list[set[int]] = [set() for _ in about["categories"][n]]
            for question, turn in saved[f"{n}.gold"].tolist():
                gold[question].add(turn)
            wordings = read_texts(saved, f"{n}.asked"), read_texts(saved, f"{n}.voiced")
            talks.append(
                Talk(
                    name, about["datasets"][n], about["folds"][n], read_texts(saved, f"{n}.pieces"),
                    saved[f"{n}.of"], wordings, gold, about["categories"][n],
                )
            )  # fmt: skip
    return talks


class Adapted(torch.nn.Module):
    """A linear layer and what is added to it."""

    def __init__(self, linear: torch.nn.Linear, rank: int) -> None:
        super().__init__()
        self.linear = linear.requires_grad_(False)
        noise = torch.randn(rank, linear.in_features) / math.sqrt(linear.in_features)
        self.a = torch.nn.Parameter(noise)
        self.b = torch.nn.Parameter(torch.zeros(linear.out_features, rank))
        self.strength = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.to(self.linear.weight.dtype)
        plain = self.linear(x)
        if not self.strength:
            return plain
        change = (x @ self.a.T.to(x.dtype)) @ self.b.T.to(x.dtype)
        return plain + change * (SCALE * self.strength)


class Encoder(torch.nn.Module):
    """The vector of a text and its tokens in the learned basis."""

    def __init__(self, folder: Path, rank: int, half: bool) -> None:
        hush()
        from transformers import BertConfig, BertModel

        super().__init__()
        config = BertConfig.from_pretrained(folder)
        self.bert = BertModel(config, add_pooling_layer=False)
        read = load_file(folder / "model.safetensors")
        told = {name.removeprefix("bert."): weight for name, weight in read.items()}
        if "words.step" in told:  # words in 8 bits, as they ship, where less has to travel
            words = told.pop("words").float() * told.pop("words.step")
            told["embeddings.word_embeddings.weight"] = words
        missing = self.bert.load_state_dict({k: v.float() for k, v in told.items()}, strict=False)
        assert not [k for k in missing.missing_keys if "position_ids" not in k], missing
        self.bert.requires_grad_(False).eval()
        for module in self.bert.modules():
            if isinstance(module, torch.nn.Linear):
                module.to(torch.bfloat16 if half else torch.float32)
        for layer in self.bert.encoder.layer:
            for path in LINEAR:
                *way, last = path.split(".")
                holder = layer
                for step_ in way:
                    holder = getattr(holder, step_)
                setattr(holder, last, Adapted(getattr(holder, last), rank))
        self.basis = torch.nn.Parameter(torch.linalg.qr(torch.randn(config.hidden_size, BITS))[0])

    def forward(self, ids: torch.Tensor, there: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        real = there.to(torch.float32)
        state = self.bert(input_ids=ids, attention_mask=there.long()).last_hidden_state
        vector = functional.normalize((state * real[..., None]).sum(1), dim=-1)
        return vector, functional.normalize(state @ self.basis.to(state.dtype), dim=-1)

    def adapt(self, strength: float) -> None:
        """Add so much of what was learned; nothing of it is the plain model."""
        for module in self.modules():
            if isinstance(module, Adapted):
                module.strength = strength


class Trainer:
    def __init__(self, net: Encoder, device: str, recipe: Recipe) -> None:
        self.net, self.device, self.recipe = net.to(device), device, recipe

    def narrow(self) -> torch.autocast:
        """16-bit sums on a GPU; a CPU is slower with them."""
        return torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda")

    def tables(
        self, talk: Talk, wording: Texts, questions: Sequence[int], pieces: Sequence[int],
        *, signs: bool = False,
    ) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
        """Late interaction and cosine of each question with each turn; `UNSEEN` if not sampled."""
        ids, there, worth = wording.padded(questions, self.device)
        asked, tokens = self.net(ids, there)
        worth = worth / worth.sum(1, keepdim=True).clamp(min=1e-6)
        late, dense = [], []
        order = sorted(pieces, key=lambda n: len(talk.pieces.ids[n]))
        for start in range(0, len(order), TOGETHER):
            rows = order[start : start + TOGETHER]
            ids, there, content = talk.pieces.padded(rows, self.device)
            vector, codes = self.net(ids, there)
            if signs:
                codes = codes.sign() * math.sqrt(math.pi / 2 / BITS)
            match = torch.einsum("qid,njd->qinj", tokens, codes)
            best = match.masked_fill((content == 0)[None, None], -1).amax(-1)
            late.append((best.float() * worth[:, :, None]).sum(1))
            dense.append((asked @ vector.T).float())
        turn = torch.from_numpy(talk.of[order].astype(np.int64)).to(self.device)[None]
        turn = turn.expand(len(questions), -1)
        empty = torch.full((len(questions), talk.turns), UNSEEN, device=self.device)
        return (
            empty.scatter_reduce(1, turn, torch.cat(late, 1), "amax"),
            empty.scatter_reduce(1, turn, torch.cat(dense, 1), "amax"),
        )

    def loss(self, talk: Talk, questions: Sequence[int], rng: random.Random) -> torch.Tensor:
        gold = set().union(*(talk.gold[n] for n in questions))
        must = [n for n, turn in enumerate(talk.of.tolist()) if turn in gold][: PIECES // 2]
        rest = [n for n, turn in enumerate(talk.of.tolist()) if turn not in gold]
        pieces = must + rng.sample(rest, min(len(rest), PIECES - len(must)))
        total = torch.zeros((), device=self.device)
        wording = talk.wordings[rng.random() < 0.5]
        tables = self.tables(talk, wording, questions, pieces)
        for table, heat in zip(tables, (LATE_HEAT, DENSE_HEAT), strict=True):
            hit = torch.zeros_like(table, dtype=torch.bool)
            for row, n in enumerate(questions):
                hit[row, list(talk.gold[n])] = True
            seen = table > UNSEEN / 2 - 0.5
            hit &= seen
            scores = (table / heat).masked_fill(~seen, -1e4)
            others = scores.masked_fill(hit, -1e4).logsumexp(1, keepdim=True)
            behind = functional.softplus(others - scores)  # each answer against all that is none
            total = total + ((behind * hit).sum(1) / hit.sum(1).clamp(min=1)).mean()
        return total

    def drift(self, general: Texts, rows: Sequence[int]) -> torch.Tensor:
        """How far the likenesses of these texts are from what the plain model has them."""
        ids, there, _ = general.padded(rows, self.device)
        self.net.adapt(0)
        with torch.no_grad():
            plain = self.net(ids, there)[0].float()
        self.net.adapt(1)
        tuned = self.net(ids, there)[0].float()
        return ((tuned @ tuned.T - plain @ plain.T) ** 2).mean()

    def train(self, talks: Sequence[Talk], general: Texts | None, seconds: float) -> None:
        """Train through all epochs, or for so many seconds; the rate falls to zero either way."""
        recipe = self.recipe
        rng = random.Random(recipe.seed)
        learnt = [p for p in self.net.parameters() if p.requires_grad]
        groups: list[dict[str, Any]] = [
            {"params": [p for p in learnt if p is not self.net.basis], "rate": recipe.rate},
            {"params": [self.net.basis], "rate": recipe.basis_rate},
        ]
        adam = torch.optim.AdamW(groups, weight_decay=0.01)
        plan = [batch for _ in range(recipe.epochs) for batch in _epoch(talks, rng)]
        began = time.monotonic()
        for step, (talk, questions) in enumerate(plan, 1):
            done = max(step / (len(plan) + 1), (time.monotonic() - began) / seconds)
            if done >= 1:
                break
            pace = min(1, step / WARM_UP) * (1 - done)
            for group in adam.param_groups:
                group["lr"] = group["rate"] * pace
            with self.narrow():
                loss = self.loss(talk, questions, rng)
                if general is not None and recipe.drift:
                    rows = rng.sample(range(len(general.ids)), GENERAL)
                    loss = loss + recipe.drift * self.drift(general, rows)
            adam.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(learnt, 1.0)
            adam.step()
            if step % 50 == 0 or step == len(plan):
                told = f"{step}/{len(plan)} loss {float(loss.detach()):.3f}"
                print(f"{told} {time.monotonic() - began:.0f} s", flush=True)

    def adapter(self) -> dict[str, torch.Tensor]:
        """What is added to the weights: `b @ a` for each layer, and the basis of the codes."""
        kept: dict[str, torch.Tensor] = {}
        for name, weight in self.net.named_parameters():
            if weight.requires_grad:
                part = weight.detach().float().cpu()
                factor = SCALE * self.recipe.strength if name.endswith(".b") else 1.0
                kept[name.removeprefix("bert.")] = (part * factor).half().contiguous()
        return kept

    @torch.no_grad()
    def asked(self, talks: Sequence[Talk]) -> dict[str, dict[str, float]]:
        """Recall of the first ten turns, by late interaction and by the vector alone."""
        found: dict[str, list[tuple[float, float]]] = {}
        for talk in talks:
            for start in range(0, len(talk.gold), QUESTIONS):
                questions = list(range(start, min(start + QUESTIONS, len(talk.gold))))
                with self.narrow():
                    tables = self.tables(
                        talk, talk.wordings[1], questions, range(len(talk.of)), signs=True
                    )
                first = [table.topk(min(10, talk.turns)).indices.tolist() for table in tables]
                for row, n in enumerate(questions):
                    gold = talk.gold[n]
                    hits = [len(gold & set(table[row])) / len(gold) for table in first]
                    sort = talk.categories[n]
                    names = [talk.dataset + ("" if "written" not in sort else " written")]
                    for name in [*names, f"{names[0]} · {sort}"]:
                        found.setdefault(name, []).append((hits[0], hits[1]))
        return {
            name: {
                "late": float(np.mean([a for a, _ in pairs])),
                "dense": float(np.mean([b for _, b in pairs])),
                "questions": len(pairs),
            }
            for name, pairs in sorted(found.items())
        }

    @torch.no_grad()
    def vectors(self, texts: Sequence[str], tokenizer: Any) -> np.ndarray:
        """For bench/general.py."""
        rows = [tokenizer.encode(t, add_special_tokens=False).ids[:126] for t in texts]
        made = Texts([np.array([101, *r, 102]) for r in rows], [np.zeros(len(r) + 2) for r in rows])
        out = []
        for start in range(0, len(rows), TOGETHER):
            chosen = range(start, min(start + TOGETHER, len(rows)))
            ids, there, _ = made.padded(chosen, self.device)
            out.append(self.net(ids, there)[0].float().cpu().numpy())
        return np.concatenate(out)


def _epoch(talks: Sequence[Talk], rng: random.Random) -> Iterator[tuple[Talk, list[int]]]:
    batches = []
    for talk in talks:
        order = rng.sample(range(len(talk.gold)), len(talk.gold))
        batches += [(talk, order[i : i + QUESTIONS]) for i in range(0, len(order), QUESTIONS)]
    rng.shuffle(batches)
    yield from batches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--general", type=Path, help="texts whose likenesses stay as they are")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--fold", type=int, help="left out, and asked at the end")
    parser.add_argument("--seconds", type=float, default=math.inf, help="of training, at most")
    parser.add_argument("--sets", help="train on these data sets only, with commas")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    for name, value in vars(Recipe()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    given = parser.parse_args()
    name = "adapter" if given.fold is None else f"adapter-{given.fold}"
    target = given.out / f"{name}.safetensors"
    if target.exists():
        print(f"{target} is there")
        return
    recipe = replace(Recipe(), **{name: getattr(given, name) for name in vars(Recipe())})
    torch.manual_seed(recipe.seed)
    talks = read_talks(given.data)
    kept = [t for t in talks if t.fold != given.fold]
    if given.sets:
        kept = [t for t in kept if t.dataset in given.sets.split(",")]
    general = None
    if given.general:
        with np.load(given.general) as saved:
            general = read_texts(saved, "general")
    net = Encoder(given.model, recipe.rank, half=given.device == "cuda")
    trainer = Trainer(net, given.device, recipe)
    trainer.train(kept, general, given.seconds)
    given.out.mkdir(parents=True, exist_ok=True)
    save_file(trainer.adapter(), target)
    net.adapt(recipe.strength)
    told: dict[str, Any] = {"recipe": vars(recipe)}
    if given.fold is not None:
        told["left_out"] = trainer.asked([t for t in talks if t.fold == given.fold])
    folder = Path(__file__).parent
    if (folder / "general.py").exists():
        told["general"] = _general(folder, trainer, given.model)
    (given.out / f"{name}.json").write_text(json.dumps(told, indent=1))
    print(json.dumps(told, indent=1))


def _general(folder: Path, trainer: Trainer, model: Path) -> dict[str, Any]:
    import sys

    sys.path.insert(0, str(folder))
    from tokenizers import Tokenizer

    from general import score_vectors

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    found = {}
    for name, strength in (("plain", 0.0), ("tuned", trainer.recipe.strength)):
        trainer.net.adapt(strength)
        found[name] = score_vectors(lambda texts: trainer.vectors(texts, tokenizer))
    return found


if __name__ == "__main__":
    main()
