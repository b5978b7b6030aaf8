"""Three ways to split items into a few groups: by namespace, by common words, by the alphabet. Each
gives labelled parts, none of them much larger than its share."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby

import msgspec

from weft.router.words import words_of
from weft_schemas.routing import SelectableItem

ItemGroup = tuple[str, list[int]]
"""A label and the indexes of its items."""

_SEEDS_FROM = 256
"""How many items are examined for seeds: farthest-first over all would cost as much as the whole
build."""
_ROOM = 1.5
"""How much larger than its even share a cluster may become: bounds the depth."""
_MAX_WORDS = 2_048
"""How many words similarity compares: the most common ones that not every item has."""
_APART = re.compile(r"[./:]+|__+")


class ItemTraits(msgspec.Struct, frozen=True):
    """The properties of one item for grouping."""

    key: tuple[str, str]
    """Name and id, for alphabetical order."""
    segments: tuple[str, ...]
    """Segments of its namespace, outermost first."""
    words: int
    """Its words as bits."""
    name_words: tuple[str, ...]


def traits_of(items: list[SelectableItem]) -> list[ItemTraits]:
    bags = [set(words_of(" ".join((item.name, *item.tags, item.description)))) for item in items]
    spread = Counter(word for bag in bags for word in bag)
    ranked = sorted(spread.items(), key=lambda pair: (-pair[1], pair[0]))
    common = [word for word, count in ranked if 1 < count < max(3, len(items) * 0.9)]
    bits = {word: 1 << place for place, word in enumerate(common[:_MAX_WORDS])}
    return [
        ItemTraits(
            (item.name.casefold(), item.id),
            tuple(part for part in _APART.split(item.namespace) if part),
            sum(bits[word] for word in bag if word in bits),
            tuple(re.findall(r"[^\W_]+", item.name.casefold()[:80])[:8]),
        )
        for item, bag in zip(items, bags, strict=True)
    ]


def by_namespace(
    traits: list[ItemTraits], members: list[int], level: int, parts: int
) -> list[ItemGroup]:
    """Parts by the namespace's segment at `level`; small neighbours share a part if there are more
    segments than `parts`. One part if all items have the same segment."""
    ordered = sorted(members, key=lambda index: (_segment(traits[index], level), index))
    groups = [
        (segment, list(group))
        for segment, group in groupby(ordered, key=lambda index: _segment(traits[index], level))
    ]
    if len(groups) <= parts:
        return [(segment or "other", group) for segment, group in groups]
    return _packed(groups, parts)


def by_words(traits: list[ItemTraits], members: list[int], parts: int) -> list[ItemGroup]:
    """Jaccard clusters: seeds as far as possible from each other, then every item to the nearest
    seed that has room. One part if the words do not distinguish the items."""
    seeds = _farthest_first([traits[index].words for index in members], parts)
    if len(seeds) < 2:
        return [("", members)]
    room = [int(_ROOM * len(members) / len(seeds)) + 1] * len(seeds)
    clusters: list[list[int]] = [[] for _ in seeds]
    for index in members:
        words = traits[index].words
        nearness = [-_similarity(words, seed) for seed in seeds]
        for place in sorted(range(len(seeds)), key=nearness.__getitem__):
            if room[place]:
                room[place] -= 1
                clusters[place].append(index)
                break
    around = Counter(word for index in members for word in set(traits[index].name_words))
    return [(_theme(traits, cluster, around), cluster) for cluster in clusters if cluster]


def by_alphabet(traits: list[ItemTraits], members: list[int], parts: int) -> list[ItemGroup]:
    """Runs of equal length of the sorted names."""
    ordered = sorted(members, key=lambda index: traits[index].key)
    size = -(-len(ordered) // parts)
    runs = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    return [(_span(traits[run[0]].key[0], traits[run[-1]].key[0]), run) for run in runs]


def _segment(item: ItemTraits, level: int) -> str:
    return item.segments[level] if level < len(item.segments) else ""


def _packed(groups: list[ItemGroup], parts: int) -> list[ItemGroup]:
    """Neighbouring groups joined, at most `parts` packs of about the same size."""
    total = sum(len(members) for _, members in groups)
    packs: list[list[ItemGroup]] = [[]]
    filled = 0
    for group in groups:
        middle = filled + len(group[1]) / 2
        if packs[-1] and len(packs) < parts and middle > total * len(packs) / parts:
            packs.append([])
        packs[-1].append(group)
        filled += len(group[1])
    return [
        (
            _span(pack[0][0], pack[-1][0]) or "other",
            [index for _, members in pack for index in members],
        )
        for pack in packs
    ]


def _farthest_first(bags: list[int], count: int) -> list[int]:
    """Up to `count` bags of words, each the least similar to the previous ones; fewer if the others
    are equal to one of them."""
    step = max(1, len(bags) // _SEEDS_FROM)
    sample = bags[::step]
    seeds = [sample[0]]
    nearest = [_similarity(bag, seeds[0]) for bag in sample]
    while len(seeds) < count:
        place = min(range(len(sample)), key=nearest.__getitem__)
        if nearest[place] >= 1.0:
            break
        seeds.append(sample[place])
        nearest = [
            max(near, _similarity(bag, sample[place]))
            for near, bag in zip(nearest, sample, strict=True)
        ]
    return seeds


def _similarity(left: int, right: int) -> float:
    """Jaccard: common words over all words; two items without any are equal."""
    either = left | right
    return (left & right).bit_count() / either.bit_count() if either else 1.0


def _theme(traits: list[ItemTraits], cluster: list[int], around: Counter[str]) -> str:
    """The three words that are more frequent in this cluster's names than in the others'."""
    inside = Counter(word for index in cluster for word in set(traits[index].name_words))
    ranked = sorted(inside, key=lambda word: (-(inside[word] ** 2) / around[word], word))
    return " ".join(word[:24] for word in ranked[:3])


def _span(first: str, last: str) -> str:
    return first[:24] if first[:24] == last[:24] else f"{first[:24]} … {last[:24]}"
