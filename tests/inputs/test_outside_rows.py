"""Rows that a conversion did not see are told, in words that fit their number."""

from __future__ import annotations

import numpy as np
import pytest

from nn2poly.errors import OutsideRangeWarning
from nn2poly.inputs import warn_outside


@pytest.mark.parametrize(("count", "said"), [(1, "1 of 1 row lies"), (2, "2 of 2 rows lie")])
def test_the_verb_of_the_range_warning_follows_the_count(count, said):
    ends = np.zeros(1), np.ones(1)
    with pytest.warns(OutsideRangeWarning, match=said):
        warn_outside(np.full((count, 1), 5.0), *ends, ["a"])
