"""A factor of a OneHotEncoder is one column: in the formula, its file, its card, its plots."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import nn2poly as n2p
from nn2poly import plots
from nn2poly.errors import InvalidInputError, UnknownTermError

mpl.use("agg")
JOBS = ("clerk", "farmer", "nurse")

# What is drawn matters here, not how close the formulas are.
pytestmark = pytest.mark.filterwarnings("ignore::nn2poly.errors.MixedRowsWarning")


@pytest.fixture(scope="module")
def people():
    """Give a table whose farmers have a wave in their age, which order 2 cannot follow."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.normal(40.0, 10.0, 600),
            "job": rng.choice(JOBS, 600, p=[0.4, 0.2, 0.4]),
            "smoker": rng.integers(0, 2, 600),
        }
    )
    wave = 3.0 * np.sin((X.age - 40.0) / 4.0)
    return X, np.where(X.job == "farmer", wave, 0.02 * X.age) + X.smoker


@pytest.fixture(scope="module")
def model(people):
    columns = make_column_transformer(
        (StandardScaler(), ["age"]), (OneHotEncoder(), ["job"]), remainder="passthrough"
    )
    mlp = MLPRegressor(hidden_layer_sizes=(20,), solver="lbfgs", max_iter=2000, random_state=0)
    return make_pipeline(columns, mlp).fit(*people)


@pytest.fixture(scope="module")
def poly(model, people):
    return n2p.convert(model, 2, data=people[0])


def test_the_formula_and_its_file_have_one_column(poly, tmp_path):
    poly.save(tmp_path / "poly.json")
    for inputs in (poly.inputs, n2p.load(tmp_path / "poly.json").inputs):
        kinds = [(column.name, column.kind, column.levels) for column in inputs.columns]
        assert kinds == [("age", "number", ()), ("job", "factor", JOBS), ("smoker", "binary", ())]


def test_the_card_calls_a_level_by_its_column(model, poly, people):
    card = n2p.fidelity(model, poly, people[0])
    assert card.regions
    assert all(region.description.startswith("job is farmer") for region in card.regions)


def test_the_card_of_a_report_calls_it_so_too(model, poly, people, tmp_path):
    page = n2p.report(poly, model, people[0], path=tmp_path / "page.html")
    text = (page or tmp_path / "page.html").read_text(encoding="utf-8")
    assert "job is farmer" in text
    assert "job=farmer >" not in text


def test_an_effect_has_a_dot_for_each_level(poly, people):
    X, axes = people[0], plots.effects(poly, "job", X=people[0])
    assert axes.get_xlabel() == "job"
    assert [label.get_text() for label in axes.get_xticklabels()] == list(JOBS)
    expected = [poly.predict(X.assign(job=job)).mean() for job in JOBS]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), expected, rtol=1e-9)
    shares = [bar.get_height() for bar in axes.patches]
    assert np.argmin(shares) == JOBS.index("farmer")


def test_without_names_a_factor_is_drawn_once(poly, people):
    labels = [axes.get_xlabel().split("\n")[0] for axes in plots.effects(poly, X=people[0])]
    assert sorted(labels) == ["age", "job", "smoker"]


def test_one_level_is_drawn_with_the_others_of_its_factor(poly, people):
    axes = plots.effects(poly, "job=farmer", X=people[0])
    assert axes.get_xlabel() == "job"
    assert axes.lines[0].get_xdata().tolist() == [0, 1, 2]


def test_levels_need_rows_and_a_factor_has_no_index(poly, people):
    with pytest.raises(InvalidInputError, match="levels of 'job' need data"):
        plots.effects(poly, "job")
    with pytest.raises(UnknownTermError, match="0 to 4"):
        plots.effects(poly, 5, X=people[0])
    with pytest.raises(UnknownTermError, match="did you mean 'job'"):
        plots.effects(poly, "jobb", X=people[0])


def test_a_level_that_the_conversion_did_not_see_is_grey(model, people):
    X = people[0]
    poly = n2p.convert(model, 1, data=X[X.job != "nurse"])
    grey = [patch for patch in plots.effects(poly, "job", X=X).patches if patch.get_width() == 1]
    assert [patch.get_x() for patch in grey] == [JOBS.index("nurse") - 0.5]
