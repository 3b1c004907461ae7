"""Does the card say what is true? Simulations of its R², of its interval, and of what chooses.

For tables of 60, 150, 300 and 1,000 rows a network is drawn, converted, and compared with its
formula on 20,000 new rows: the bias of the card's R², the share of repetitions in which new rows
lie in its 95 % interval or within .01 of it, the same of ``max_order="auto"`` and of the best step
of `sparse_path`, and the share of new rows within the guarantee. The same follows for inputs with
heavy tails, and for rows that are not independent (a series, clusters, near copies), where the
verdict has to say so; and the grades of formulas that are exact, or nearly. Networks that say yes
to one or two rows in a hundred follow: what their grades are worth, by Cohen's kappa of labels of
new rows.
Then the same rows sorted, in another order, and copied: the card must say the same.

    python benchmarks/honesty.py            # all, 100 repetitions: six minutes of one core
    python benchmarks/honesty.py --quick    # much of what the tests run, seconds

Repetition k draws its network and its rows with seed k, from 0 on: none is left out. The widths of
`nn2poly.assess.interval` were chosen on seeds 0 to 119; ``--first 1000`` asks others. Other inputs,
exact formulas and rare classes are drawn with seeds from 5,000 on, on which nothing was chosen.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np

import nn2poly as n2p
from nn2poly.arrays import FloatArray
from nn2poly.assess.fidelity import mean_r2
from nn2poly.tables import Table
from nn2poly.verdicts import GRADES, Alike

SIZES = (60, 150, 300, 1_000)
N_FEATURES, HIDDEN, NEW_ROWS = 4, 12, 20_000
# What counts as no bias, whatever the interval says; the share of repetitions that should be
# honest, and the chance with which a test of so many would fail all the same.
CLOSE, HONEST, CHANCE = 0.01, 0.9, 0.01
# The first seed of what nothing was chosen on.
OTHER_SEED = 5_000
# Rare classes: shares of rows that a network says yes to, rows, orders, and the first seed.
SHARES, RARE_ROWS, RARE_ORDERS = (0.01, 0.02, 0.5), 3_000, (1, 2, 4)


@dataclass(frozen=True)
class Trial:
    """One claim beside what was true: R² of the card, of new rows, and the interval."""

    claimed: float
    true: float
    low: float
    high: float
    warned: bool = False

    @property
    def gap(self) -> float:
        """How much too good the claim was."""
        return self.claimed - self.true

    @property
    def is_honest(self) -> bool:
        """Whether new rows lie in the interval, or close to the claim."""
        return self.low <= self.true <= self.high or abs(self.gap) <= CLOSE


def draw(
    seed: int, n_rows: int, kind: str = "independent"
) -> tuple[n2p.Network, FloatArray, FloatArray]:
    """Draw a network, rows of one of `KINDS` to convert it on, and new, independent rows."""
    rng = np.random.default_rng([seed, n_rows])
    activation = ("relu", "tanh")[seed % 2]
    hidden = n2p.Layer(rng.normal(size=(N_FEATURES, HIDDEN)), rng.normal(size=HIDDEN), activation)
    network = n2p.Network([hidden, n2p.Layer(rng.normal(size=(HIDDEN, 1)))])
    rows, new = KINDS[kind]
    return network, rows(rng, n_rows), new(rng, NEW_ROWS)


def normal(rng: np.random.Generator, n: int) -> FloatArray:
    """Draw independent rows."""
    return rng.normal(size=(n, N_FEATURES))


def student(rng: np.random.Generator, n: int) -> FloatArray:
    """Draw rows without a variance: Student's t with 2 degrees of freedom."""
    return rng.standard_t(2, size=(n, N_FEATURES))


def lognormal(rng: np.random.Generator, n: int) -> FloatArray:
    """Draw skewed rows, as incomes are."""
    return np.exp(1.5 * normal(rng, n))


def cauchy(rng: np.random.Generator, n: int) -> FloatArray:
    """Draw rows without a mean."""
    return rng.standard_cauchy(size=(n, N_FEATURES))


def series(rng: np.random.Generator, n: int) -> FloatArray:
    """Draw rows in time, with a correlation of .98 from one to the next."""
    X = normal(rng, n)
    for now in range(1, n):
        X[now] = 0.98 * X[now - 1] + np.sqrt(1.0 - 0.98**2) * X[now]
    return X


def clusters(rng: np.random.Generator, n: int) -> FloatArray:
    """Draw clusters of 15 rows, each within a tenth of what lies between them."""
    return normal(rng, n // 15)[np.arange(n) % (n // 15)] + 0.1 * normal(rng, n)


def near_copies(rng: np.random.Generator, n: int) -> FloatArray:
    """Draw rows that come five times, with a jitter of a millionth."""
    return normal(rng, n // 5)[np.arange(n) % (n // 5)] + 1e-6 * normal(rng, n)


Draw = Callable[[np.random.Generator, int], FloatArray]
# How rows are drawn, and new ones.
KINDS: dict[str, tuple[Draw, Draw]] = {
    "independent": (normal, normal),
    "t(2)": (student, student),
    "lognormal": (lognormal, lognormal),
    "Cauchy": (cauchy, cauchy),
    "a series": (series, normal),
    "clusters": (clusters, normal),
    "near copies": (near_copies, normal),
}


def fresh_r2(network: n2p.Network, poly: n2p.Polynomial, new: FloatArray) -> float:
    """Measure R² on new rows."""
    return mean_r2(network.predict(new).reshape(len(new), -1), poly.raw_outputs(new))


def card_trial(seed: int, n_rows: int, order: int | str, kind: str = "independent") -> Trial:
    """Compare a card with new rows."""
    network, X, new = draw(seed, n_rows, kind)
    poly = n2p.convert(network, order, data=X)
    if poly.card is None or poly.card.r2_interval is None:
        raise AssertionError("a conversion with data has a card")
    warned = poly.card.verdict.reason(Alike) is not None
    return Trial(poly.card.r2, fresh_r2(network, poly, new), *poly.card.r2_interval, warned)


def exact_grade(seed: int, n_rows: int, bend: float) -> str:
    """Grade order 1 of a linear function, with a share of something else."""
    X = normal(np.random.default_rng([seed, n_rows]), n_rows)

    def model(X: FloatArray) -> FloatArray:
        return np.asarray(X @ [2.0, -1.0, 0.5, 0.0] + bend * np.sin(3.0 * X[:, 0]))

    poly = n2p.convert(model, 1, data=X)
    return "none" if poly.card is None else poly.card.verdict.grade


def path_trial(seed: int, n_rows: int) -> Trial:
    """Compare the best step of a path with new rows."""
    network, X, new = draw(seed, n_rows)
    path = n2p.sparse_path(network, n2p.convert(network, 2, data=X), X, max_terms=15)
    if path.best_interval is None:
        raise AssertionError("these are rows enough")
    return Trial(path.best_r2, fresh_r2(network, path.polynomial(), new), *path.best_interval)


def guarantee_trial(seed: int, n_rows: int) -> float:
    """Give the share of new rows within the bound that a card promises for 99 % of them."""
    network, X, new = draw(seed, n_rows)
    poly = n2p.convert(network, 2, data=X)
    if poly.card is None or not poly.card.guarantee.bounds:
        return float("nan")
    apart = np.abs(network.predict(new).ravel() - poly.raw_outputs(new)[:, 0])
    return float(np.mean(apart <= poly.card.guarantee.bounds[0]))


def summary_row(name: str, n_rows: int, trials: list[Trial]) -> tuple[object, ...]:
    """Summarise the trials of one claim."""
    gaps = [trial.gap for trial in trials]
    honest = float(np.mean([trial.is_honest for trial in trials]))
    return name, n_rows, len(trials), float(np.mean(gaps)), float(np.median(gaps)), honest


def fewest_honest(repetitions: int) -> int:
    """Give how many of them are honest at least, by chance alone, if `HONEST` of all are.

    Fewer have a probability below `CHANCE` (binomial): that is what a test may go by.

    Examples
    --------
    >>> fewest_honest(18), fewest_honest(100)
    (13, 82)
    """
    below = 0.0
    for count in range(repetitions + 1):
        ways = comb(repetitions, count)
        below += ways * HONEST**count * (1 - HONEST) ** (repetitions - count)
        if below >= CHANCE:
            return count
    return repetitions


def study(sizes: tuple[int, ...], repetitions: int, first: int = 0) -> Table:
    """Simulate all claims, with the seeds from ``first`` on."""
    rows = []
    claims: dict[str, Callable[[int, int], Trial]] = {
        "card, order 2": lambda seed, n: card_trial(seed, n, 2),
        "card, auto": lambda seed, n: card_trial(seed, n, "auto"),
        "sparse_path, best": path_trial,
    }
    for name, trial in claims.items():
        for n in sizes:
            rows.append(summary_row(name, n, [trial(first + k, n) for k in range(repetitions)]))
            print(*rows[-1], file=sys.stderr, flush=True)
    columns = ("claim", "rows", "repetitions", "mean bias", "median bias", "inside or within .01")
    return Table("R2 claimed against R2 on new rows", columns, tuple(rows))


def inputs_study(repetitions: int, first: int = OTHER_SEED) -> Table:
    """Simulate cards of other inputs, and of other orders, each told in how many of 100."""
    claims: list[tuple[int, int | str, str]] = [(300, 3, "independent")]
    claims.append((300, "auto", "independent"))
    claims += [(n, 2, kind) for kind in list(KINDS)[1:] for n in (300, 1_000)]
    rows = []
    for n, order, kind in claims:
        trials = [card_trial(first + k, n, order, kind) for k in range(repetitions)]
        honest, told = np.mean([(t.is_honest, t.warned) for t in trials], axis=0).tolist()
        gap = float(np.median([trial.gap for trial in trials]))
        rows.append((kind, n, order, repetitions, gap, honest, told))
        print(*rows[-1], file=sys.stderr, flush=True)
    columns = ("rows are", "n", "order", "repetitions", "median bias", "holds", "verdict warns")
    return Table("R2 claimed against R2 on new rows, other inputs", columns, tuple(rows))


def exact_study(repetitions: int, first: int = OTHER_SEED) -> Table:
    """Grade formulas that are exact, or exact but for a hundredth."""
    rows = []
    for bend in (0.0, 0.01):
        for n in (100, 200, 2_000):
            grades = [exact_grade(first + k, n, bend) for k in range(repetitions)]
            rows.append((bend, n, repetitions, *map(grades.count, ("faithful", "useful"))))
    columns = ("of something else", "rows", "repetitions", "faithful", "useful")
    return Table("Grades of a linear formula of a linear function", columns, tuple(rows))


@dataclass(frozen=True)
class RareTrial:
    """A formula of a classifier: its grade, and κ and the agreement of labels on new rows."""

    grade: str
    kappa: float
    agreement: float


def rare_trial(seed: int, share: float, order: int) -> RareTrial:
    """Convert a network that says yes to this share of the rows, and compare labels of new ones."""
    network, X, new = draw(seed, RARE_ROWS)
    last = network.layers[-1]
    cut = np.quantile(network.predict(new), 1.0 - share)
    layers = (network.layers[0], n2p.Layer(last.weights, last.bias - cut))
    rare = n2p.Network(layers, link="sigmoid", classes=["no", "yes"])
    poly = n2p.convert(rare, order, data=X)
    found = n2p.fidelity(rare, poly, new)
    if poly.card is None or found.labels is None or found.agreement is None:
        raise AssertionError("a classifier has labels")
    return RareTrial(poly.card.verdict.grade, found.labels.kappa, found.agreement)


def rare_study(repetitions: int, first: int = OTHER_SEED) -> Table:
    """Simulate rare classes: per share and grade, what labels of new rows are worth."""
    rows: list[tuple[object, ...]] = []
    for share in SHARES:
        seeds = range(first, first + repetitions)
        trials = [rare_trial(seed, share, order) for order in RARE_ORDERS for seed in seeds]
        for grade in GRADES[:4]:
            chosen = [trial for trial in trials if trial.grade == grade]
            if chosen:
                kappas = [trial.kappa for trial in chosen]
                agreement = float(np.mean([trial.agreement for trial in chosen]))
                ends = (float(np.median(kappas)), min(kappas))
                rows.append((f"{share:.0%}", grade, len(chosen), agreement, *ends))
                print(*rows[-1], file=sys.stderr, flush=True)
    columns = ("yes", "grade", "formulas", "labels agree", "kappa, median", "kappa, lowest")
    return Table("Rare classes: what grades are worth on new rows", columns, tuple(rows))


def coverage(repetitions: int, n_rows: int = 2_000) -> float:
    """Give how often the guarantee of 99 % of new rows holds; 95 % is promised."""
    shares = [guarantee_trial(seed, n_rows) for seed in range(repetitions)]
    return float(np.mean([share >= 0.99 for share in shares]))


def orders_agree(seed: int = 0, n_rows: int = 400) -> dict[str, float]:
    """Give R² of the card of the same rows as they are, sorted, shuffled, and copied."""
    network, X, _ = draw(seed, n_rows)
    shuffled = np.random.default_rng(seed).permutation(n_rows)
    forms = {"as they are": X, "sorted": X[np.argsort(X[:, 0])], "shuffled": X[shuffled]}
    forms["copied"] = np.concatenate([X, X])
    found = {}
    for name, rows in forms.items():
        card = n2p.convert(network, 2, data=rows).card
        found[name] = float("nan") if card is None else card.r2
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    quick = given.quick
    warnings.simplefilter("ignore")
    print(study((60, 300) if quick else SIZES, 6 if quick else 100, given.first))
    print()
    print(inputs_study(2 if quick else 60))
    print()
    print(exact_study(2 if quick else 20))
    print()
    print(rare_study(2 if quick else 20))
    if not quick:
        print(f"\nThe guarantee of 99 % of new rows holds in {coverage(60):.0%} of repetitions.")
    print("\nR2 of the card of the same rows:", orders_agree())


if __name__ == "__main__":
    main()
