"""The trade-off between size and fidelity: what is tried, what is shared, what is picked."""

from __future__ import annotations

import re
from importlib import import_module

import numpy as np
import pytest
from shapiq.datasets import load_california_housing
from sklearn.datasets import make_friedman1
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nn2poly as n2p
from nn2poly.errors import InvalidInputError
from nn2poly.fit import option_search
from nn2poly.fit.frontier import Frontier
from nn2poly.fit.option_search import Point, smallest_close, unbeaten

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def housing():
    """Train a small network on California housing, as people do: 5,000 rows, no constraint."""
    X, y = load_california_housing()
    X, y = X.iloc[:5000], np.asarray(y)[:5000]
    net = MLPRegressor(hidden_layer_sizes=(32, 32), max_iter=40, random_state=0)
    return make_pipeline(StandardScaler(), net).fit(X, y), X


@pytest.fixture(scope="module")
def options(housing):
    return n2p.frontier(*housing)


def point(order=2, max_terms=None, regions=1, size=10, r2=0.9, seconds=0.1):
    return Point(order, max_terms, regions, size, size, r2, seconds)


# --- what is tried ---------------------------------------------------------------------------


def test_orders_regions_and_budgets_are_tried(options):
    assert {p.order for p in options.points if p.max_terms is None} == {1, 2, 3}
    assert {p.max_terms for p in options.points} == {None, 10, 30, 100}
    assert {p.regions for p in options.points} >= {1, 2, 4, 8}
    assert all(p.n_terms <= p.max_terms * p.regions for p in options.points if p.max_terms)
    orders = {p.order: p.n_terms for p in options.points if p.max_terms is None and p.regions == 1}
    assert orders == {1: 9, 2: 45, 3: 165}


def test_regions_bring_more_than_orders_on_a_real_network(options):
    by = {(p.order, p.regions): p.r2 for p in options.points if p.max_terms is None}
    assert by[2, 8] > by[3, 1]
    assert by[1, 8] > by[1, 1] + 0.05


def test_what_is_judged_on_rows_for_choices_is_what_the_card_says_within_a_few_hundredths(options):
    for chosen in (options.best[0], options.best[len(options.best) // 2]):
        formula = options.formula(chosen)
        # All rows may tell that fewer regions do than a part of them did.
        assert len(formula.regions) <= chosen.regions
        low, high = formula.card.r2_interval
        assert low - 0.02 < chosen.r2 < high + 0.02


def test_one_polynomial_is_fitted_for_each_setting_and_one_tree_grown(housing, monkeypatch):
    """So all of it costs at most five times its dearest member: measured 1.6 to 3.3."""
    counts = {"fit_terms": 0, "sparse_polynomial": 0, "grow_tree": 0, "read_problem": 0}

    def counted(module, name):
        real = getattr(module, name)

        def call(*args, **kwargs):
            counts[name] += 1
            return real(*args, **kwargs)

        monkeypatch.setattr(module, name, call)

    for name in ("fit_terms", "sparse_polynomial", "grow_tree"):
        counted(option_search, name)
    counted(import_module("nn2poly.fit.convert"), "read_problem")
    n2p.frontier(*housing, orders=(1, 2), max_terms=(10,))
    assert counts == {"fit_terms": 2, "sparse_polynomial": 1, "grow_tree": 3, "read_problem": 1}


def test_rows_of_the_card_choose_nothing(housing, monkeypatch):
    model, X = housing
    seen = []
    real = option_search.choice_problem

    def spied(problem):
        inner = real(problem)
        held = {tuple(row) for row in problem.summary.held_out}
        rows = [X for X, _ in inner.sample.rows.batches()]
        seen.append(held & {tuple(row) for part in rows for row in part})
        return inner

    monkeypatch.setattr(option_search, "choice_problem", spied)
    n2p.frontier(model, X.drop_duplicates(), orders=(1,), regions=(1,), max_terms=())
    assert seen == [set()]


def test_a_smooth_network_is_not_split_and_its_frontier_is_short():
    X, y = make_friedman1(1500, random_state=0)
    net = MLPRegressor(hidden_layer_sizes=(20,), activation="tanh", alpha=1.0, max_iter=300)
    model = make_pipeline(StandardScaler(), net.set_params(random_state=0)).fit(X, y)
    options = n2p.frontier(model, X[:800], orders=(2,), max_terms=(30,))
    assert min(options.best, key=lambda p: p.n_coefficients).regions == 1
    assert options.pick(r2=0.9).card.r2 > 0.88


def test_classifiers_weights_and_several_outputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    first = n2p.Layer(rng.normal(size=(3, 8)), None, "relu")
    net = n2p.Network([first, n2p.Layer(rng.normal(size=(8, 3)))], link="softmax")
    found = n2p.frontier(
        net, X, orders=(1, 2), regions=(1, 4), max_terms=(8,), sample_weight=rng.uniform(size=600)
    )
    assert all(p.n_coefficients == 3 * p.n_terms for p in found.points)
    assert found.pick(n_terms=40).predict_proba(X).shape == (600, 3)


# --- what nothing beats, and what is picked ---------------------------------------------------


def test_no_point_beats_one_that_is_called_unbeaten(options):
    best = options.best
    for p in options.points:
        beaten = any(
            q.n_coefficients <= p.n_coefficients and q.r2 > p.r2
            for q in options.points
            if q is not p
        )
        assert (p in best) <= (not beaten)
    sizes, close = [p.n_coefficients for p in best], [p.r2 for p in best]
    assert sizes == sorted(set(sizes))
    assert close == sorted(set(close))


def test_pick_gives_the_smallest_that_reaches_and_its_card(options, housing):
    chosen = options.pick(r2=0.85)
    expected = min((p for p in options.points if p.r2 >= 0.85), key=lambda p: p.n_coefficients)
    assert chosen.n_terms == expected.n_terms
    assert chosen.card.held_out
    assert chosen.card.r2 > 0.8
    again = n2p.convert(
        housing[0],
        None if expected.max_terms else expected.order,
        data=housing[1],
        max_terms=expected.max_terms,
        regions=expected.regions,
    )
    np.testing.assert_allclose(chosen.predict(housing[1]), again.predict(housing[1]))


def test_pick_by_terms_gives_the_closest_within_the_budget(options):
    chosen = options.pick(n_terms=50)
    assert chosen.n_terms <= 50
    closest = max((p for p in options.points if p.n_terms <= 50), key=lambda p: p.r2)
    # On all rows a budget may end a term or two earlier.
    assert abs(chosen.n_terms - closest.n_terms) <= 2


def test_the_same_formula_is_converted_once(options):
    assert options.pick(r2=0.8) is options.pick(r2=0.8)


def test_what_nothing_reaches_names_the_best(options):
    with pytest.raises(InvalidInputError) as caught:
        options.pick(r2=0.99999)
    assert options.best[-1].label in caught.value.found
    assert "regions=" in caught.value.remedy


def test_what_cannot_be_picked_is_refused(options):
    with pytest.raises(InvalidInputError, match="few as 2 terms"):
        options.pick(n_terms=2)
    with pytest.raises(InvalidInputError, match="Either"):
        options.pick()
    with pytest.raises(InvalidInputError, match="Either"):
        options.pick(r2=0.9, n_terms=10)


def test_the_knee_is_where_the_curve_turns():
    points = [point(size=s, r2=r) for s, r in ((5, 0.1), (10, 0.3), (20, 0.9), (400, 0.95))]
    made = Frontier(tuple(points), lambda p: p).knee()
    assert made.n_coefficients == 20


def test_a_single_point_is_its_own_knee():
    assert Frontier((point(),), lambda p: p).knee() == point()


def test_the_smallest_that_reaches_or_the_best_with_ties_to_the_smaller():
    points = [point(size=10, r2=0.8), point(size=20, r2=0.949), point(size=90, r2=0.95)]
    assert smallest_close(points, 0.75).n_terms == 10
    assert smallest_close(points, 0.99).n_terms == 20
    assert smallest_close(points, 0.95).n_terms == 90


def test_outputs_that_do_not_vary_are_as_close_by_any_formula():
    points = [point(size=3, r2=float("nan")), point(size=9, r2=float("nan"))]
    assert [p.n_terms for p in unbeaten(points)] == [3]


# --- how it shows itself ----------------------------------------------------------------------


def test_the_table_lists_all_and_marks_what_nothing_beats(options):
    table = options.table()
    assert len(table) == len(options.points)
    assert sum(row[-1] == "*" for row in table) == len(options.best)
    assert table.columns[:5] == ("order", "budget", "regions", "terms", "coefficients")
    frame = table.to_frame()
    assert frame["coefficients"].is_monotonic_increasing


def test_its_short_form_shows_the_best_alone(options):
    assert len(repr(options).splitlines()) == len(options.best) + 3
    assert re.match(r"Frontier: \d+ of \d+", repr(options))
    assert "<table>" in options._repr_html_()


def test_the_plot_joins_and_names_the_best(options):
    ax = options.plot()
    (line,) = [line for line in ax.lines if len(line.get_xdata()) == len(options.best)]
    np.testing.assert_array_equal(line.get_xdata(), [p.n_coefficients for p in options.best])
    names = [text.get_text() for text in ax.texts]
    assert options.best[-1].label in names
    assert ax.get_xscale() == "log"


# --- convert picks from it --------------------------------------------------------------------


@pytest.mark.study
def test_auto_and_auto_pick_the_smallest_that_reaches_the_target(housing, options):
    model, X = housing
    formula = n2p.convert(model, "auto", data=X, regions="auto", target_r2=0.85)
    chosen = smallest_close(options.points, 0.85)
    assert (formula.n_terms, len(formula.regions)) == (chosen.n_terms, chosen.regions)


def test_auto_and_auto_work_on_few_rows():
    X = np.random.default_rng(0).normal(size=(15, 2))
    net = n2p.Network([n2p.Layer([[1.0], [0.5]], None, "tanh"), n2p.Layer([[1.0]])])
    assert isinstance(n2p.convert(net, "auto", data=X, regions="auto"), n2p.Polynomial)


# --- what cannot be ---------------------------------------------------------------------------


def test_too_few_rows_are_refused_with_what_to_do():
    net = n2p.Network([n2p.Layer([[1.0]], None, "tanh"), n2p.Layer([[1.0]])])
    with pytest.raises(InvalidInputError, match="too small") as caught:
        n2p.frontier(net, [[float(i)] for i in range(12)])
    assert "convert" in caught.value.remedy


@pytest.mark.parametrize("given", [{"regions": ()}, {"regions": (0,)}, {"max_terms": ("a",)}])
def test_what_cannot_be_tried_is_refused(given):
    net = n2p.Network([n2p.Layer([[1.0]], None, "tanh"), n2p.Layer([[1.0]])])
    with pytest.raises(InvalidInputError):
        n2p.frontier(net, np.linspace(-1, 1, 60)[:, None], **given)


def test_batches_give_what_their_rows_give(housing):
    model, X = housing
    rows = X[:1500]
    asked = {"orders": (1,), "regions": (1, 2), "max_terms": ()}
    whole = n2p.frontier(model, rows, **asked)
    parts = n2p.frontier(model, [rows[:700], rows[700:]], **asked)
    assert [p.n_terms for p in parts.points] == [p.n_terms for p in whole.points]
    np.testing.assert_allclose([p.r2 for p in parts.points], [p.r2 for p in whole.points])
    assert parts.pick(r2=0.1).card is not None


def test_rows_of_one_group_never_judge_what_they_fitted(monkeypatch):
    """Near copies of the rows that were fitted are no new rows."""
    rng = np.random.default_rng(0)
    hidden = n2p.Layer(1.5 * rng.normal(size=(4, 10)), rng.normal(size=10), "relu")
    net = n2p.Network([hidden, n2p.Layer(rng.normal(size=(10, 1)))])
    groups = np.repeat(np.arange(30), 12)
    X = rng.normal(size=(30, 4))[groups] + 0.01 * rng.normal(size=(360, 4))
    asked = {"orders": (2,), "regions": (1,), "max_terms": ()}
    group_of = {tuple(row): group for row, group in zip(X, groups, strict=True)}
    real, seen = option_search.choice_problem, []

    def spied(problem):
        inner = real(problem)
        sides = inner.fit_rows.X, inner.summary.held_out
        seen.append([{group_of[tuple(row)] for row in rows} for rows in sides])
        return inner

    monkeypatch.setattr(option_search, "choice_problem", spied)
    grouped = n2p.frontier(net, X, groups=groups, **asked)
    assert all(fitted and kept and not fitted & kept for fitted, kept in seen)
    card = grouped.formula(grouped.points[0]).card
    assert card.n_units <= 30
    with pytest.raises(InvalidInputError, match="groups"):
        n2p.frontier(net, X, groups=groups[:7])


def test_bounds_of_single_columns_reach_what_is_tried_and_what_is_picked(housing):
    model, X = housing
    given = {"AveOccup": (1.0, 5.0)}
    found = n2p.frontier(model, X[:1500], orders=(1,), regions=(1,), max_terms=(), bounded=given)
    assert found.formula(found.points[0]).inputs.bounds()["AveOccup"] == (1.0, 5.0)
    with pytest.raises(InvalidInputError, match="no number 'nobody'"):
        n2p.frontier(model, X[:1500], bounded={"nobody": (0.0, 1.0)})
