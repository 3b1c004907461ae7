"""What goes in: the user's columns, the coordinates of the algebra, and tables of data."""

from nn2poly.inputs.column import Column
from nn2poly.inputs.columns import Inputs
from nn2poly.inputs.coordinates import Coordinate
from nn2poly.inputs.either import read_either
from nn2poly.inputs.held import held_features, held_text, share_beyond
from nn2poly.inputs.holes import (
    Hole,
    LearnedImputer,
    check_missing,
    complete_rows,
    find_holes,
    missing_name,
    offering_skip,
)
from nn2poly.inputs.matrices import (
    as_matrix,
    frame_columns,
    level_text,
    matching_names,
    read_array,
    table_width,
)
from nn2poly.inputs.outside_rows import outside_range, warn_outside
from nn2poly.inputs.row_labels import check_row_labels

__all__ = [
    "Column",
    "Coordinate",
    "Hole",
    "Inputs",
    "LearnedImputer",
    "as_matrix",
    "check_missing",
    "check_row_labels",
    "complete_rows",
    "find_holes",
    "frame_columns",
    "held_features",
    "held_text",
    "level_text",
    "matching_names",
    "missing_name",
    "offering_skip",
    "outside_range",
    "read_array",
    "read_either",
    "share_beyond",
    "table_width",
    "warn_outside",
]
