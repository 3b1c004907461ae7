"""What `convert` refuses: an error of ours, with its substance, before the algebra starts."""

import tracemalloc
from math import comb

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import nn2poly as n2p
from nn2poly.errors import (
    InvalidInputError,
    InvalidNetworkError,
    NN2PolyError,
    NoSeriesError,
    TooManyTermsError,
    UnsupportedModelError,
)
from nn2poly.inputs import Column, Inputs


@pytest.fixture(autouse=True)
def algebra_never_starts(monkeypatch):
    """All checking is done before anything is expanded."""

    def started(*_):
        pytest.fail("the algebra started before the input was refused")

    for name in ("term_blocks", "expand_layers", "predict_rays", "ray_parts"):
        monkeypatch.setattr(f"nn2poly.factored.polynomial_network.{name}", started)


@pytest.fixture
def network():
    return n2p.Network(
        [n2p.Layer([[0.5, 0.1], [0.2, -0.3]], [0.0, 0.1], "tanh"), n2p.Layer([[1.0], [0.5]])]
    )


def refused(kind, model, *args, **options):
    """Give the error of a conversion, for both verbs alike."""
    errors = []
    for verb in (n2p.convert, n2p.polynomial_network):
        with pytest.raises(NN2PolyError) as caught:
            verb(model, *args, **options)
        assert type(caught.value) is kind
        errors.append(caught.value)
    assert str(errors[0]) == str(errors[1])
    return errors[0]


def assert_says(error, *substance):
    for part in substance:
        assert part in str(error), f"{part!r} is not in: {error}"


def pairs(*matrices, activation="tanh"):
    return [(activation, np.array(matrix)) for matrix in matrices]


# ---- weights -------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("layer", [1, 2])
@pytest.mark.parametrize(("row", "part"), [(0, "bias"), (2, "weights")])
def test_weights_that_are_not_finite_are_refused_with_their_place(bad, layer, row, part):
    matrices = [np.ones((3, 2)), np.ones((3, 2))]
    matrices[layer - 1][row, 1] = bad
    error = refused(InvalidNetworkError, pairs(*matrices), 2)
    place = "[1]" if part == "bias" else "[1, 1]"
    assert error.where == f"layer {layer}, {part}{place}"
    assert_says(error, f"{part} of layer {layer}", "NaN or infinite", "1 of", str(bad), "remedy")


def test_a_skip_that_is_not_finite_is_refused_with_its_place():
    layers = [
        n2p.Layer(np.ones((2, 2)), None, "tanh"),
        n2p.Layer(np.ones((2, 1)), None, "linear", {0: [[1.0], [np.nan]]}),
    ]
    with pytest.raises(InvalidNetworkError, match="skip from 0 of layer 2") as caught:
        n2p.Network(layers)
    assert caught.value.where == "layer 2, skip from 0[1, 0]"


def test_shapes_that_do_not_chain_are_refused_with_both_layers():
    error = refused(InvalidNetworkError, pairs(np.ones((3, 4)), np.ones((4, 1))), 2)
    assert error.where == "between layer 1 and layer 2"
    assert error.expected == "weights of shape (4, 1)"
    assert error.found == "shape (3, 1)"
    assert_says(error, "transpose")


def test_a_bias_that_does_not_fit_is_refused_with_its_layer():
    layers = [n2p.Layer(np.ones((2, 3)), None, "tanh"), n2p.Layer(np.ones((3, 2)), [1.0])]
    with pytest.raises(InvalidNetworkError, match="bias of layer 2") as caught:
        n2p.Network(layers)
    assert (caught.value.where, caught.value.found) == ("layer 2", "shape (1,)")
    assert_says(caught.value, "(2,)")


@pytest.mark.parametrize("source", [-1, 2, 7])
def test_a_skip_from_nowhere_is_refused(source):
    layers = [
        n2p.Layer(np.ones((2, 2)), None, "tanh"),
        n2p.Layer(np.ones((2, 1)), None, "linear", {source: np.ones((2, 1))}),
    ]
    with pytest.raises(InvalidNetworkError, match=f"Layer 2 .* from layer {source}") as caught:
        n2p.Network(layers)
    assert_says(caught.value, "from 0 (the input) to 1")


def test_a_skip_of_the_wrong_shape_is_refused_with_both_ends():
    layers = [
        n2p.Layer(np.ones((3, 2)), None, "tanh"),
        n2p.Layer(np.ones((2, 1)), None, "linear", {0: np.ones((2, 1))}),
    ]
    with pytest.raises(InvalidNetworkError, match="does not fit the input") as caught:
        n2p.Network(layers)
    assert_says(caught.value, "between the input and layer 2", "(3, 1)", "(2, 1)")


@pytest.mark.parametrize(
    ("matrix", "dtype"),
    [
        ([[1j], [2.0]], "complex128"),
        ([[None], [2.0]], "object"),
        ([["a"], ["b"]], "<U1"),
    ],
)
def test_weights_that_are_not_real_numbers_are_refused(matrix, dtype):
    error = refused(InvalidNetworkError, [("tanh", matrix)], 2)
    assert_says(error, "weights", "real numbers", dtype)
    with pytest.raises(InvalidNetworkError, match=dtype):
        n2p.Layer(matrix)


@pytest.mark.parametrize("matrix", [[1.0, 2.0], [[1.0]], 3.0, np.ones((2, 2, 2)), np.ones((3, 0))])
def test_what_is_not_a_matrix_with_a_bias_row_is_refused(matrix):
    error = refused(InvalidNetworkError, [("tanh", matrix)], 2)
    assert_says(error, f"shape {np.shape(matrix)}" if np.size(matrix) else "0")


def test_rows_of_different_lengths_are_refused():
    error = refused(InvalidNetworkError, [("tanh", [[1.0, 2.0], [3.0]])], 2)
    assert_says(error, "layer 1")


@pytest.mark.parametrize("model", [[], ()])
def test_an_empty_list_is_refused(model):
    assert_says(refused(InvalidNetworkError, model, 2), "at least one layer", "remedy")


@pytest.mark.parametrize("entry", ["tanh", 3, ("tanh",), ("tanh", [[1.0]], 2), {"tanh": 1}])
def test_an_entry_that_is_not_a_pair_is_refused_with_its_place(entry):
    error = refused(InvalidNetworkError, [("tanh", np.ones((3, 2))), entry], 2)
    assert error.where == "entry 2"
    assert_says(error, "pair", type(entry).__name__)


# ---- models --------------------------------------------------------------------------------


class Forest:
    """A model that is no network."""


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (Forest(), "Forest"),
        (Forest, "builtins.type"),
        (None, "NoneType"),
        ({"weights": 1}, "builtins.dict"),
        (np.ones((3, 1)), "numpy.ndarray"),
        (pd.DataFrame(), "DataFrame"),
    ],
)
def test_a_model_of_another_kind_is_refused_by_the_name_of_its_class(model, name):
    error = refused(UnsupportedModelError, model, 2)
    assert name in error.found
    assert_says(error, "nn2poly.Network", "remedy")


@pytest.mark.parametrize(
    ("name", "near"), [("thanh", "tanh"), ("sigmod", "sigmoid"), ("soft-plus2", "softplus")]
)
def test_an_unknown_activation_is_refused_with_those_that_are_near(name, near):
    error = refused(InvalidInputError, pairs(np.ones((3, 1)), activation=name), 2)
    assert_says(error, "Unknown activation", repr(name), f"did you mean {near!r}")


def test_an_activation_like_no_other_is_refused_with_the_whole_table():
    error = refused(InvalidInputError, pairs(np.ones((3, 1)), activation="qqq"), 2)
    assert_says(error, "'qqq'", "arctan", "tanh", "softplus")
    assert "did you mean" not in str(error)


def test_softmax_inside_a_network_is_refused():
    model = [("softmax", np.ones((3, 2))), ("linear", np.ones((3, 1)))]
    assert_says(refused(InvalidInputError, model, 2), "'softmax'", "Unknown activation")


# ---- max_order -----------------------------------------------------------------------------


@pytest.mark.parametrize("order", [0, -1, 101, 10**9, -(10**30), np.int64(0)])
def test_an_order_out_of_range_is_refused(network, order):
    error = refused(InvalidInputError, network, order)
    assert error.where == "max_order"
    assert_says(error, "out of range", "1 to 100")


@pytest.mark.parametrize("order", [True, False, 2.0, 2.5, np.nan, "2", [2], np.True_])
def test_an_order_that_is_no_integer_is_refused(network, order):
    error = refused(InvalidInputError, network, order)
    assert error.where == "max_order"
    assert_says(error, "must be an integer", type(order).__name__)


@pytest.mark.parametrize("table", [np.array, pd.DataFrame, pl.DataFrame, torch.tensor])
@pytest.mark.parametrize("convert", [n2p.convert, n2p.polynomial_network])
def test_data_in_the_place_of_the_order_are_told_their_name(network, table, convert):
    X = table([[0.1, 0.2], [0.3, 0.4]])
    with pytest.raises(InvalidInputError, match="data stand in the place of the order") as caught:
        convert(network, X)
    assert type(X).__name__ in caught.value.found
    assert "data=X" in caught.value.remedy


def test_the_order_is_checked_before_the_model():
    assert refused(InvalidInputError, Forest(), 0).where == "max_order"


@pytest.fixture
def wide():
    rng = np.random.default_rng(0)
    weights = rng.normal(0, 1e-4, (2000, 5))
    return n2p.Network([n2p.Layer(weights, None, "tanh"), n2p.Layer(np.ones((5, 2)))])


@pytest.mark.parametrize("keep_layers", [False, True])
def test_too_many_terms_are_refused_before_anything_is_allocated(wide, keep_layers):
    tracemalloc.start()
    with pytest.raises(TooManyTermsError) as caught:
        n2p.convert(wide, 6, keep_layers=keep_layers)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    error = caught.value
    assert peak < 2e6
    assert error.n_terms == comb(2006, 6)
    assert error.n_bytes >= 8 * 2 * comb(2006, 6)
    assert_says(error, "order 6", "2,000 inputs", "9.0e+16 terms", "EB", "is available")
    assert_says(error, "lower max_order", "polynomial_network")


def test_too_many_terms_are_refused_in_one_sentence(wide):
    with pytest.raises(TooManyTermsError) as caught:
        n2p.convert(wide, 6)
    sentence = caught.value.what
    assert sentence.startswith("A polynomial of order 6 in 2,000 inputs")
    assert ". has" not in sentence
    assert isinstance(caught.value, MemoryError)


def test_the_factored_form_of_too_many_terms_is_not_refused(wide):
    assert n2p.polynomial_network(wide, 6).n_terms == comb(2006, 6)


@pytest.mark.parametrize("order", [50, 100])
def test_an_order_that_no_machine_holds_is_refused_without_counting_in_floats(wide, order):
    with pytest.raises(TooManyTermsError) as caught:
        n2p.convert(wide, order)
    assert caught.value.n_terms == comb(2000 + order, order)


# ---- method, around ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "near"), [("tailor", "taylor"), ("Taylor", "taylor"), ("locale", "local")]
)
def test_an_unknown_method_is_refused_with_the_one_that_is_near(network, method, near):
    error = refused(InvalidInputError, network, 2, method=method)
    assert error.where == "method"
    assert_says(error, "Unknown method", repr(method), f"did you mean {near!r}", "'auto'")


@pytest.mark.parametrize("method", [None, 1, "qqq", b"taylor"])
def test_a_method_like_no_other_is_refused_with_all_of_them(network, method):
    assert_says(refused(InvalidInputError, network, 2, method=method), "'taylor'", "'local'")


@pytest.mark.parametrize("verb", [n2p.convert, n2p.polynomial_network])
@pytest.mark.parametrize("keyword", ["max_ordr", "taylor_orders", "arround", "nonsense"])
def test_a_misspelt_keyword_is_refused(network, verb, keyword):
    with pytest.raises(TypeError, match=keyword):
        verb(network, **{keyword: 2})


def test_options_are_given_by_name(network):
    with pytest.raises(TypeError, match="positional"):
        n2p.convert(network, 2, np.zeros((3, 2)))


def test_a_local_polynomial_without_a_point_is_refused(network):
    error = refused(InvalidInputError, network, 2, method="local")
    assert_says(error, 'method="local" with around=x0', "around=None")


def test_a_point_with_another_method_is_refused(network):
    error = refused(InvalidInputError, network, 2, method="taylor", around=[0.0, 0.0])
    assert_says(error, "'taylor'", "go together")


@pytest.mark.parametrize("around", [[0.1], [0.1, 0.2, 0.3], 0.5, [[1.0]]])
def test_a_point_of_the_wrong_length_is_refused(network, around):
    error = refused(InvalidInputError, network, 2, around=around)
    assert error.where == "around"
    assert_says(error, "2 columns", f"{np.size(around)} column")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_point_that_is_not_finite_is_refused(network, bad):
    error = refused(InvalidInputError, network, 2, around=[0.0, bad])
    assert error.where == "around"
    assert_says(error, "NaN or infinite", "column 1")


@pytest.mark.parametrize("around", [["a", "b"], [1j, 0.0], [None, 1.0]])
def test_a_point_that_is_not_real_is_refused(network, around):
    assert_says(refused(InvalidInputError, network, 2, around=around), "not real numbers")


def test_several_points_are_refused(network):
    assert_says(refused(InvalidInputError, network, 2, around=np.zeros((3, 2))), "3 rows")


def test_points_of_different_lengths_are_refused(network):
    assert refused(InvalidInputError, network, 2, around=[[1.0], [2.0, 3.0]]).where == "around"


def test_a_frame_without_the_columns_is_refused(network):
    named = network.named(["rm", "age"])
    row = pd.DataFrame({"rm": [1.0], "agee": [2.0]})
    error = refused(InvalidInputError, named, 2, around=row)
    assert_says(error, "'age'", "'agee' for 'age'")


# ---- series --------------------------------------------------------------------------------


def test_relu_has_no_series_and_the_error_names_activation_layer_and_remedy():
    model = [("tanh", np.full((3, 2), 0.1)), ("relu", np.full((3, 2), 0.1))]
    for method in ("taylor", "auto"):
        error = refused(NoSeriesError, model, 2, method=method)
        assert error.where == "layer 2 (relu)"
        assert_says(error, "relu has no Taylor series", "0.0", "data=X", "around=x0")


@pytest.mark.parametrize(
    ("name", "center"),
    [("leaky_relu", 0.0), ("elu", 0.0), ("hard_tanh", 1.0), ("relu6", 6.0), ("softsign", 0.0)],
)
def test_a_series_at_a_kink_is_refused(name, center):
    model = pairs(np.full((3, 1), 0.1), activation=name)
    error = refused(NoSeriesError, model, 2, taylor_center=center)
    assert_says(error, name, f"none at {center}", "layer 1")


def test_a_function_of_the_users_has_no_series():
    model = pairs(np.full((3, 1), 0.1), activation=np.cbrt)
    assert_says(refused(NoSeriesError, model, 2), "cbrt", "layer 1", "custom function")


def test_a_function_of_the_users_is_not_known_by_its_name():
    def linear(x):
        return 2.0 * x

    model = pairs(np.full((3, 1), 0.1), activation=linear)
    refused(NoSeriesError, model, 2, around=[0.0, 0.0])
    refused(NoSeriesError, model, 2)


@pytest.mark.parametrize("orders", [[8], [8, 8, 8], []])
def test_as_many_taylor_orders_as_layers_are_expected(network, orders):
    error = refused(InvalidInputError, network, 2, taylor_order=orders)
    assert_says(error, "taylor_order", "2 of them", f"{len(orders)} of them", "output included")


@pytest.mark.parametrize("order", [0, -3, 101, True, "8", 2.5, None, [8, 0], [8, 2.5], [8, None]])
def test_a_taylor_order_that_is_no_order_is_refused(network, order):
    error = refused(InvalidInputError, network, 2, taylor_order=order)
    assert_says(error, "taylor_order", "1 to 100")


@pytest.mark.parametrize("center", [np.nan, np.inf, "0", None, 1j, [0.0]])
def test_a_taylor_centre_that_is_no_finite_number_is_refused(network, center):
    error = refused(InvalidInputError, network, 2, taylor_center=center)
    assert_says(error, "taylor_center", "finite number", repr(center))


@pytest.mark.parametrize("center", [True, np.complex128(1.0), pytest.param(10**400, id="10**400")])
def test_a_taylor_centre_that_is_no_float_is_refused(network, center):
    assert_says(refused(InvalidInputError, network, 2, taylor_center=center), "taylor_center")


# ---- data and names ------------------------------------------------------------------------


@pytest.mark.parametrize("n_columns", [1, 3])
def test_data_with_the_wrong_number_of_columns_are_refused(network, n_columns):
    error = refused(InvalidInputError, network, 2, data=np.zeros((5, n_columns)))
    assert_says(error, "wrong number of columns", "2 columns", f"{n_columns} column")


def test_predictions_on_the_wrong_number_of_columns_are_refused(network):
    pnet = n2p.polynomial_network(network, 2)
    with pytest.raises(InvalidInputError, match="wrong number of columns"):
        pnet.predict(np.zeros((5, 3)))


def test_a_frame_with_a_column_too_many_is_refused_for_its_columns(network):
    frame = pd.DataFrame({"rm": [1.0], "age": [2.0], "price": [3.0]})
    error = refused(InvalidInputError, network, 2, data=frame)
    assert_says(error, "2", "3")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_data_that_are_not_finite_are_refused_with_their_place(network, bad):
    X = np.zeros((5, 2))
    X[3, 1] = bad
    error = refused(InvalidInputError, network, 2, data=X)
    assert_says(error, "NaN or infinite", "row 3", "column 1")


@pytest.mark.parametrize(
    ("option", "names"),
    [
        ("feature_names", ["a"]),
        ("feature_names", ["a", "a"]),
        ("feature_names", "ab"),
        ("output_names", ["u", "v"]),
        ("output_names", [""]),
    ],
)
def test_names_that_cannot_be_used_are_refused(network, option, names):
    assert refused(InvalidInputError, network, 2, **{option: names}).where == option


# ---- nothing half-done ---------------------------------------------------------------------


def test_a_refused_conversion_leaves_the_model_as_it_was(network):
    before = [(layer.weights.copy(), layer.bias.copy()) for layer in network.layers]
    refused(InvalidInputError, network, 2, feature_names=["a"])
    refused(InvalidInputError, network, 2, around=[np.nan, 0.0])
    assert network.feature_names is None
    for layer, (weights, bias) in zip(network.layers, before, strict=True):
        np.testing.assert_array_equal(layer.weights, weights)
        np.testing.assert_array_equal(layer.bias, bias)


def test_weights_are_copied_and_cannot_be_changed():
    weights = np.ones((2, 1))
    layer = n2p.Layer(weights)
    weights[0] = np.nan
    assert np.isfinite(layer.weights).all()
    with pytest.raises(ValueError, match="read-only"):
        layer.weights[0] = np.nan


@pytest.mark.parametrize("levels", [1_000, 1_001])
def test_a_factor_of_too_many_levels_is_refused_before_its_rows_are_read(levels):
    shop = Column.factor("shop", [f"s{i}" for i in range(levels)])
    network = n2p.Network([n2p.Layer(np.ones((levels, 1)))], inputs=Inputs((shop,)))
    table = pd.DataFrame({"shop": ["no such level"]})
    words = "too many levels" if levels > 1_000 else "does not know"
    with pytest.raises(InvalidInputError, match=words):
        n2p.convert(network, 1, data=table, check=False)
