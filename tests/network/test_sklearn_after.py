"""A pipeline from one of its steps on: names, the trap of raw data, and what accepts it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    PowerTransformer,
    StandardScaler,
)

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, OutsideRangeWarning

RNG = np.random.default_rng(0)
X = pd.DataFrame({"income": np.exp(RNG.normal(9.0, 0.6, 200)), "age": RNG.uniform(18, 90, 200)})
Y = (np.cbrt(X.income) / 20 + X.age / 50).to_numpy()


def fitted(first, *, frame=True):
    network = MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", max_iter=40, random_state=0)
    model = Pipeline([("bend", first), ("scale", StandardScaler()), ("net", network)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X if frame else X.to_numpy(), Y)


NAMED = {
    "a function": (FunctionTransformer(np.cbrt), ("cbrt(income)", "cbrt(age)")),
    "with names of its own": (
        FunctionTransformer(np.cbrt, feature_names_out="one-to-one"), ("cbrt(income)", "cbrt(age)"),
    ),
    "powers": (PowerTransformer(), ("power(income)", "power(age)")),
    "bins": (
        KBinsDiscretizer(4, encode="ordinal", strategy="uniform"), ("bin(income)", "bin(age)"),
    ),
    "of one column": (
        make_column_transformer((FunctionTransformer(np.cbrt), ["income"]),
                                remainder="passthrough"),
        ("cbrt(income)", "remainder__age"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_names_after_a_function_of_columns_say_so(name):
    first, names = NAMED[name]
    assert n2p.read_network(fitted(first), after="bend").feature_names == names


def test_raw_data_where_transformed_data_belong_are_noticed_by_their_range():
    model = fitted(FunctionTransformer(np.cbrt), frame=False)
    bent = np.cbrt(X.to_numpy())
    poly = n2p.convert(model, 2, data=bent, after="bend")
    with pytest.warns(OutsideRangeWarning, match="look like raw data"):
        n2p.convert(model, 2, data=X.to_numpy(), after="bend")
    with pytest.warns(OutsideRangeWarning, match="after the step 'bend'"):
        n2p.fidelity(model, poly, X.to_numpy(), after="bend")
    # After the scaler, which knows what it gives.
    with pytest.warns(OutsideRangeWarning, match="around 0 ± 1"):
        n2p.convert(model, 1, data=bent, after="scale")


def test_raw_data_behind_a_logarithm_or_bins_are_noticed_without_a_scaler():
    for first in (FunctionTransformer(lambda x: 2 * np.log(x) + 3),
                  KBinsDiscretizer(5, encode="ordinal", strategy="uniform")):  # fmt: skip
        network = MLPRegressor(hidden_layer_sizes=(4,), max_iter=5, random_state=0)
        model = Pipeline([("bend", first), ("net", network)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X.to_numpy(), Y)
        n2p.convert(model, 1, data=model[:1].transform(X.to_numpy()), after="bend")
        with pytest.warns(OutsideRangeWarning, match="look like raw data"):
            n2p.convert(model, 1, data=X.to_numpy(), after="bend")


def test_a_frame_of_raw_columns_is_refused_by_name():
    model = fitted(FunctionTransformer(np.cbrt))
    with pytest.raises(InvalidInputError, match=r"cbrt\(income\)"):
        n2p.convert(model, 1, data=X, after="bend")


def test_what_compares_with_the_model_takes_the_same_step(tmp_path):
    model = fitted(FunctionTransformer(np.cbrt), frame=False)
    bent = np.cbrt(X.to_numpy())
    poly = n2p.convert(model, 2, data=bent, after="bend")
    card = n2p.fidelity(model, poly, bent, Y, after="bend")
    gap = poly.predict(bent) - model.predict(X.to_numpy())
    assert card.rmse == pytest.approx(np.sqrt(np.mean(gap**2)))
    assert n2p.sparse_path(model, poly, bent, 3, after="bend").r2[-1] > 0.5
    assert n2p.plots.diagonal(model, poly, bent, after="bend").get_xlabel() == "network"
    path = n2p.report(poly, model, bent, path=tmp_path / "r.html", after="bend")
    assert "Fidelity" in path.read_text(encoding="utf-8")
    with pytest.raises(InvalidInputError, match="no step"):
        n2p.fidelity(model, poly, bent, after="bent")
