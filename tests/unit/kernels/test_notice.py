"""The notice of a compilation: when there is one, and only then."""

import time

import pytest
from mislid.geometry.notice import MESSAGE, compiling_notice
from numba import njit


@pytest.fixture
def function():
    @njit
    def double(x):
        return 2 * x

    return double


def test_a_compilation_is_announced_once(capsys, function):
    with compiling_notice(seconds=0.0):
        function(1)
        function(1.0)
        function(1j)
    assert capsys.readouterr().err.count(MESSAGE) == 1


def test_nothing_is_said_of_what_is_quick(capsys, function):
    with compiling_notice(seconds=60.0):
        function(1)
    assert not capsys.readouterr().err


def test_nothing_is_said_of_what_is_compiled_already(capsys, function):
    function(1)
    with compiling_notice(seconds=0.0):
        function(1)
        time.sleep(0.05)
    assert not capsys.readouterr().err
