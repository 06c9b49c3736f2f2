"""Structs: the same numbers and arrays on both sides, and nothing that a kernel cannot read."""

import copy
import gc
import math
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mislid._jit import IndexTable, Indices, Matrix, PerArm, PerFeature, Struct, Vector, kernel

LARGE = 2**64 - 3


class Point(Struct):
    at: Vector
    visits: int


class Walk(Struct):
    steps: int
    length: float
    done: bool
    key: np.uint64
    table: Matrix
    order: Indices
    pairs: IndexTable
    here: Point
    anything: Struct


class Nothing(Struct):
    pass


@kernel
def write(walk: Walk, steps: int, length: float, done: bool, key: np.uint64) -> None:
    walk.steps, walk.length, walk.done, walk.key = steps, length, done, key
    walk.here.visits = steps


@kernel
def read(walk: Walk) -> tuple[int, float, bool, np.uint64, int]:
    return walk.steps, walk.length, walk.done, walk.key, walk.here.visits


@kernel
def fill_arrays(walk: Walk) -> None:
    """Each entry becomes its own place."""
    table, pairs = walk.table, walk.pairs
    for a in range(table.shape[0]):
        for b in range(table.shape[1]):
            table[a, b] = 10.0 * a + b
    for a in range(pairs.shape[0]):
        for b in range(pairs.shape[1]):
            pairs[a, b] = 100 * a + b
    for a in range(walk.order.shape[0]):
        walk.order[a] = -a
    for a in range(walk.here.at.shape[0]):
        walk.here.at[a] = 0.5 * a


@kernel
def total(walk: Walk) -> float:
    found = 0.0
    for a in range(walk.table.shape[0]):
        for b in range(walk.table.shape[1]):
            found += (10 * a + b) * walk.table[a, b]
    for a in range(walk.order.shape[0]):
        found += walk.order[a]
    for a in range(walk.here.at.shape[0]):
        found += walk.here.at[a]
    return found


def new_walk(shape: tuple[int, int] = (3, 4), **given: Any) -> Walk:
    fields: dict[str, Any] = {
        "steps": 0,
        "length": 0.0,
        "done": False,
        "key": np.uint64(0),
        "table": np.zeros(shape),
        "order": np.zeros(5, np.int64),
        "pairs": np.zeros((2, 3), np.int64),
        "here": Point(at=np.zeros(2), visits=0),
        "anything": Nothing(),
    }
    return Walk(**{**fields, **given})


NUMBERS = [
    (-1, -0.0, True, 1),
    (2**63 - 1, math.inf, True, LARGE),
    (-(2**63), -math.inf, False, 2**63),
    (7, 5e-324, True, 2**53 + 1),
    (8, math.nan, False, 12345),
]


@pytest.mark.parametrize("writer", ["python", "kernel"])
@pytest.mark.parametrize(("steps", "length", "done", "key"), NUMBERS)
def test_numbers_are_shared(steps: int, length: float, done: bool, key: int, writer: str) -> None:
    walk = new_walk()
    if writer == "kernel":
        write(walk, steps, length, done, np.uint64(key))
    else:
        walk.steps, walk.length, walk.done, walk.key = steps, length, done, np.uint64(key)
        walk.here.visits = steps
    in_python = walk.steps, walk.length, walk.done, walk.key, walk.here.visits
    for found in (read(walk), in_python):
        assert [found[0], found[2], int(found[3]), found[4]] == [steps, done, key, steps]
        assert np.float64(found[1]).tobytes() == np.float64(length).tobytes()


@pytest.mark.parametrize("shape", [(3, 4), (4, 1), (1, 7), (0, 4), (4, 0)])
def test_arrays_are_shared(shape: tuple[int, int]) -> None:
    walk = new_walk(shape)
    table, order, pairs, at = walk.table, walk.order, walk.pairs, walk.here.at
    fill_arrays(walk)
    places = np.add.outer(10.0 * np.arange(shape[0]), np.arange(shape[1]))
    assert_array_equal(table, places)
    assert_array_equal(pairs, [[0, 1, 2], [100, 101, 102]])
    assert_array_equal(order, [0, -1, -2, -3, -4])
    assert_array_equal(at, [0.0, 0.5])
    table[:] = np.random.default_rng(1).normal(size=shape)
    order[:], at[:] = [3, 0, 0, 0, 0], 0.25
    assert total(walk) == pytest.approx(float(np.sum(places * table)) + 3.5)


def test_arrays_and_structs_are_kept_alive() -> None:
    walk = new_walk(table=np.ones((300, 300)), here=Point(at=np.full(1000, 2.0), visits=0))
    gc.collect()
    junk = [np.full((300, 300), 7.0) for _ in range(20)] + [np.full(1000, 7.0) for _ in range(20)]
    places = np.add.outer(10.0 * np.arange(300), np.arange(300))
    assert total(walk) == pytest.approx(float(places.sum()) + 2000.0)
    assert len(junk) == 40


def test_arrays_and_structs_can_only_be_filled() -> None:
    walk = new_walk()
    for name, value in (("table", np.ones((3, 4))), ("here", walk.here), ("odd", 1)):
        with pytest.raises(AttributeError, match=f"{name} of Walk can be filled, not replaced"):
            setattr(walk, name, value)
    walk.table[...] = 1.0
    assert walk.table.sum() == 12.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("table", np.zeros((3, 4), np.float32)),
        ("table", np.zeros((3, 4), order="F")),
        ("table", np.zeros((6, 4))[::2]),
        ("table", np.broadcast_to(np.zeros(4), (3, 4))),
        ("table", [[0.0, 0.0]]),
        ("order", np.zeros(5, np.uint64)),
    ],
)
def test_other_arrays_are_refused(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=rf"{name} must be a writable array of [12] dimension"):
        new_walk(**{name: value})


@pytest.mark.parametrize("value", [Nothing(), None, 0, np.zeros(3)])
def test_kernels_refuse_what_is_another_struct(value: Any) -> None:
    with pytest.raises(TypeError, match="walk must be a Walk"):
        read(value)


def test_kernels_refuse_other_arrays() -> None:
    @kernel
    def first(values: Vector) -> float:
        return values[0]

    assert first(np.full(2, 3.0)) == 3.0
    for values in (np.zeros(4)[::2], np.zeros(2, np.float32), np.zeros((2, 2)), [1.0]):
        with pytest.raises(TypeError, match="values must be a writable array of 1 dimension"):
            first(values)


def test_a_copy_has_all_of_its_own() -> None:
    walk = new_walk(steps=3, key=np.uint64(LARGE), length=0.5)
    fill_arrays(walk)
    other = walk.copy()
    before = total(walk)
    assert (total(other), read(other)) == (before, read(walk))
    write(other, 9, 9.0, True, np.uint64(9))
    other.table[:], other.here.at[:] = 5.0, 5.0
    assert total(walk) == before
    assert read(walk) == (3, 0.5, False, LARGE, 0)
    assert total(other) != before


def test_filling_takes_over_all_numbers() -> None:
    walk, other = new_walk(steps=3, done=True, key=np.uint64(LARGE), length=0.5), new_walk()
    fill_arrays(walk)
    table, here = other.table, other.here
    other.fill(walk)
    assert (other.table is table, other.here is here) == (True, True)
    assert (total(other), read(other)) == (total(walk), read(walk))
    other.table[:] = 0.0
    assert walk.table.any()


@pytest.mark.parametrize("send", [pickle.dumps, copy.copy])
def test_addresses_do_not_travel(send: Any) -> None:
    with pytest.raises(TypeError, match="a Point holds addresses"):
        send(Point(at=np.zeros(1), visits=0))


class Leg(Struct):
    at: PerFeature
    visits: int
    key: np.uint64


class Trip(Struct):
    there: Leg
    back: Leg
    arms: PerArm
    anything: Struct


def test_zeros_makes_the_structs_within() -> None:
    back = Leg.zeros({"d": 3}, visits=7)
    trip = Trip.zeros({"K": 4, "d": 2}, back=back, anything=Nothing())
    assert (trip.there.at.tolist(), trip.there.visits, int(trip.there.key)) == ([0.0, 0.0], 0, 0)
    assert (trip.back is back, trip.arms.shape) == (True, (4,))
    with pytest.raises(TypeError, match="fields of Trip are missing or unknown: anything"):
        Trip.zeros({"K": 4, "d": 2})
