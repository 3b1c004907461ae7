"""Plain data of files are what they should be, or refused."""

from __future__ import annotations

import pytest

from nn2poly import plain

THINGS = [None, True, 0, 3, -1, 2.5, float("nan"), 10**400, "3", "", [], ["a"], [1], {}, {"a": 1}]
ACCEPTED = {
    plain.plain_list: [[], ["a"], [1]],
    plain.plain_texts: [[], ["a"]],
    plain.plain_number: [0, 3, -1, 2.5],
    plain.plain_count: [0, 3, 10**400],
    plain.plain_flag: [True],
}


@pytest.mark.parametrize("read", ACCEPTED, ids=lambda read: read.__name__)
@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: str(thing)[:9])
def test_each_reader_accepts_its_kind_alone(read, thing):
    good = any(type(thing) is type(other) and thing == other for other in ACCEPTED[read])
    if good:
        found = read(thing)
        assert found == (tuple(thing) if read is plain.plain_texts else thing)
    else:
        with pytest.raises((ValueError, OverflowError)):
            read(thing)


def test_an_object_has_exactly_its_fields():
    assert plain.plain_object({"a": 1, "b": 2}, ("b", "a")) == {"a": 1, "b": 2}
    for thing in ({"a": 1}, {"a": 1, "b": 2, "c": 3}, ["a", "b"], None, "ab"):
        with pytest.raises(ValueError, match="fields are not a, b"):
            plain.plain_object(thing, ("a", "b"))
