"""Tables read well in a terminal, are safe in a notebook, and keep their numbers exact."""

from __future__ import annotations

import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from nn2poly.errors import InvalidInputError, MissingDependencyError
from nn2poly.tables import Table, shown_rows

TABLE = Table(
    "Largest terms",
    ("term", "coefficient", "rows"),
    (("1", 22.532806, 1_234_567), ("rm lstat", -0.1, 3), ("age", float("nan"), 40)),
    "3 of 105 terms.",
)


def cell(value):
    """Return the text of one cell, right where it is printed."""
    return str(Table("", ("c",), ((value,),))).splitlines()[-1].strip()


def test_a_table_prints_aligned_with_its_title_and_note():
    assert str(TABLE).splitlines() == [
        "Largest terms",
        "term      coefficient       rows",
        "--------  -----------  ---------",
        "1               22.53  1,234,567",
        "rm lstat      -0.1000          3",
        "age               n/a         40",
        "3 of 105 terms.",
    ]
    assert repr(TABLE) == str(TABLE)


def test_an_empty_title_and_note_take_no_line():
    assert str(Table("", ("a",), (("u",),))) == "a\n-\nu"


def test_a_table_without_rows_says_so():
    assert str(Table("", ("a", "b"), ())) == "a  b\n-  -\n(no rows)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1 / 3, "0.3333"),
        (0.1 + 0.2, "0.3000"),
        (1.0, "1.000"),
        (9.99996, "10.00"),
        (-12345.678, "-12,346"),
        (999_999.9, "1.000e+06"),
        (1.5e12, "1.500e+12"),
        (0.00012345678, "0.0001235"),
        (1.23456e-7, "1.235e-07"),
        (0.0, "0"),
        (-0.0, "0"),
        (float("nan"), "n/a"),
        (None, "n/a"),
        (float("inf"), "inf"),
        (-np.inf, "-inf"),
        (np.float32(0.1), "0.1000"),
        (np.int64(1234), "1,234"),
        (1234, "1,234"),
        (True, "True"),
        (np.True_, "True"),
        ("rm", "rm"),
        (("rm", 2), "('rm', 2)"),
    ],
)
def test_cells_are_written_with_four_significant_digits(value, text):
    assert cell(value) == text


def test_an_r2_beside_one_that_ran_away_stays_what_it_is():
    table = Table("", ("way", "R2"), (("near", 0.97), ("far", -6e17)))
    assert shown_rows(table) == [("near", "0.9700"), ("far", "-6.000e+17")]


def test_numbers_go_right_and_strings_left_under_their_headings():
    lines = str(Table("", ("name", "value"), (("a", 1), ("bbbbbb", 1000)))).splitlines()
    assert lines == ["name    value", "------  -----", "a           1", "bbbbbb  1,000"]


def test_a_column_with_one_string_is_a_column_of_strings():
    lines = str(Table("", ("value", "z"), ((1, "u"), ("text", "v")))).splitlines()
    assert lines[2:] == ["1      u", "text   v"]


def test_lines_have_no_trailing_blanks():
    lines = str(Table("", ("heading",), (("u",), ("v",)))).splitlines()
    assert lines == ["heading", "-------", "u", "v"]


def test_long_strings_are_cut_at_60_characters():
    assert cell("x" * 60) == "x" * 60
    assert cell("x" * 61) == "x" * 59 + "…"


def test_control_characters_reach_neither_the_terminal_nor_the_next_line():
    assert cell("a\nb\x1b[31m") == "a b [31m"


def test_wide_and_combining_characters_are_padded_by_what_they_fill():
    lines = str(Table("", ("c", "n"), (("房间", 1), ("e\u0301", 2), ("abcd", 3)))).splitlines()
    assert lines[1] == "----  -"
    assert lines[2] == "房间  1"
    assert lines[3] == "e\u0301     2"


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def read_html(table):
    reader = Reader()
    reader.feed(table._repr_html_())
    return reader


def test_html_shows_the_same_cells_as_the_text():
    reader = read_html(TABLE)
    assert reader.texts == [
        *("Largest terms", "term", "coefficient", "rows"),
        *("1", "22.53", "1,234,567", "rm lstat", "-0.1000", "3", "age", "n/a", "40"),
        "3 of 105 terms.",
    ]
    assert set(reader.tags) == {"table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td"}


def test_html_right_aligns_the_numbers_only():
    page = TABLE._repr_html_()
    assert '<td style="text-align:right">22.53</td>' in page
    assert '<td style="text-align:left">rm lstat</td>' in page


def test_markup_in_titles_columns_cells_and_notes_shows_as_text():
    evil = "<script>alert('&')</script>"
    reader = read_html(Table(evil, (evil,), ((evil,),), evil))
    assert "script" not in reader.tags
    assert "".join(reader.texts) == evil * 4


def test_html_without_title_and_note_has_neither_caption_nor_foot():
    tags = read_html(Table("", ("a",), ((1,),))).tags
    assert "caption" not in tags
    assert "tfoot" not in tags


def test_a_table_is_a_sequence_of_its_rows():
    assert len(TABLE) == 3
    assert TABLE[1] == ("rm lstat", -0.1, 3)
    assert [row[0] for row in TABLE] == ["1", "rm lstat", "age"]
    with pytest.raises(IndexError):
        TABLE[3]


def test_a_slice_of_a_table_is_a_table():
    head = TABLE[:2]
    assert isinstance(head, Table)
    assert head.rows == TABLE.rows[:2]
    assert (head.title, head.columns, head.note) == (TABLE.title, TABLE.columns, TABLE.note)


def test_a_row_of_the_wrong_length_is_refused():
    with pytest.raises(InvalidInputError, match="wrong number of cells") as caught:
        Table("Terms", ("a", "b"), ((1, 2), (3,)))
    assert caught.value.where == "row 1 of 'Terms'"
    assert (caught.value.expected, caught.value.found) == ("2 cells", "1 cells")


def test_the_frame_keeps_every_digit():
    frame = TABLE.to_frame()
    assert list(frame.columns) == list(TABLE.columns)
    assert frame["coefficient"].iloc[0] == 22.532806
    assert frame["rows"].tolist() == [1_234_567, 3, 40]


def test_the_frame_of_an_empty_table_keeps_the_columns():
    frame = Table("", ("a", "b"), ()).to_frame()
    assert frame.shape == (0, 2)
    assert list(frame.columns) == ["a", "b"]


def test_without_pandas_the_frame_is_refused_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="needs pandas") as caught:
        TABLE.to_frame()
    assert caught.value.remedy == "pip install pandas"
