"""What users pass is accepted in every sensible form and refused with the reason and the remedy."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy import sparse

from nn2poly.errors import InvalidInputError
from nn2poly.inputs import as_matrix, frame_columns, matching_names

EXPECTED = np.array([[1.0, 2.0], [3.0, 4.0]])


def read(X, *, names=None, width=None, **options):
    return as_matrix(X, feature_names=names, n_features=width, where="predict(X)", **options)


def refused(X, **options):
    with pytest.raises(InvalidInputError) as caught:
        read(X, **options)
    assert caught.value.where == "predict(X)"
    assert caught.value.expected
    assert caught.value.found
    assert caught.value.remedy
    return caught.value


# --- arrays ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [
        EXPECTED,
        EXPECTED.astype(np.float16),
        EXPECTED.astype(np.float32),
        EXPECTED.astype(np.longdouble),
        EXPECTED.astype(">f8"),
        EXPECTED.astype(np.uint8),
        np.asfortranarray(EXPECTED),
        EXPECTED.astype(int).tolist(),
        tuple(map(tuple, EXPECTED)),
        [np.array([1, 2]), np.array([3, 4])],
        torch.tensor(EXPECTED, dtype=torch.float32, requires_grad=True),
        pd.DataFrame(EXPECTED),
        pl.DataFrame({"a": [1, 3], "b": [2.0, 4.0]}),
    ],
    ids=lambda X: f"{type(X).__name__}-{getattr(X, 'dtype', '')}",
)
def test_every_numeric_table_gives_the_same_contiguous_float64_matrix(X):
    matrix = read(X, width=2)
    assert type(matrix) is np.ndarray
    assert matrix.dtype == np.float64
    assert matrix.dtype.isnative
    assert matrix.flags.c_contiguous
    np.testing.assert_array_equal(matrix, EXPECTED)


def test_booleans_become_zero_and_one():
    np.testing.assert_array_equal(read(np.array([[True, False]]), width=2), [[1.0, 0.0]])


def test_a_single_row_is_a_table():
    assert read([[1.0, 2.0, 3.0]], width=3).shape == (1, 3)


def test_without_a_width_any_number_of_columns_is_taken():
    assert read(np.ones((2, 7))).shape == (2, 7)


@pytest.mark.parametrize("X", [np.ones(3), torch.ones(3)], ids=["numpy", "torch"])
def test_one_dimension_is_refused_with_both_reshapes(X):
    error = refused(X, width=3)
    assert "two dimensions" in error.what
    assert "(3,)" in error.found
    assert "X.reshape(1, -1) if it is one row" in error.remedy
    assert "X.reshape(-1, 1) if it is one column" in error.remedy


@pytest.mark.parametrize("X", [[1.0, 2.0], pd.Series([1.0, 2.0]), pl.Series([1.0, 2.0])])
def test_the_reshape_remedy_is_one_that_works_on_lists_and_series(X):
    remedy = refused(X, width=2).remedy
    for call in ("np.asarray(X).reshape(1, -1)", "np.asarray(X).reshape(-1, 1)"):
        assert call in remedy
        assert eval(call, {"np": np, "X": X}).ndim == 2


@pytest.mark.parametrize(("X", "shape"), [(np.ones((2, 3, 4)), "(2, 3, 4)"), (np.float64(1), "()")])
def test_three_and_zero_dimensions_are_refused(X, shape):
    error = refused(X)
    assert "two dimensions" in error.what
    assert shape in error.found
    assert "2-d array" in error.remedy


def test_none_is_refused_by_its_type_name():
    assert "NoneType" in refused(None).found


@pytest.mark.parametrize(
    ("X", "dtype"),
    [
        (np.array([[1j, 2.0]]), "complex128"),
        (np.array([[1, "2"]], dtype=object), "object"),
        (np.array([["a", "b"]]), "<U1"),
        ([[1.0, None]], "object"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "datetime64"),
        (["a", "b"], "<U1"),
        (torch.tensor([[1j, 2.0]]), "complex64"),
    ],
)
def test_entries_that_are_not_real_numbers_are_refused_with_their_dtype(X, dtype):
    error = refused(X)
    assert "not real numbers" in error.what
    assert dtype in error.found
    assert "encode" in error.remedy


def test_rows_of_different_lengths_are_refused():
    assert "same length" in refused([[1.0, 2.0], [3.0]]).remedy


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.coo_array])
def test_sparse_matrices_are_refused_with_toarray(kind):
    error = refused(kind(EXPECTED))
    assert kind.__name__ in error.found
    assert "X.toarray()" in error.remedy


def test_lazy_frames_are_refused_with_collect():
    error = refused(pl.DataFrame({"a": [1.0]}).lazy())
    assert "LazyFrame" in error.found
    assert "X.collect()" in error.remedy


def test_a_tensor_that_numpy_has_no_type_for_is_read():
    np.testing.assert_array_equal(read(torch.ones((2, 2), dtype=torch.bfloat16)), np.ones((2, 2)))


@pytest.mark.parametrize("X", [np.ones((2, 3)), pd.DataFrame(np.ones((2, 3)))])
def test_the_wrong_number_of_columns_is_expected_and_found(X):
    error = refused(X, width=4)
    assert (error.expected, error.found) == ("4 columns", "3 columns")
    assert "target" in error.remedy


def test_an_array_must_have_one_column_for_each_name():
    assert refused(np.ones((2, 3)), names=("a",)).expected == "1 column"


def test_rows_without_columns_are_refused():
    error = refused(np.ones((2, 0)))
    assert (error.expected, error.found) == ("at least 1 column", "0 columns")


@pytest.mark.parametrize(
    "X",
    [np.empty((0, 2)), [], pd.DataFrame({"a": [], "b": []}), pl.DataFrame({"a": []})],
    ids=["array", "list", "pandas", "polars"],
)
def test_zero_rows_are_refused_as_empty(X):
    error = refused(X, width=2)
    assert "empty" in error.what
    assert error.found == "0 rows"
    assert "filter" in error.remedy


# --- values that are not finite -------------------------------------------------------------


def test_nan_and_infinity_are_counted_by_row_and_named_by_column():
    X = np.ones((5, 3))
    X[1, 0], X[1, 2], X[4, 2] = np.nan, np.inf, -np.inf
    error = refused(X, names=("a", "b", "c"))
    assert error.found == "2 of 5 rows (the first is row 1), in columns 'a', 'c'"
    assert "drop those rows" in error.remedy


def test_without_names_the_columns_of_nan_are_numbered():
    X = np.ones((1, 4))
    X[0, 3] = np.nan
    assert refused(X, width=4).found == "1 of 1 row (the first is row 0), in column 3"


def test_a_frame_without_matching_names_its_own_columns_in_the_nan_message():
    assert "column 'b'" in refused(pd.DataFrame({"a": [1.0], "b": [np.nan]}), width=2).found


def test_many_columns_of_nan_are_listed_up_to_ten():
    found = refused(np.full((1, 22), np.nan)).found
    assert found.endswith("8, 9, … and 12 more")
    assert "10," not in found


def test_allow_nan_lets_nan_through_but_not_infinity():
    np.testing.assert_array_equal(read([[np.nan, 1.0]], allow_nan=True), [[np.nan, 1.0]])
    assert "infinite" in refused([[np.inf, 1.0]], allow_nan=True).what


def test_masked_entries_are_missing_not_the_numbers_under_the_mask():
    X = np.ma.masked_array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    assert "in column 1" in refused(X).found
    np.testing.assert_array_equal(read(X, allow_nan=True), [[1.0, np.nan], [3.0, 4.0]])


def test_a_long_double_beyond_float64_is_reported_not_warned_about():
    if np.finfo(np.longdouble).max <= np.finfo(np.float64).max:
        pytest.skip("long double is float64 here")
    assert "infinite" in refused(np.array([[np.longdouble(10) ** 400]])).what


# --- data frames ----------------------------------------------------------------------------

FRAMES = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])


@FRAMES
def test_columns_are_matched_by_name_whatever_their_order_and_the_extras(frame):
    X = frame({"b": [2, 4], "target": ["u", "v"], "a": [1.0, 3.0]})
    np.testing.assert_array_equal(read(X, names=("a", "b"), width=2), EXPECTED)


@FRAMES
def test_missing_columns_are_listed_with_near_matches(frame):
    error = refused(frame({"RM": [1.0], "lstatt": [1.0], "age": [1.0]}), names=("rm", "lstat"))
    assert "lacks 2 columns" in error.what
    assert error.found == "no 'rm', 'lstat'"
    assert "'RM' for 'rm'" in error.remedy
    assert "'lstatt' for 'lstat'" in error.remedy


def test_a_column_that_is_already_used_is_not_suggested_for_another():
    error = refused(pd.DataFrame({"age1": [1.0], "zzz": [1.0]}), names=("age1", "age2"))
    assert error.found == "no 'age2'"
    assert "did you mean" not in error.remedy
    assert "rename" in error.remedy


def test_many_missing_columns_are_listed_up_to_ten():
    names = tuple(f"x{i}" for i in range(1, 23))
    found = refused(pd.DataFrame({"unlike": [1.0]}), names=names).found
    assert found.endswith("'x10', … and 12 more")
    assert "'x11'" not in found


def test_integer_labels_are_matched_as_strings():
    X = pd.DataFrame([[2.0, 1.0]], columns=[1, 0])
    np.testing.assert_array_equal(read(X, names=("0", "1")), [[1.0, 2.0]])


def test_repeated_columns_are_refused_only_when_needed():
    X = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "b", "b"])
    np.testing.assert_array_equal(read(X, names=("a",)), [[1.0]])
    error = refused(X, names=("a", "b"))
    assert error.found == "'b' more than once"
    assert "rename" in error.remedy


def test_a_label_and_its_string_are_repeated_columns():
    X = pd.DataFrame([[1.0, 2.0]], columns=[1, "1"])
    assert refused(X, names=("1",)).found == "'1' more than once"


def test_without_names_repeated_columns_are_taken_by_position():
    X = pd.DataFrame([[1.0, 2.0]], columns=["b", "b"])
    np.testing.assert_array_equal(read(X, width=2), [[1.0, 2.0]])


@pytest.mark.parametrize("dtype", ["Float64", "Int64", "boolean", "UInt8", "Float32"])
def test_pandas_nullable_columns_are_numbers_and_their_na_is_nan(dtype):
    X = pd.DataFrame({"a": pd.array([1, 0], dtype=dtype)})
    np.testing.assert_array_equal(read(X, width=1), [[1.0], [0.0]])
    X = pd.DataFrame({"a": pd.array([1, None], dtype=dtype)})
    error = refused(X, names=("a",))
    assert "NaN" in error.what
    assert error.found == "1 of 2 rows (the first is row 1), in column 'a'"


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Int64, pl.UInt8, pl.Boolean, pl.Decimal(10, 2)])
def test_polars_columns_are_numbers_and_their_null_is_nan(dtype):
    X = pl.DataFrame({"a": pl.Series([1, 0]).cast(dtype)})
    np.testing.assert_array_equal(read(X, width=1), [[1.0], [0.0]])
    X = pl.DataFrame({"a": pl.Series([1, None]).cast(dtype)})
    assert refused(X, names=("a",)).found == "1 of 2 rows (the first is row 1), in column 'a'"


def test_pandas_sparse_columns_are_numbers():
    X = pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0])})
    np.testing.assert_array_equal(read(X, width=1), [[0.0], [1.0]])


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (pd.Series([1, 2], dtype="category"), "category"),
        (pd.Series([1, 2], dtype=object), "object"),
        (pd.Series(["u", "v"], dtype="string"), "string"),
        (pd.Series([datetime(2020, 1, 1)] * 2), "datetime64"),
        (pd.Series([1j, 2j]), "complex128"),
        (pl.Series(["u", "v"]), "String"),
        (pl.Series(["u", "v"]).cast(pl.Categorical), "Categorical"),
        (pl.Series([datetime(2020, 1, 1)] * 2), "Datetime"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_columns_that_are_not_numbers_are_refused_by_name_and_dtype(column, dtype):
    frame = pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame
    error = refused(frame({"fine": [1.0, 2.0], "town": column}), width=2)
    assert error.what.startswith("1 column ")
    assert f"'town' ({dtype}" in error.found
    assert "fine" not in error.found
    assert "encode" in error.remedy


def test_frame_columns_are_strings_and_only_frames_have_them():
    assert frame_columns(pd.DataFrame([[1, 2]], columns=[0, "b"])) == ("0", "b")
    assert frame_columns(pl.DataFrame({"a": [1]})) == ("a",)
    for other in (EXPECTED, [[1.0]], pd.Series([1.0]), torch.ones(2), sparse.csr_array(EXPECTED)):
        assert frame_columns(other) is None


def test_a_column_named_like_a_method_does_not_hide_the_frame():
    X = pd.DataFrame({"collect": [1.0], "toarray": [2.0], "detach": [3.0]})
    np.testing.assert_array_equal(read(X, width=3), [[1.0, 2.0, 3.0]])


# --- levels of a column ---------------------------------------------------------------------

CATEGORIES = [
    (pd.DataFrame({"c": ["u", "v"]}), ("c=u", "c=v")),
    (pd.DataFrame({"c": pd.Series(["u", "v"], dtype=object)}), ("c=u", "c=v")),
    (pd.DataFrame({"c": pd.Categorical(["u", "v"])}), ("c=u", "c=v")),
    (pd.DataFrame({"c": pd.Categorical([1, 2])}), ("c=1", "c=2")),
    (pd.DataFrame({"c": [1, 2]}), ("c=1", "c=2")),
    (pd.DataFrame({"c": pd.array([1, 2], dtype="Int64")}), ("c=1", "c=2")),
    (pd.DataFrame({"c": [1.0, 2.0]}), ("c=1", "c=2")),
    (pd.DataFrame({"c": [1.0, 2.0]}), ("c=1.0", "c=2.0")),
    (pd.DataFrame({"c": [0.5, 1.5]}), ("c=0.5", "c=1.5")),
    (pd.DataFrame({"c": [False, True]}), ("c=0", "c=1")),
    (pd.DataFrame({"c": [0, 1]}), ("c=False", "c=True")),
    (pd.DataFrame({"c": [0.0, 1.0]}), ("c=False", "c=True")),
    (pd.DataFrame({"c": [True, False]}), ("c=True", "c=False")),
    (pd.DataFrame({"c": pd.array([True, False], dtype="boolean")}), ("c=True", "c=False")),
    (pl.DataFrame({"c": ["u", "v"]}), ("c=u", "c=v")),
    (pl.DataFrame({"c": pl.Series(["u", "v"]).cast(pl.Categorical)}), ("c=u", "c=v")),
    (pl.DataFrame({"c": pl.Series(["u", "v"]).cast(pl.Enum(["v", "u"]))}), ("c=u", "c=v")),
    (pl.DataFrame({"c": [1, 2]}), ("c=1", "c=2")),
    (pl.DataFrame({"c": [True, False]}), ("c=True", "c=False")),
]


@pytest.mark.parametrize(("X", "names"), CATEGORIES, ids=str)
def test_a_level_is_read_as_the_indicator_of_its_value(X, names):
    np.testing.assert_array_equal(read(X, names=names), np.eye(2))
    np.testing.assert_array_equal(read(X, names=names[::-1]), np.eye(2)[::-1])


@FRAMES
def test_numbers_levels_and_extra_columns_stand_side_by_side(frame):
    X = frame({"extra": ["p", "q", "r"], "c": ["u", "v", "u"], "a": [1.5, 2.5, 3.5]})
    expected = [[1.0, 1.5, 0.0, 0.0], [0.0, 2.5, 1.0, 0.0], [1.0, 3.5, 0.0, 0.0]]
    np.testing.assert_array_equal(read(X, names=("c=u", "a", "c=v", "c=w")), expected)


def test_a_column_of_that_very_name_wins_over_the_level():
    X = pd.DataFrame({"c": ["u"], "c=u": [7.0]})
    np.testing.assert_array_equal(read(X, names=("c=u",)), [[7.0]])


def test_a_column_can_be_a_number_and_a_category():
    X = pd.DataFrame({"c": [3, 4]})
    np.testing.assert_array_equal(
        read(X, names=("c", "c=3", "c=4")), [[3.0, 1.0, 0.0], [4.0, 0.0, 1.0]]
    )


def test_an_equal_sign_may_be_part_of_the_column_or_of_the_level():
    X = pd.DataFrame({"a": ["b=c", "d"], "a=b": ["c", "d"]})
    np.testing.assert_array_equal(read(X, names=("a=b=c", "a=b=d")), np.eye(2))
    np.testing.assert_array_equal(read(X[["a"]], names=("a=b=c", "a=d")), np.eye(2))


def test_an_empty_text_is_a_level():
    np.testing.assert_array_equal(
        read(pd.DataFrame({"c": ["", "u"]}), names=("c=", "c=u")), np.eye(2)
    )


@FRAMES
def test_unknown_values_of_a_category_are_listed_with_the_levels(frame):
    X = frame({"c": ["u", "w", "x", "w"], "a": [1.0] * 4})
    error = refused(X, names=("a", "c=u", "c=v"))
    assert "'c'" in error.what
    assert error.found == "'w', 'x' in 3 rows (the first is row 1)"
    assert error.expected == "one of 'u', 'v'"
    assert "'c=u'" in error.remedy


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["u", None]),
        pd.Series(["u", np.nan], dtype=object),
        pd.Series(["u", pd.NA], dtype="string"),
        pd.Categorical(["u", None]),
        pl.Series(["u", None]),
        pl.Series(["u", None]).cast(pl.Categorical),
    ],
    ids=lambda column: f"{type(column).__module__}-{column.dtype}",
)
def test_a_missing_category_is_named_by_its_column_once(column):
    frame = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    X = frame({"c": column, "a": [1.0, 2.0]})
    error = refused(X, names=("c=u", "c=v", "a"))
    assert "NaN" in error.what
    assert error.found == "1 of 2 rows (the first is row 1), in column 'c'"
    expected = [[1.0, 0.0, 1.0], [np.nan, np.nan, 2.0]]
    np.testing.assert_array_equal(read(X, names=("c=u", "c=v", "a"), allow_nan=True), expected)


def test_missing_can_be_a_level():
    X = pd.DataFrame({"c": pd.Series(["u", np.nan], dtype=object)})
    np.testing.assert_array_equal(read(X, names=("c=u", "c=nan")), np.eye(2))
    X = pl.DataFrame({"c": ["u", None]})
    np.testing.assert_array_equal(read(X, names=("c=u", "c=None")), np.eye(2))


def test_a_level_of_no_column_is_missing_and_a_repeated_column_is_repeated():
    assert refused(pd.DataFrame({"a": [1.0]}), names=("a", "c=u")).found == "no 'c=u'"
    X = pd.DataFrame([["u", "v"]], columns=["c", "c"])
    assert refused(X, names=("c=u", "c=v")).found == "'c' more than once"


def test_names_match_a_frame_by_their_levels_too():
    X = pd.DataFrame({"c": ["u"], "a": [1.0]})
    assert matching_names(X, ("renamed", "too"), ("a", "c=u")) == ("a", "c=u")
    assert matching_names(X, ("renamed", "too"), ("b", "c=u")) == ("renamed", "too")


def test_levels_are_read_from_frames_only():
    assert refused(np.array([["u"]]), names=("c=u",)).what == "The data are not real numbers."
