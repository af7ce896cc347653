"""A picture of the graph, PNG or SVG."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remanence.errors import ConfigError, InvalidInput
from remanence.knowledge.graph.layout import Place, places_of
from remanence.model.graph import Subgraph
from remanence.model.knowledge import EntityType

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".png", ".svg")
LONGEST = 28  # characters of a name or predicate that are drawn
# Okabe and Ito's palette, told apart by colour-blind eyes too.
COLOURS: dict[str, str] = {
    EntityType.PERSON: "#E69F00",
    EntityType.PLACE: "#56B4E9",
    EntityType.ORGANISATION: "#009E73",
    EntityType.EVENT: "#CC79A7",
    EntityType.TOPIC: "#F0E442",
}
GREY = "#BBBBBB"


def check_picture(path: object) -> Path:
    """The path to draw to; `InvalidInput` unless it ends in .png or .svg."""
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise InvalidInput(f"path must be a path, not {str(path)[:40]!r}.")
    given = Path(path)
    if given.suffix.lower() not in FORMATS:
        raise InvalidInput(f"A picture's path must end in .png or .svg; got {given.name[:60]!r}.")
    return given


def draw(part: Subgraph, path: Path) -> None:
    """Draw nodes and edges to a file, in place of what was there."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError(
            f"Plotting needs an extra: run `pip install 'remanence[plot]'` ({error})."
        ) from error
    side = min(30.0, 6.0 + 0.25 * len(part.nodes))
    figure = Figure(figsize=(side, side), dpi=120)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.margins(0.12)
    places = places_of(part)
    axes.update_datalim(list(places.values()))  # texts do not count for it
    axes.autoscale_view()
    _draw_on(axes, part, places)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        _save(figure, path)


def shown(text: str) -> str:
    """A text as it is drawn: one line, short, nothing that cannot be printed."""
    spaced = "".join(c if c.isprintable() else "�" for c in " ".join(text.split()))
    return spaced if len(spaced) <= LONGEST else spaced[: LONGEST - 1] + "…"


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, format=path.suffix[1:].lower())
    except OSError as error:
        raise InvalidInput(f"Cannot write {path}: {error.strerror}; give another path.") from error


def _draw_on(axes: Axes, part: Subgraph, places: Mapping[str, Place]) -> None:
    for pair in part.together:
        (ax, ay), (bx, by) = places[pair.a_id], places[pair.b_id]
        axes.plot([ax, bx], [ay, by], color="#DDDDDD", linewidth=0.8, linestyle=":", zorder=1)
    for edge in part.edges:
        _arrow(axes, places[edge.source_id], places[edge.target_id], edge.relation)
    for node in part.nodes:
        colour = COLOURS.get(node.type, GREY)
        box = {"boxstyle": "round", "facecolor": colour, "edgecolor": "white"}
        _write(axes, places[node.id], node.name, fontsize=8, zorder=4, bbox=box)


def _arrow(axes: Axes, a: Place, b: Place, label: str) -> None:
    line = {"arrowstyle": "-|>", "color": "#777777", "linewidth": 0.9, "shrinkA": 9, "shrinkB": 12}
    axes.annotate("", xy=b, xytext=a, arrowprops=line, zorder=2)
    middle = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
    box = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    _write(axes, middle, label, fontsize=6, color="#555555", zorder=3, bbox=box)


def _write(axes: Axes, at: Place, text: str, **style: Any) -> None:
    # A name with dollar signs is no formula.
    axes.text(*at, shown(text), ha="center", va="center", parse_math=False, **style)
