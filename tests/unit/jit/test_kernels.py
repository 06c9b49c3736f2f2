"""Kernels: one signature each, calls through addresses, and the same numbers without compiler."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers.scripts import run_script
from mislid._jit import Struct, inner, kernel, linked


class Counter(Struct):
    calls: int
    rule: int  # address of a kernel as `tripled`


@inner
def scaled(x: float, factor: float) -> float:
    """The product."""
    return factor * x


@kernel
def tripled(counter: Counter, x: float) -> float:
    counter.calls += 1
    return scaled(x, 3.0)


@kernel
def squared(counter: Counter, x: float) -> float:
    counter.calls += 10
    return x * x


_call_rule = linked(tripled)


@kernel
def twice(counter: Counter, x: float) -> float:
    """Whatever rule the counter has, two times."""
    return _call_rule(counter.rule, counter, _call_rule(counter.rule, counter, x))


def test_a_kernel_has_one_signature() -> None:
    counter = Counter(calls=0, rule=0)
    found = tripled(counter, 2)  # a whole number is a number
    assert (type(found), found) == (float, 6.0)
    for wrong in ((counter, "2"), (counter, 2j), (counter,), (counter, 2.0, 3.0)):
        with pytest.raises(TypeError):
            tripled(*wrong)
    assert counter.calls == 1


@pytest.mark.parametrize(("rule", "expected", "calls"), [(tripled, 18.0, 2), (squared, 16.0, 20)])
def test_kernels_call_kernels_through_addresses(rule: Any, expected: float, calls: int) -> None:
    counter = Counter(calls=0, rule=rule.address)
    assert twice(counter, 2.0) == expected
    assert counter.calls == calls
    assert rule.address == rule.address != 0


def test_threads_may_call_a_kernel_for_the_first_time() -> None:
    fresh, ready = inner(scaled.function), threading.Barrier(8)

    def call(n: int) -> tuple[float, int]:
        ready.wait()
        return fresh(float(n), 2.0), fresh.address

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(call, range(8)))
    assert [value for value, _ in found] == [2.0 * n for n in range(8)]
    assert all(address != 0 for _, address in found)


SCRIPT = """
import json, math
import numpy as np
from mislid import Instance, Model, identify
from mislid.geometry.newton import minimise, solve
from mislid.geometry.alternatives import AlternativeSearch, pair_alternative
from mislid.geometry.projection import project

answers = []
for n in range(8):
    rng = np.random.default_rng(n)
    K, d = int(rng.integers(3, 8)), int(rng.integers(1, 3))
    model = Model(rng.normal(size=(K, d)), float(rng.choice([0.0, 0.05, 0.3])))
    means, weights = rng.normal(size=K), rng.uniform(0.1, 1, K)
    weights[rng.integers(K)] *= float(rng.choice([0.0, 1e-9, 1.0]))
    search = AlternativeSearch(model, 1)
    found = [project(model, means, weights), pair_alternative(model, means, weights, 0, 1)]
    for _ in range(3):
        found.append(search.closest(means, weights, tolerance=0.1))
        means = means + 0.1 * rng.normal(size=K)
    answers.append([(a.cost, a.bound, a.means.tolist()) for a in found])

instance = Instance(Model([[1.0, 0.1], [0.2, 1.0], [0.7, 0.6]], 0.1), [1.0, 0.3, 0.4], noise=0.25)
runs = []
for algorithm in ("mislid", "mislid-authors-tricks", "lingame", "lingape", "lingifa", "lucb"):
    for stopping in ("guaranteed", "paper", "heuristic"):
        run = identify(instance, 1, algorithm=algorithm, stopping=stopping, max_samples=30)
        runs.append((run.status, run.counts.tolist(), run.means.tolist()))
compiled = hasattr(solve, "dispatcher")
print(json.dumps({"compiled": compiled, "answers": answers, "runs": runs}))
"""


def in_process(plain: bool) -> Any:
    return json.loads(run_script(SCRIPT, NUMBA_DISABLE_JIT="1" if plain else "0")[0])


@pytest.mark.slow
def test_plain_python_agrees_with_compiled_code() -> None:
    """Sums are taken in another order, so the last steps may differ in rounding."""
    compiled, plain = in_process(plain=False), in_process(plain=True)
    assert compiled["compiled"]
    assert not plain["compiled"]
    for one, other in zip(compiled["answers"], plain["answers"], strict=True):
        for (cost, bound, means), (cost2, bound2, means2) in zip(one, other, strict=True):
            assert_allclose([cost, bound], [cost2, bound2], rtol=1e-9, atol=1e-15)
            assert_allclose(np.array(means), np.array(means2), rtol=1e-6, atol=1e-9)
    for (status, counts, means), (status2, counts2, means2) in zip(
        compiled["runs"], plain["runs"], strict=True
    ):
        assert (status, counts) == (status2, counts2)
        assert_allclose(means, means2, rtol=1e-12)
    assert {status for status, _, _ in plain["runs"]} == {"stopped", "budget exhausted"}
