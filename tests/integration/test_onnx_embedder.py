"""The bundled model: its answers, and what its embedder does with processes and devices."""

from __future__ import annotations

import multiprocessing
import shutil
import subprocess
import sys
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remanence.backends.embedding import onnx
from remanence.backends.embedding.manifest import describe_files, read_manifest, write_manifest
from remanence.backends.embedding.onnx import OnnxEmbedder
from remanence.errors import EmbedderError
from remanence.testing.patience import HANG_S

TEXTS = [
    "Ana moved to Lisbon in May.",
    "Where does Ana live?",
    "My dog Max loves the beach.",
    "The quarterly report is due on Friday.",
    "I adopted a puppy.",
]
# Cosines of the float32 weights with the adapter, from a model built with --float32.
OFFICIAL = [0.6387, 0.1248, -0.0264, 0.2536, 0.2588, -0.0203, 0.2286, -0.0599, 0.3586, 0.0397]


@pytest.fixture(scope="module")
def embedder(model_folder: Path) -> OnnxEmbedder:
    return OnnxEmbedder(model_folder, threads=2)


def test_scores_agree_with_the_float_model(embedder: OnnxEmbedder) -> None:
    vectors = np.array([found.vector for found in embedder.embed(TEXTS)])
    scores = (vectors @ vectors.T)[np.triu_indices(len(TEXTS), 1)]
    assert np.abs(scores - OFFICIAL).max() < 0.01


def test_a_text_has_the_same_bits_in_any_company(embedder: OnnxEmbedder) -> None:
    together = embedder.embed(TEXTS * 3)
    for text, found in zip(TEXTS * 3, together, strict=True):
        [alone] = embedder.embed([text])
        assert np.array_equal(alone.vector, found.vector)
        assert np.array_equal(alone.codes, found.codes)


def test_codes_are_for_content_tokens_only(embedder: OnnxEmbedder) -> None:
    question = "Where does Ana live?"
    found = embedder.embed_query(question)
    assert [question[start:end] for start, end in found.spans] == ["Ana", "live"]


def test_a_known_text_is_read_to_its_longest(embedder: OnnxEmbedder) -> None:
    assert embedder.max_tokens == 254
    assert embedder.fingerprint.dimension == 384


# What a tokenizer may join, split, drop or take for a blank.
ODD = st.sampled_from(
    [
        *" \t\n\r\x1c\x0b\u2028\xa0.,'’([^`~$#@\\_-–",
        *"é中文🙂\u200d\u0301İßﬁ한ก\x00",
        "Ab",
        "e\u0301",
        "23",
    ]
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(ODD, min_size=1, max_size=200), stretch=st.sampled_from([1, 7, 50]))
def test_a_long_text_is_read_in_stretches_as_at_once(
    embedder: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch, parts: list[str], stretch: int
) -> None:
    whole = embedder.spans("".join(parts))
    with monkeypatch.context() as patch:
        patch.setattr(onnx, "_STRETCH", stretch)
        assert embedder.spans("".join(parts)) == whole


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_embeds(embedder: OnnxEmbedder) -> None:
    [expected] = embedder.embed(TEXTS[:1])
    here, there = multiprocessing.Pipe(duplex=False)

    def child() -> None:
        there.send(embedder.embed(TEXTS[:1])[0].vector)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    assert here.poll(HANG_S)
    assert np.array_equal(here.recv(), expected.vector)
    process.join()


def test_embedders_of_one_folder_share_one_model(model_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(model_folder, tmp_path / "model"))
    one, other = OnnxEmbedder(folder, threads=1), OnnxEmbedder(folder, threads=2)
    vectors = [embedder.embed(TEXTS)[0].vector for embedder in (one, other)]
    assert np.array_equal(*vectors)
    model = weakref.ref(_open_model_of(one))
    assert _open_model_of(other) is model()
    one.close()
    assert np.array_equal(other.embed(TEXTS)[0].vector, vectors[0])
    other.close()
    assert model() is None, "the last one to close lets go of the model"


def test_a_model_built_anew_in_its_folder_is_another(model_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(model_folder, tmp_path / "model"))
    before = OnnxEmbedder(folder)
    before.embed(TEXTS[:1])
    path = folder / "tokenizer.json"
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    manifest = replace(read_manifest(folder), files=describe_files(folder))
    write_manifest(folder, manifest)
    after = OnnxEmbedder(folder)
    after.embed(TEXTS[:1])
    assert _open_model_of(after) is not _open_model_of(before)


def _open_model_of(embedder: OnnxEmbedder) -> object:
    assert embedder._engine is not None
    return embedder._engine.model


def test_making_an_embedder_loads_no_runtime(model_folder: Path) -> None:
    code = (
        "import sys, pathlib; from remanence.backends.embedding.onnx import OnnxEmbedder;"
        f"OnnxEmbedder(pathlib.Path({str(model_folder)!r})).fingerprint;"
        "sys.exit('onnxruntime' in sys.modules or 'tokenizers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_cuda_without_its_runtime_says_what_to_install(model_folder: Path) -> None:
    import onnxruntime

    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        assert len(OnnxEmbedder(model_folder, device="cuda").embed(TEXTS)) == len(TEXTS)
    else:
        with pytest.raises(EmbedderError, match="onnxruntime-gpu"):
            OnnxEmbedder(model_folder, device="cuda").embed(TEXTS)


def test_an_unknown_device_is_refused(model_folder: Path) -> None:
    with pytest.raises(EmbedderError, match="cpu, cuda, auto"):
        OnnxEmbedder(model_folder, device="gpu")  # type: ignore[arg-type]


def test_auto_takes_what_there_is(model_folder: Path) -> None:
    assert len(OnnxEmbedder(model_folder, device="auto").embed(TEXTS)) == len(TEXTS)
