"""The table of activations: values against torch, series against mpmath, radii, images, errors."""

from __future__ import annotations

import copy
import math
import pickle
import time
import warnings
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from nn2poly.errors import InvalidInputError, NoSeriesError
from nn2poly.network.activations import ACTIVATIONS, Activation, activation, activation_names
from nn2poly.network.erf import erf

mp = mpmath.mp

# ---- references: one torch and one mpmath definition for each entry of the table ----------


def mp_sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def mp_gelu_tanh(x: Any) -> Any:
    return x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3)))


def mp_exponential_unit(slope: float, amplitude: float, rate: float) -> Callable[[Any], Any]:
    return lambda x: slope * x if x > 0 else amplitude * mp.expm1(rate * x)


def mp_clipped(low: float, high: float) -> Callable[[Any], Any]:
    return lambda x: min(max(x, mp.mpf(low)), mp.mpf(high))


SELU = 1.0507009873554805, 1.6732632423543772

TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "arctan": torch.arctan,
    "celu": F.celu,
    "elu": F.elu,
    "exp": torch.exp,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "hard_sigmoid": F.hardsigmoid,
    "hard_tanh": F.hardtanh,
    "leaky_relu": F.leaky_relu,
    "linear": lambda x: x,
    "log_sigmoid": F.logsigmoid,
    "mish": F.mish,
    "relu": F.relu,
    "relu6": F.relu6,
    "selu": F.selu,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "sin": torch.sin,
    # torch drops the logarithm beyond its threshold of 20, an error of 2e-9 that we do not copy
    "softplus": lambda x, beta=1.0: F.softplus(x, beta, threshold=500.0),
    "softsign": F.softsign,
    "tanh": torch.tanh,
}

MPMATH: dict[str, Callable[..., Callable[[Any], Any]]] = {
    "arctan": lambda: mp.atan,
    "celu": lambda alpha=1.0: mp_exponential_unit(1, alpha, 1 / mp.mpf(alpha)),
    "elu": lambda alpha=1.0: mp_exponential_unit(1, alpha, 1),
    "exp": lambda: mp.exp,
    "gelu": lambda: lambda x: x * mp.ncdf(x),
    "gelu_tanh": lambda: mp_gelu_tanh,
    "hard_sigmoid": lambda: lambda x: mp_clipped(0, 6)(x + 3) / 6,
    "hard_tanh": lambda min_val=-1.0, max_val=1.0: mp_clipped(min_val, max_val),
    "leaky_relu": lambda negative_slope=0.01: lambda x: x if x > 0 else negative_slope * x,
    "linear": lambda: lambda x: x,
    "log_sigmoid": lambda: lambda x: -mp.log1p(mp.exp(-x)),
    "mish": lambda: lambda x: x * mp.tanh(mp.log1p(mp.exp(x))),
    "relu": lambda: lambda x: max(x, mp.mpf(0)),
    "relu6": lambda: mp_clipped(0, 6),
    "selu": lambda: mp_exponential_unit(SELU[0], mp.mpf(SELU[0]) * SELU[1], 1),
    "sigmoid": lambda: mp_sigmoid,
    "silu": lambda: lambda x: x * mp_sigmoid(x),
    "sin": lambda: mp.sin,
    "softplus": lambda beta=1.0: lambda x: mp.log1p(mp.exp(beta * x)) / beta,
    "softsign": lambda: lambda x: x / (1 + abs(x)),
    "tanh": lambda: mp.tanh,
}

VARIANTS: list[tuple[str, dict[str, float]]] = [
    ("celu", {"alpha": 0.5}),
    ("elu", {"alpha": 1.7}),
    ("hard_tanh", {"min_val": -0.25, "max_val": 2.0}),
    ("leaky_relu", {"negative_slope": 0.2}),
    ("leaky_relu", {"negative_slope": -0.5}),
    ("softplus", {"beta": 2.5}),
]
CASES = [(name, {}) for name in activation_names()] + VARIANTS
every_case = pytest.mark.parametrize(
    ("name", "parameters"), CASES, ids=[f"{name}{list(p.values()) or ''}" for name, p in CASES]
)

# Order of the highest derivative that exists at each kink.
KINKS: dict[str, tuple[tuple[float, ...], int]] = {
    "celu": ((0.0,), 1),
    "elu": ((0.0,), 1),
    "hard_sigmoid": ((-3.0, 3.0), 0),
    "hard_tanh": ((-1.0, 1.0), 0),
    "leaky_relu": ((0.0,), 0),
    "relu": ((0.0,), 0),
    "relu6": ((0.0, 6.0), 0),
    "selu": ((0.0,), 0),
    "softsign": ((0.0,), 1),
}
ENTIRE = {"exp", "gelu", "linear", "sin"}
CENTERS = np.array([-6.3, -2.2, -0.7, 0.13, 0.9, 2.4, 5.5])
WIDE = np.concatenate(
    [np.linspace(-30, 30, 2401), [-1e4, -1e3, -50, 50, 1e3, 1e4], [-1e-9, 1e-300]]
)


def test_every_entry_of_the_table_has_references() -> None:
    assert set(TORCH) == set(MPMATH) == set(ACTIVATIONS) == set(activation_names())
    assert activation_names() == tuple(sorted(activation_names()))
    with_parameters = {name for name in ACTIVATIONS if activation(name).parameters}
    assert with_parameters == {name for name, _ in VARIANTS}


# ---- values ------------------------------------------------------------------------------


@every_case
def test_values_agree_with_torch_far_out_and_without_warnings(
    name: str, parameters: dict[str, float]
) -> None:
    potential = WIDE.copy()
    found = activation(name, **parameters)(potential)
    expected = TORCH[name](torch.tensor(WIDE), **parameters).numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-15, atol=2e-15)
    np.testing.assert_array_equal(potential, WIDE)


@every_case
def test_any_shape_goes_in_and_comes_out(name: str, parameters: dict[str, float]) -> None:
    act = activation(name, **parameters)
    table = np.linspace(-2, 2, 24).reshape(2, 3, 4)
    assert act(table).dtype == np.float64
    np.testing.assert_array_equal(act(table).ravel(), act(table.ravel()))
    np.testing.assert_array_equal(act(table.T), act(table).T)
    assert act(0.5).shape == ()
    assert act([]).shape == (0,)
    assert not np.shares_memory(act(table), table)


@pytest.mark.parametrize("name", ["sigmoid", "softplus", "silu", "mish", "gelu_tanh"])
def test_left_tails_keep_relative_accuracy(name: str) -> None:
    points = np.array([-5.0, -9.0, -20.0, -35.0, -100.0])
    points = points[:2] if name == "gelu_tanh" else points
    with mp.workdps(80):
        expected = np.array([float(MPMATH[name]()(mp.mpf(x))) for x in points])
    np.testing.assert_allclose(activation(name)(points), expected, rtol=5e-14)


def test_exp_is_infinite_beyond_the_range_of_floats_as_in_torch() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert activation("exp")(1e4) == np.inf
    with pytest.raises(NoSeriesError, match=r"none at 10000\.0"):
        activation("exp").taylor(1e4, 200)


# ---- erf ---------------------------------------------------------------------------------


def test_erf_agrees_with_the_c_library() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.uniform(-7, 7, 40_000), np.arange(-8, 8, 1 / 256)])
    expected = np.array([math.erf(x) for x in points])
    assert np.abs(erf(points) - expected).max() <= 2e-16
    assert np.abs(erf(points)).max() <= 1.0


def test_erf_keeps_relative_accuracy_near_zero() -> None:
    points = np.geomspace(1e-300, 1.0, 5_000)
    expected = np.array([math.erf(x) for x in points])
    np.testing.assert_allclose(erf(points), expected, rtol=5e-16)


def test_erf_takes_infinities_nan_signed_zero_and_empty_input() -> None:
    found = erf([-np.inf, -1e300, -0.0, 0.0, np.inf, np.nan])
    np.testing.assert_array_equal(found, [-1.0, -1.0, -0.0, 0.0, 1.0, np.nan])
    assert np.signbit(found[2])
    assert erf(np.empty((0, 3))).shape == (0, 3)


def test_erf_is_far_faster_than_one_call_per_element() -> None:
    points = np.random.default_rng(1).uniform(-4, 4, 200_000)
    erf(points[:1])  # builds the table

    def seconds(function: Callable[[Any], Any]) -> float:
        start = time.perf_counter()
        function(points)
        return time.perf_counter() - start

    ours = min(seconds(erf) for _ in range(5))
    loops = min(seconds(np.vectorize(math.erf)) for _ in range(2))
    assert ours < loops / 2


# ---- series ------------------------------------------------------------------------------


@every_case
def test_series_agree_with_mpmath_to_order_12(name: str, parameters: dict[str, float]) -> None:
    found = activation(name, **parameters).taylor(CENTERS, 12)
    function = MPMATH[name](**parameters)
    with mp.workdps(60):
        expected = np.array([[float(a) for a in mp.taylor(function, c, 12)] for c in CENTERS]).T
    assert found.shape == (13, CENTERS.size)
    # The left tail of gelu, x·(1 + erf)/2, is accurate absolutely, not relatively.
    floor = 1e-3 if name == "gelu" else 1e-300
    scale = np.maximum(np.abs(expected).max(axis=0), floor)
    assert (np.abs(found - expected) / scale).max() < 1e-12


@pytest.mark.parametrize("name", sorted(set(ACTIVATIONS) - set(KINKS)))
def test_smooth_activations_have_their_series_at_zero(name: str) -> None:
    with mp.workdps(60):
        expected = np.array([float(a) for a in mp.taylor(MPMATH[name](), 0, 12)])
    found = activation(name).taylor(0.0, 12)[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-16)


@every_case
def test_lower_orders_are_the_first_rows_of_higher_ones(
    name: str, parameters: dict[str, float]
) -> None:
    act = activation(name, **parameters)
    full = act.taylor(CENTERS, 9)
    for order in range(9):
        np.testing.assert_allclose(act.taylor(CENTERS, order), full[: order + 1], rtol=1e-14)
    np.testing.assert_allclose(full[0], act(CENTERS), rtol=1e-14, atol=1e-16)


@every_case
def test_series_stay_finite_at_large_centres_and_orders(
    name: str, parameters: dict[str, float]
) -> None:
    centers = np.array([-1e4, -700.0, -40.0, 40.0, 700.0, 1e4])
    centers = centers[:-1] if name == "exp" else centers
    assert np.isfinite(activation(name, **parameters).taylor(centers, 60)).all()


def test_tails_of_the_tanh_series_do_not_cancel_to_zero() -> None:
    with mp.workdps(60):
        expected = np.array([float(a) for a in mp.taylor(mp.tanh, 25, 8)])
    np.testing.assert_allclose(activation("tanh").taylor(25.0, 8)[:, 0], expected, rtol=1e-13)


@pytest.mark.parametrize("name", sorted(KINKS))
def test_kinks_have_the_derivatives_that_exist_and_no_series_above(name: str) -> None:
    act, (kinks, smooth) = activation(name), KINKS[name]
    assert act.series is not None
    for kink in kinks:
        rows = act.taylor([kink], smooth)[:, 0]
        step = 1e-6
        slopes = (act(kink + step) - act(kink - step)) / (2 * step)
        np.testing.assert_allclose(rows, [act(kink), slopes][: smooth + 1], atol=1e-6)
        assert np.isnan(act.series(np.array([kink]), smooth + 3)[smooth + 1 :]).all()
        with pytest.raises(NoSeriesError, match=f"none at {kink}"):
            act.taylor([0.4, kink], smooth + 1)
        assert act.radius(np.array([kink])) == 0.0


def test_only_the_neurons_at_a_kink_lack_a_series() -> None:
    act = activation("relu")
    assert act.series is not None
    found = act.series(np.array([-1.0, 0.0, 2.0]), 2)
    np.testing.assert_array_equal(found, [[0, 0, 2], [0, np.nan, 1], [0, np.nan, 0]])


@pytest.mark.parametrize("name", ["hard_tanh", "hard_sigmoid"])
def test_hard_activations_have_a_series_at_zero(name: str) -> None:
    act = activation(name)
    slope = {"hard_tanh": 1.0, "hard_sigmoid": 1 / 6}[name]
    np.testing.assert_allclose(act.taylor(0.0, 3)[:, 0], [act(0.0), slope, 0.0, 0.0])


def test_parameters_that_remove_a_kink_remove_it() -> None:
    line = activation("leaky_relu", negative_slope=1.0)
    assert line.taylor(0.0, 2).ravel().tolist() == [0.0, 1.0, 0.0]
    assert line.radius(np.zeros(1)) == np.inf
    with pytest.raises(NoSeriesError):
        activation("elu", alpha=1.5).taylor(0.0, 1)
    np.testing.assert_array_equal(activation("celu", alpha=0.3).taylor(0.0, 1), [[0.0], [1.0]])


@pytest.mark.parametrize(
    ("center", "order", "message"),
    [
        (np.nan, 2, "finite centres"),
        ([0.0, np.inf], 2, "finite centres"),
        ([[0.0]], 2, "finite centres"),
        (0.0, -1, "0 or more"),
        (0.0, 2.5, "0 or more"),
    ],
)
def test_bad_centres_and_orders_are_refused(center: Any, order: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        activation("tanh").taylor(center, order)


# ---- radii -------------------------------------------------------------------------------


def estimated_radius(coefficients: np.ndarray) -> np.ndarray:
    """Root test between two stretches of coefficients, in which constant factors cancel."""
    order = len(coefficients) - 1
    half = order // 2
    peaks = [np.abs(coefficients[n - 24 : n]).max(axis=0) for n in (half, order)]
    return (peaks[0] / peaks[1]) ** (1 / (order - half))


SINGULAR = sorted(set(ACTIVATIONS) - set(KINKS) - ENTIRE)


@pytest.mark.parametrize(
    ("name", "parameters"), [(name, {}) for name in SINGULAR] + [("softplus", {"beta": 2.5})]
)
def test_radius_agrees_with_the_root_test(name: str, parameters: dict[str, float]) -> None:
    act, centers = activation(name, **parameters), np.array([-2.0, -0.6, 0.0, 0.8, 2.5])
    estimate = estimated_radius(act.taylor(centers, 320))
    np.testing.assert_allclose(act.radius(centers), estimate, rtol=0.02)


def test_every_activation_is_smooth_entire_or_kinked() -> None:
    assert set(SINGULAR) == {
        *("arctan", "gelu_tanh", "log_sigmoid", "mish", "sigmoid", "silu", "softplus", "tanh")
    }


@pytest.mark.parametrize("name", sorted(ENTIRE))
def test_entire_series_converge_everywhere(name: str) -> None:
    act, centers = activation(name), np.array([-2.0, 0.0, 2.0])
    assert (act.radius(centers) == np.inf).all()
    steps = np.array([[-4.0], [4.0]])
    powers = steps ** np.arange(161)
    np.testing.assert_allclose(powers @ act.taylor(centers, 160), act(centers + steps), atol=1e-9)


@pytest.mark.parametrize("name", sorted(KINKS))
def test_kinked_series_hold_up_to_the_kink_and_not_beyond(name: str) -> None:
    act = activation(name)
    for center in (-3.7, -0.8, 0.9, 4.2):
        radius = act.radius(np.array([center]))
        assert radius == min(abs(center - kink) for kink in KINKS[name][0])
        series = act.taylor(center, 400)[:, 0]

        def error(step: np.ndarray, center: float = center, series: np.ndarray = series) -> Any:
            return np.abs(np.polyval(series[::-1], step) - act(center + step))

        assert max(error(0.97 * radius), error(-0.97 * radius)) < 1e-9
        beyond = 1.2 * radius
        assert max(error(beyond), error(-beyond)) > 1e-4


def test_nearest_pole_of_gelu_tanh_is_found_at_any_centre() -> None:
    centers = np.linspace(-12, 12, 97)
    heights = (np.arange(1200) + 0.5) * math.pi / math.sqrt(2 / math.pi)
    poles = np.concatenate([np.roots([0.044715, 0, 1, -1j * y]) for y in heights])
    poles = np.concatenate([poles, poles.conj()])
    nearest = np.abs(centers[:, None] - poles).min(axis=1)
    np.testing.assert_allclose(activation("gelu_tanh").radius(centers), nearest, rtol=1e-10)


def test_known_radii_at_zero() -> None:
    zero = np.zeros(1)
    known = {"tanh": math.pi / 2, "sigmoid": math.pi, "softplus": math.pi, "arctan": 1.0}
    for name, radius in known.items():
        assert activation(name).radius(zero) == pytest.approx(radius)
    assert activation("softplus", beta=4.0).radius(zero) == pytest.approx(math.pi / 4)
    pole = mp.mpc(mp.log(2) / 2, 3 * mp.pi / 4)
    assert abs((1 + mp.exp(pole)) ** 2 + 1) < 1e-14
    assert activation("mish").radius(zero) == pytest.approx(float(abs(pole)))


# ---- images ------------------------------------------------------------------------------


@every_case
def test_images_agree_with_dense_sampling(name: str, parameters: dict[str, float]) -> None:
    act, rng = activation(name, **parameters), np.random.default_rng(2)
    low = rng.uniform(-6, 4, (5, 8))
    high = low + rng.exponential(3.0, (5, 8))
    least, greatest = act.image(low, high)
    values = act(np.linspace(low, high, 20_001))
    slack = (high - low) / 20_000  # a kink may fall between two samples
    for ours, sampled, sign in ((least, values.min(axis=0), -1), (greatest, values.max(axis=0), 1)):
        assert ours.shape == low.shape
        outside = sign * (ours - sampled)
        assert (outside >= -1e-15 * (1 + np.abs(ours))).all()
        assert (outside <= slack).all()


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "mish", "silu", "sin"])
def test_turning_points_are_stationary(name: str) -> None:
    points = activation(name).turning_points
    assert points
    slopes = activation(name).taylor(np.array(points), 1)[1]
    assert np.abs(slopes).max() < 1e-15


def test_image_of_a_point_is_its_value_and_ends_broadcast() -> None:
    act = activation("silu")
    least, greatest = act.image(-1.0, [-1.0, 0.5])
    assert least[0] == greatest[0] == act(-1.0)
    assert greatest[1] == act(0.5)


@pytest.mark.parametrize("ends", [(1.0, 0.0), (np.nan, 0.0), (0.0, np.inf)])
def test_intervals_out_of_order_are_refused(ends: tuple[float, float]) -> None:
    with pytest.raises(InvalidInputError, match="not in order"):
        activation("tanh").image(*ends)


# ---- names and parameters ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("identity", "linear"),
        ("none", "linear"),
        ("None", "linear"),
        ("logistic", "sigmoid"),
        ("swish", "silu"),
        ("atan", "arctan"),
        ("exponential", "exp"),
        ("gelu-tanh", "gelu_tanh"),
        ("GELUTanh", "gelu_tanh"),
        ("hardtanh", "hard_tanh"),
        ("Hard-Sigmoid", "hard_sigmoid"),
        ("LeakyReLU", "leaky_relu"),
        ("LogSigmoid", "log_sigmoid"),
        (" ReLU6 ", "relu6"),
        ("TANH", "tanh"),
    ],
)
def test_spellings_and_synonyms_find_the_same_entry(spelling: str, name: str) -> None:
    assert activation(spelling) == activation(name)
    assert activation(spelling).name == name


def test_an_unknown_name_lists_near_and_known_names() -> None:
    with pytest.raises(InvalidInputError) as caught:
        activation("tahn")
    assert "did you mean 'tanh'" in str(caught.value)
    assert all(name in str(caught.value.remedy) for name in activation_names())
    with pytest.raises(InvalidInputError, match="known are arctan"):
        activation("zzz")


def test_a_misspelt_parameter_names_the_accepted_ones() -> None:
    with pytest.raises(InvalidInputError) as caught:
        activation("leaky_relu", slope=0.2)
    assert caught.value.expected == "negative_slope"
    with pytest.raises(InvalidInputError, match="no parameters"):
        activation("tanh", beta=1.0)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("softplus", {"beta": 0.0}),
        ("softplus", {"beta": -1.0}),
        ("softplus", {"beta": np.inf}),
        ("celu", {"alpha": 0.0}),
        ("elu", {"alpha": -0.1}),
        ("hard_tanh", {"min_val": 1.0}),
        ("leaky_relu", {"negative_slope": np.nan}),
        ("leaky_relu", {"negative_slope": "0.1"}),
        ("leaky_relu", {"negative_slope": True}),
        ("leaky_relu", {"negative_slope": None}),
    ],
)
def test_inadmissible_values_are_refused(name: str, parameters: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=f"{name} cannot have this"):
        activation(name, **parameters)


@pytest.mark.parametrize("spec", [None, 3, ["tanh"]])
def test_what_is_no_activation_is_refused(spec: Any) -> None:
    with pytest.raises(InvalidInputError, match="not an activation"):
        activation(spec)


def test_parameters_go_with_names_only() -> None:
    with pytest.raises(InvalidInputError, match="Only named"):
        activation(np.cbrt, alpha=1.0)
    with pytest.raises(InvalidInputError, match="Only named"):
        activation(activation("elu"), alpha=1.0)


def test_the_table_is_read_only() -> None:
    with pytest.raises(TypeError):
        ACTIVATIONS["mine"] = ACTIVATIONS["tanh"]  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        activation("tanh").name = "mine"  # type: ignore[misc]


# ---- identity ----------------------------------------------------------------------------


def test_equality_and_hash_go_by_name_and_parameters() -> None:
    assert activation("leaky_relu") == activation("leaky_relu", negative_slope=0.01)
    assert activation("leaky_relu") != activation("leaky_relu", negative_slope=0.2)
    assert activation("elu") != activation("celu")
    assert activation("tanh") != "tanh"
    assert len({activation("softplus"), activation("softplus", beta=1), activation("elu")}) == 2
    act = activation("mish")
    assert activation(act) is act


def test_repr_shows_name_and_parameters() -> None:
    assert repr(activation("tanh")) == 'Activation("tanh")'
    shown = repr(activation("leakyrelu", negative_slope=0.2))
    assert shown == 'Activation("leaky_relu", negative_slope=0.2)'
    assert repr(activation("hard_tanh")) == 'Activation("hard_tanh", min_val=-1.0, max_val=1.0)'


@every_case
def test_activations_survive_pickle_and_copy(name: str, parameters: dict[str, float]) -> None:
    act = activation(name, **parameters)
    for twin in (pickle.loads(pickle.dumps(act)), copy.deepcopy(act)):
        assert twin == act
        assert hash(twin) == hash(act)
        np.testing.assert_array_equal(twin(CENTERS), act(CENTERS))


# ---- functions of the user ---------------------------------------------------------------


def bump(x: np.ndarray) -> np.ndarray:
    return np.exp(-x * x)


def test_a_function_becomes_an_activation_without_series() -> None:
    act = activation(bump)
    assert (act.name, act.custom, act.series) == ("bump", True, None)
    assert repr(act) == 'Activation("bump", custom=True)'
    np.testing.assert_array_equal(act(CENTERS), bump(CENTERS))
    assert np.isnan(act.radius(CENTERS)).all()
    with pytest.raises(NoSeriesError, match="calibrated"):
        act.taylor(0.0, 2)
    with pytest.raises(InvalidInputError, match="turning_points"):
        act.image(0.0, 1.0)


def test_custom_activations_are_equal_when_their_function_is() -> None:
    assert activation(bump) == activation(bump)
    assert hash(activation(bump)) == hash(activation(bump))
    assert activation(np.tanh) != activation("tanh")
    other = Activation("bump", lambda x: x, None, activation(bump).radius)
    assert activation(bump) != other
    assert pickle.loads(pickle.dumps(activation(np.cbrt))) == activation(np.cbrt)


def test_a_callable_object_is_named_after_its_class() -> None:
    class Wave:
        def __call__(self, x: np.ndarray) -> np.ndarray:
            return np.cos(x).astype(np.float32)

    act = activation(Wave())
    assert act.name == "Wave"
    assert act(CENTERS).dtype == np.float64


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda x: x.sum(axis=-1), r"shape \(\)"),
        (lambda x: x > 0, "of bool"),
        (lambda x: x + 1j, "of complex128"),
        (lambda x: np.where(x > 0, np.nan, x), "nan at 2.0"),
        (lambda x: np.where(x > 0, np.inf, x), "inf at 2.0"),
        (lambda x: math.tanh(x), "TypeError"),
        (lambda x: 0.0 if x > 0 else 1.0, "ValueError"),
    ],
)
def test_results_of_a_custom_function_are_checked_when_it_is_called(
    function: Callable[[Any], Any], found: str
) -> None:
    act = activation(function)
    with pytest.raises(InvalidInputError, match=found):
        act(np.array([-1.0, 2.0]))
