"""
Fit a column of prices to a vocabulary: how the tables of `compactlib.tokens.estimator` were made.

    python -m tests.bench.fit_tokens FOLDER...

Texts are taken as `measure_tokens` takes them: a kind is the name of the folder
a file stands in.  Half of the texts, by the digest of their beginning, are for
the fit, and the error is reported on the other half.

The objective is the mean of the relative errors, each kind weighted by the root
of its size, an under-count a tenth more than an over-count, and a penalty for a
kind whose mean lies outside -4 % to +8 %.  Prices move by one unit (four
hundredths of a token) as long as that helps: no more freedom than a readable
table has.
"""

from __future__ import annotations

import hashlib
import math
import statistics
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from attrs import define, frozen

from compactlib.tokens import estimator

from .measure_tokens import STATED, Sample, elsewhere, true_tokens

COLUMN: Final = 0
UNIT: Final = 4
UNDER_WEIGHT: Final = 1.1
LEAST_MEAN, MOST_MEAN = -0.04, 0.08
PENALTY: Final = 3.0

WORDS: Final = tuple(estimator.AS_WORDS)
FIGURES: Final = tuple(estimator.AS_FIGURES)
REBATED: Final = ("digit", "frequent letter", "letter", "rare letter")


@frozen
class Counted:
    """How often each class occurs in a text, and how many neighbours of one sort there are."""

    kind: str
    words: tuple[int, ...]
    figures: tuple[int, ...]
    neighbours: int
    tokens: int


@define
class Column:
    """The prices being fitted, in hundredths."""

    words: dict[str, int]
    figures: dict[str, int]
    rebate: int

    def tokens(self, text: Counted) -> float:
        """The cheaper of the two readings."""
        words = sum(price * often for price, often in zip(self.words.values(), text.words, strict=True))
        figures = sum(price * often for price, often in zip(self.figures.values(), text.figures, strict=True))
        return min(words - self.rebate * text.neighbours, figures) / 100

    def error(self, text: Counted) -> float:
        """Above 0: over-counted."""
        return self.tokens(text) / text.tokens - 1


def counted(sample: Sample) -> Counted:
    """The features of one text."""
    data = sample.text.encode("utf-8", "surrogatepass")
    often = Counter(data)
    sorts = data.translate(estimator.SORTS)
    return Counted(
        sample.kind,
        tuple(sum(often[byte] for byte in estimator.AS_WORDS[name][0]) for name in WORDS),
        tuple(sum(often[byte] for byte in estimator.AS_FIGURES[name][0]) for name in FIGURES),
        sum(1 for one, other in pairwise(sorts) if one and one == other),
        true_tokens(sample.text),
    )


def objective(column: Column, texts: Sequence[Counted]) -> float:
    """What is made small."""
    kinds: dict[str, list[float]] = {}
    for text in texts:
        kinds.setdefault(text.kind, []).append(column.error(text))
    weights = {kind: math.sqrt(len(errors)) for kind, errors in kinds.items()}
    total = 0.0
    for kind, errors in kinds.items():
        mean = statistics.fmean(errors)
        total += weights[kind] * statistics.fmean([error if error > 0 else -error * UNDER_WEIGHT for error in errors])
        total += PENALTY * (max(0.0, mean - MOST_MEAN) + max(0.0, LEAST_MEAN - mean)) * sum(weights.values()) / len(kinds)
    return total / sum(weights.values())


def fit(column: Column, texts: Sequence[Counted]) -> Column:
    """Descend one price at a time until no step of one or two units helps."""
    best = objective(column, texts)
    tables = (column.words, column.figures)
    seen = {name for place, name in enumerate(WORDS) if sum(text.words[place] for text in texts) > 1_000}
    moved = True
    while moved:
        moved = False
        for table in tables:
            for name in table:
                for step in (2 * UNIT, UNIT, -UNIT, -2 * UNIT):
                    least = column.rebate + UNIT if table is column.words and name in REBATED else UNIT
                    if (table is column.words and name not in seen) or not least <= table[name] + step <= 192:
                        continue
                    table[name] += step
                    value = objective(column, texts)
                    if value < best - 1e-6:
                        best, moved = value, True
                    else:
                        table[name] -= step
    return column


def main(folders: list[str]) -> int:
    """Print the fitted column and how it does on the other half."""
    samples = [sample for sample in elsewhere(folders) if sample.kind not in STATED]
    halves: tuple[list[Counted], list[Counted]] = ([], [])
    for sample in samples:
        halves[hashlib.sha256(sample.text[:200].encode("utf-8", "replace")).digest()[0] % 2].append(counted(sample))
    column = Column(
        {name: row[COLUMN] for name, (_, row) in estimator.AS_WORDS.items()},
        {name: row[COLUMN] for name, (_, row) in estimator.AS_FIGURES.items()},
        estimator.REBATE[COLUMN],
    )
    for title, now in (("as it is", column), ("fitted", fit(column, halves[0]) if halves[0] else column)):
        errors = [abs(now.error(text)) for text in halves[1]]
        print(f"{title}: median error {statistics.median(errors):.1%} over {len(errors)} texts that were not fitted to")
        if title == "as it is":
            continue
        figures = {f"as figures: {name}": price for name, price in now.figures.items()}
        for name, price in {**now.words, "rebate": now.rebate, **figures}.items():
            print(f"{price:5}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
