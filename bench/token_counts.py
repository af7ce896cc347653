"""The estimate of `count_tokens` beside real tokenisers, by kind of text.

    python bench/token_counts.py --data FOLDER --tokenizer smollm2=tokenizer.json

Each tokeniser is a file as the `tokenizers` library writes it; the embedding model's WordPiece is
always one of them. A figure is estimate / real over all texts of a kind, in parts of ~20 lines;
`under` is the share of those parts for which the estimate was too low.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer

from remanence.backends.embedding.models import DEFAULT_MODEL, find_model
from remanence.config import load_settings
from remanence.language.tokens import count_tokens
from remanence.tools.evaluation.datasets import load_corpora

LINES = 20
PARTS = 100
LANGUAGES = {
    "German": "Anna ist letzten März nach Lissabon umgezogen und arbeitet seither als Übersetzerin "
    "für eine Versicherung. Sie vermisst ihre Freundinnen, aber das Wetter gefällt ihr besser.",
    "French": "Anne a déménagé à Lisbonne en mars et travaille depuis comme traductrice pour une "
    "compagnie d'assurance. Ses amies lui manquent, mais elle préfère la météo d'ici.",
    "Spanish": "Ana se mudó a Lisboa en marzo y desde entonces trabaja como traductora para una "
    "compañía de seguros. Echa de menos a sus amigas, pero prefiere el tiempo que hace aquí.",
    "Russian": "Анна переехала в Лиссабон в марте и с тех пор работает переводчицей в страховой "
    "компании. Она скучает по подругам, но погода здесь нравится ей больше.",
    "Arabic": "انتقلت آنا إلى لشبونة في شهر مارس وهي تعمل منذ ذلك الحين مترجمة في شركة تأمين.",
    "Hindi": "आना मार्च में लिस्बन चली गई और तब से एक बीमा कंपनी में अनुवादक के रूप में काम कर रही है।",
    "Chinese": "安娜三月份搬到了里斯本，从那以后一直在一家保险公司做翻译。她很想念她的朋友们。",
    "Japanese": "アンナは三月にリスボンへ引っ越し、それ以来保険会社で翻訳者として働いています。",
    "Korean": "안나는 3월에 리스본으로 이사했고 그 이후로 보험 회사에서 번역가로 일하고 있습니다.",
    "emoji": "So happy for you! 🎉🎉😂❤️👍🏽 see you soon 👋🏻🌊☀️🏄‍♀️",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="question sets, for chat")
    parser.add_argument("--tokenizer", action="append", default=[], metavar="NAME=FILE")
    given = parser.parse_args()
    known = dict(map(opened, [f"wordpiece={wordpiece()}", *given.tokenizer]))
    print("| text | " + " | ".join(f"{name} | under" for name in known) + " |")
    print("|---" * (1 + 2 * len(known)) + "|")
    for kind, texts in kinds(given.data):
        print(f"| {kind} | " + " | ".join(compared(texts, one) for one in known.values()) + " |")


def opened(named: str) -> tuple[str, Tokenizer]:
    name, _, path = named.partition("=")
    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return name, tokenizer


def wordpiece() -> Path:
    return find_model(DEFAULT_MODEL, load_settings().cache_folder) / "tokenizer.json"


def compared(texts: list[str], tokenizer: Tokenizer) -> str:
    real = [len(tokenizer.encode(text, add_special_tokens=False).ids) for text in texts]
    ours = [count_tokens(text) for text in texts]
    under = sum(a < b for a, b in zip(ours, real, strict=True)) / len(texts)
    return f"{sum(ours) / sum(real):.2f} | {under:.0%}"


def kinds(data: Path) -> Iterator[tuple[str, list[str]]]:
    chat: dict[str, list[str]] = {}
    for corpus in load_corpora(data):
        said = [f"{turn.speaker or turn.role}: {turn.text}" for turn in corpus.turns]
        chat.setdefault(corpus.dataset, []).extend(parts(said))
    for dataset, found in sorted(chat.items()):
        yield f"chat ({dataset})", found[:PARTS]
    sources = sorted(Path(__file__).parents[1].rglob("src/remanence/**/*.py"))
    yield "Python", [part for path in sources for part in parts(path.read_text().splitlines())]
    yield "JSON", made(lambda rng: json.dumps({"id": rng.randrange(9999), "tags": ["a", "blue"]}))
    yield "numbers", made(lambda rng: ",".join(str(rng.randrange(10**6)) for _ in range(6)))
    yield "dates", made(lambda rng: f"2026-03-{rng.randrange(10, 29)} {rng.randrange(10, 24)}:15")
    yield "addresses", made(lambda rng: f"https://example.org/{rng.getrandbits(64):x}?page=2")
    yield from ((name, [text]) for name, text in LANGUAGES.items())


def parts(lines: list[str]) -> Iterator[str]:
    rest = iter(lines)
    while part := list(islice(rest, LINES)):
        yield "\n".join(part)


def made(line: object) -> list[str]:
    rng = random.Random(1)
    return list(parts([line(rng) for _ in range(LINES * LINES)]))  # type: ignore[operator]


if __name__ == "__main__":
    main()
