"""The network's Taylor polynomial at a point beside the global polynomial."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.neural_network import MLPRegressor

import nn2poly as n2p
from nn2poly import explain
from nn2poly.errors import InvalidInputError


@pytest.fixture(name="trained", scope="module")
def fixture_trained():
    X = np.random.default_rng(0).normal(size=(300, 3)) * [1.0, 5.0, 0.1] + [0.0, 20.0, 1.0]
    frame = pd.DataFrame(X, columns=["age", "dose in mg", "rate"])
    y = X[:, 0] * (X[:, 1] - 20) / 5 + X[:, 2]
    net = MLPRegressor(hidden_layer_sizes=6, activation="tanh", solver="lbfgs", alpha=1.0)
    net.set_params(max_iter=5000, random_state=0).fit(frame, y)
    return net, n2p.convert(net, 3, data=frame), frame


def test_both_polynomials_keep_their_predictions(trained):
    net, poly, frame = trained
    row = frame.iloc[[5]]
    found = explain.compare_local(net, poly, row)
    np.testing.assert_allclose(found.everywhere.predict(frame), poly.predict(frame), rtol=1e-9)
    local = n2p.convert(net, 3, around=row)
    np.testing.assert_allclose(found.here.predict(frame), local.predict(frame), rtol=1e-9)


def test_the_first_row_is_the_value_at_the_point(trained):
    net, poly, frame = trained
    first = explain.compare_local(net, poly, frame.iloc[5]).table()[0]
    assert first[:2] == ("1", 0)
    np.testing.assert_allclose(first[2], poly.predict(frame.iloc[[5]])[0])
    np.testing.assert_allclose(first[3], net.predict(frame.iloc[[5]])[0])
    np.testing.assert_allclose(first[4], first[2] - first[3])


def test_linear_terms_are_slopes_times_the_scale(trained):
    net, poly, frame = trained
    x0 = frame.iloc[[7]]
    found = explain.compare_local(net, poly, x0)
    slopes = explain.gradients(poly, x0)[0, :, 0] * poly.scale
    linear = [found.terms.index((j,)) for j in range(3)]
    np.testing.assert_allclose(found.coefficients[0, linear, 0], slopes, rtol=1e-9, atol=1e-12)


def test_a_sparse_global_polynomial_and_another_local_order_align(trained):
    net, poly, frame = trained
    found = explain.compare_local(net, poly.prune(15), frame.iloc[0].to_numpy(), max_order=2)
    assert found.here.max_order == 2
    assert found.coefficients.shape == (2, len(found.terms), 1)
    cubic = [i for i, term in enumerate(found.terms) if len(term) == 3]
    assert cubic
    assert not found.coefficients[1, cubic].any()


def test_seven_outputs_are_compared_one_by_one(make_network):
    net = make_network(3, (4, 5, 7), spread=0.2)
    poly = n2p.convert(net, 2)
    found = explain.compare_local(net, poly, np.full(4, 0.1))
    assert found.difference.shape[1] == 7
    assert len(found.table(3, output="y7")) == 4
    assert "<table>" in found._repr_html_()


def test_a_constant_polynomial_is_compared_with_the_tangent(make_network):
    net = make_network(3, (2, 3, 1), spread=0.2)
    found = explain.compare_local(net, n2p.Polynomial([[1.0]], 0, ["x1", "x2"]), [0.0, 0.0])
    assert found.here.max_order == 1


def test_a_polynomial_of_another_model_is_refused(trained, make_network):
    net, poly, frame = trained
    with pytest.raises(InvalidInputError, match="does not belong to this network"):
        explain.compare_local(make_network(0, (3, 4, 2)), poly, [0.0, 0.0, 0.0])
    other = n2p.Polynomial(np.zeros((4, 1)), 1, ["age", "dose", "rate"])
    with pytest.raises(InvalidInputError, match="'dose in mg'"):
        explain.compare_local(net, other, frame.iloc[0])


def test_features_in_another_order_are_refused(trained):
    net, poly, frame = trained
    names = poly.feature_names[::-1]
    other = n2p.Polynomial(np.zeros((4, 1)), 1, names)
    with pytest.raises(InvalidInputError, match="another order"):
        explain.compare_local(net, other, frame.iloc[0])
