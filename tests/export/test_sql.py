"""SQL, run by DuckDB and by SQLite."""

import re
import sqlite3
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import pytest

from nn2poly import export
from nn2poly.errors import InvalidInputError
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import Column, Hole, Inputs
from nn2poly.inputs.functions import Log


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def open_table(engine, names, X, kind="DOUBLE PRECISION"):
    """Make a table `data` of the rows in an engine; give what executes there."""
    connection = duckdb.connect() if engine == "duckdb" else sqlite3.connect(":memory:")
    columns = ", ".join(f"{quoted(name)} {kind}" for name in names)
    connection.execute(f"CREATE TABLE data ({columns})")
    connection.execute("CREATE TABLE x (kept INTEGER)")
    places = ", ".join("?" * len(names))
    connection.executemany(f"INSERT INTO data VALUES ({places})", np.asarray(X).tolist())
    return connection


def select(expressions):
    columns = ", ".join(f"{text} AS {quoted(name)}" for name, text in expressions.items())
    return f"SELECT {columns} FROM data AS t"


@pytest.fixture(params=["duckdb", "sqlite"])
def engine(request):
    return request.param


def test_the_expressions_give_the_predictions(case, close, engine):
    poly, X, Y = case
    connection = open_table(engine, poly.feature_names, X)
    close(connection.execute(select(export.sql(poly))).fetchall(), Y)
    connection.close()


def test_the_whole_select_gives_the_predictions_under_the_output_names(case, close, engine):
    poly, X, Y = case
    connection = open_table(engine, poly.feature_names, X)
    result = connection.execute(export.sql_select(poly, "data"))
    assert tuple(column[0] for column in result.description) == poly.output_names
    close(result.fetchall(), Y)
    connection.close()


def test_a_name_is_never_a_statement(awkward, engine):
    poly, X, _ = awkward
    connection = open_table(engine, poly.feature_names, X)
    connection.execute(select(export.sql(poly)))
    connection.execute(export.sql_select(poly, "data"))
    assert connection.execute("SELECT count(*) FROM x").fetchall() == [(0,)]
    connection.close()


def test_a_table_name_is_never_a_statement(engine):
    name = 'data"; DROP TABLE x; --'
    connection = open_table(engine, ["a"], [[1.0]])
    connection.execute(f"CREATE TABLE {quoted(name)} AS SELECT * FROM data")
    poly = Polynomial([[1.0], [2.0]], 1, ["a"])
    assert connection.execute(export.sql_select(poly, name)).fetchall() == [(3.0,)]
    assert connection.execute("SELECT count(*) FROM x").fetchall() == [(0,)]
    connection.close()


@pytest.mark.parametrize("kind", ["TINYINT", "BIGINT", "DECIMAL(6, 2)", "REAL"])
def test_columns_of_any_numeric_type_are_computed_in_double_precision(kind, engine):
    poly = Polynomial.from_terms(
        ["a^4", "a^3 b", "b", "1"], [1.0, -2.0, 1e-9, 1e15 + 0.3], ["a", "b"]
    )
    X = np.array([[100.0, 120.0], [-7.0, 3.0]])
    connection = open_table(engine, poly.feature_names, X, kind)
    for statement in (select(export.sql(poly)), export.sql_select(poly, "data")):
        found = np.array(connection.execute(statement).fetchall())[:, 0]
        assert np.allclose(found, poly.predict(X), rtol=1e-15)
    connection.close()


def test_booleans_are_cast_by_the_whole_select():
    connection = open_table("duckdb", ["a"], [[True], [False]], "BOOLEAN")
    poly = Polynomial([[1.0], [2.0]], 1, ["a"])
    assert connection.execute(export.sql_select(poly, "data")).fetchall() == [(3.0,), (1.0,)]
    connection.close()


def test_a_missing_value_gives_a_missing_output(engine):
    connection = open_table(engine, ["a"], [[None], [1.0]])
    poly = Polynomial([[1.0], [2.0]], 1, ["a"])
    assert connection.execute(select(export.sql(poly))).fetchall() == [(None,), (3.0,)]
    connection.close()


def test_a_data_frame_is_queried_in_place(make):
    poly, X, Y = make["rows"](make["dense"](3, 3, 2, names=["a b", "c", "d"]))
    frame = pd.DataFrame(X, columns=poly.feature_names)
    found = duckdb.sql(export.sql_select(poly, "frame")).df()
    assert np.allclose(found["y"], Y[:, 0], rtol=1e-12)
    assert len(frame) == len(found)


@pytest.mark.parametrize(("p", "order"), [(784, 1), (1, 25), (30, 2)])
def test_wide_and_deep_ones_are_within_the_limits_of_the_parsers(p, order, make, close, engine):
    poly, X, Y = make["rows"](make["dense"](0, p, order), 3)
    connection = open_table(engine, poly.feature_names, X)
    close(connection.execute(export.sql_select(poly, "data")).fetchall(), Y)
    close(connection.execute(select(export.sql(poly))).fetchall(), Y)
    connection.close()


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_name_that_sql_cannot_carry_is_refused(name):
    poly = Polynomial([[1.0], [2.0]], 1, [name])
    with pytest.raises(InvalidInputError, match="cannot be written in SQL"):
        export.sql(poly)


@pytest.mark.parametrize("write", [export.sql, lambda poly: export.sql_select(poly, "data")])
@pytest.mark.parametrize("names", [("temp", "TEMP"), ("Ähre", "ähre")])
def test_columns_that_differ_in_capitals_alone_are_refused(write, names):
    poly = Polynomial([[0.0], [1.0], [10.0], [2.0]], 1, [names[0], "b", names[1]])
    with pytest.raises(InvalidInputError, match="capitals") as error:
        write(poly)
    assert all(repr(name) in error.value.where for name in names)
    assert error.value.expected
    assert error.value.found
    assert "rename" in error.value.remedy


def test_a_renamed_column_is_an_error_not_a_constant(engine):
    connection = open_table(engine, ["income_2"], [[1.0], [2.0]])
    poly = Polynomial([[1.0], [2.0]], 1, ["income"])
    for statement in (select(export.sql(poly)), export.sql_select(poly, "data")):
        with pytest.raises((duckdb.Error, sqlite3.Error), match="income"):
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("kind", ["raw", "probability", "label"])
def test_no_quoted_column_stands_without_its_table(kind):
    # Where "income" is text (MySQL, BigQuery, Spark), t."income" is a syntax error.
    job = replace(Column.factor("job", ["clerk", "smith"]), is_text=True, hole=Hole(fill="clerk"))
    inputs = Inputs((Column("income"), Column.cut("age", [30.0]), job, Column("bmi")))
    poly = Polynomial(
        np.ones((7, 1)), 1, inputs=inputs.through({0: Log(low=1.0, high=9.0)}), link="sigmoid"
    )
    (text,) = export.sql(poly, kind=kind).values()
    _, _, inner = export.sql_select(poly, "data", kind=kind).partition("FROM")
    for written in (text, inner.rpartition("FROM")[0]):
        columns = re.findall(r'(..)"(\w+)"', written)
        assert {name for _, name in columns} == {"income", "age", "job", "bmi"}
        assert {before for before, _ in columns} == {"t."}


def test_an_expression_takes_the_name_of_its_table(engine):
    name = 'data of "May"'
    connection = open_table(engine, ["a"], [[1.0]])
    connection.execute(f"CREATE TABLE {quoted(name)} AS SELECT * FROM data")
    poly = Polynomial([[1.0], [2.0]], 1, ["a"])
    (text,) = export.sql(poly, name).values()
    both = f"SELECT {text} FROM {quoted(name)}, (SELECT 7 AS a) AS other"
    assert connection.execute(both).fetchall() == [(3.0,)]
    connection.close()
