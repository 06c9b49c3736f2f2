"""Validation of arguments."""

import math
import operator
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mislid._formatting import is_control, shown
from mislid.errors import ProblemError

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Labels = tuple[str, ...] | tuple[int, ...]


def as_array(
    value: Any, name: str, ndim: int, what: str, *, allow_inf: bool = False
) -> npt.NDArray[np.float64]:
    """Copy to a C-contiguous float64 array of `ndim` dimensions with finite entries.

    >>> as_array([[1, 2], [3, 4]], "features", 2, "one row per arm")
    array([[1., 2.],
           [3., 4.]])
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ProblemError(f"{name} must have no masked entries, {what}; got a masked array")
    try:
        given = np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else value)
    except (ValueError, TypeError, OverflowError):
        raise ProblemError(
            f"{name} must be a rectangular array of numbers, {what}; got rows of unequal length"
        ) from None
    if given.ndim != ndim:
        kind = "a vector" if ndim == 1 else "a matrix"
        got = shown(given.item()) if given.ndim == 0 else f"an array of shape {given.shape}"
        raise ProblemError(f"{name} must be {kind} of numbers, {what}; got {got}")
    if given.dtype.kind == "O":
        given = _from_objects(given, name, value)
    elif given.dtype.kind not in "biuf":
        sample = f", such as {given.flat[0].item()!r}" if given.size else ""
        raise ProblemError(
            f"{name} must hold real numbers; got entries of type {given.dtype}{sample}"
        )
    with np.errstate(over="ignore"):
        numbers = np.array(given, dtype=np.float64, order="C")
    allowed = np.isfinite(numbers) | (allow_inf & (numbers == np.inf))
    if not allowed.all():
        index = tuple(int(i) for i in np.argwhere(~allowed)[0])
        raise ProblemError(
            f"{name} must be finite; got {float(numbers[index])!r} at {_place(index, value)}"
        )
    return numbers


def as_vector(
    value: Any,
    name: str,
    size: int,
    *,
    what: str = "one number per arm",
    allow_inf: bool = False,
) -> Vector:
    """Copy to a float64 vector of shape (size,) with finite entries.

    >>> as_vector([1, 2], "means", 2)
    array([1., 2.])
    >>> as_vector([1, float("nan")], "means", 2)
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: means must be finite; got nan at index 1
    """
    vector = as_array(value, name, 1, what, allow_inf=allow_inf)
    if vector.size != size:
        raise ProblemError(f"{name} must have {size} entries, {what}; got {vector.size}")
    return vector


def check_all(allowed: npt.NDArray[np.bool_], vector: Vector, name: str, rule: str) -> None:
    """Raise an error that names the first entry that is not allowed."""
    wrong = np.flatnonzero(~allowed)
    if wrong.size:
        k = int(wrong[0])
        raise ProblemError(f"{name} must be {rule}; got {float(vector[k])!r} at index {k}")


# Squared distances between means must be finite.
LARGEST_MEAN = 1e150


def as_means(means: Any, size: int) -> Vector:
    """Means (size,), small enough that squared distances between them are finite.

    >>> as_means([0.4, 0.5], 2)
    array([0.4, 0.5])
    """
    vector = as_vector(means, "means", size)
    limits = f"from {-LARGEST_MEAN:g} to {LARGEST_MEAN:g} (use another unit)"
    check_all(np.abs(vector) <= LARGEST_MEAN, vector, "means", limits)
    return vector


def as_weights(weights: Any, size: int, name: str = "weights") -> Vector:
    """A vector of shape (size,) with no negative entry and at least one positive one.

    >>> as_weights([1, 0], 2)
    array([1., 0.])
    """
    vector = as_vector(weights, name, size)
    check_all(vector >= 0.0, vector, name, "at least 0")
    if not vector.any():
        raise ProblemError(f"{name} must have at least one positive entry; got {size} zeros")
    # Adding zero turns -0.0 into 0.0, so that a division by a weight never gives -inf.
    return vector + 0.0


def as_number(
    value: Any,
    name: str,
    *,
    low: float,
    high: float,
    low_open: bool = False,
    high_open: bool = False,
    allow_inf: bool = False,
) -> float:
    """A float between `low` and `high`; infinity only if it is allowed.

    >>> as_number(0.05, "delta", low=0, high=1, low_open=True, high_open=True)
    0.05
    >>> as_number(1, "delta", low=0, high=1, low_open=True, high_open=True)
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: delta must be a number above 0 and below 1; got 1
    """
    number = _float_or_nan(value)
    above = number > low if low_open else number >= low
    below = number < high if high_open else number <= high
    if not (above and below) or (math.isinf(number) and not allow_inf):
        allowed = _range_text(low, high, low_open, high_open, allow_inf)
        raise ProblemError(f"{name} must be {allowed}; got {shown(value)}")
    return number


# The memory of rules grows with the number of pairs: this many need about 3 GB.
MOST_PAIRS = 10**8


def as_top_m(m: Any, K: int) -> int:
    """The number of arms to identify, an integer in 1..K-1.

    >>> as_top_m(3, K=5)
    3
    """
    number = _integer_or_none(m)
    if number is None or not 1 <= number < K:
        raise ProblemError(
            f"m must be an integer from 1 to {K - 1} with K={K} arms; got m={shown(m)}"
        )
    if number * (K - number) > MOST_PAIRS:
        raise ProblemError(
            f"m and K must leave at most {MOST_PAIRS:,} pairs of an arm that is among the m best "
            f"and one that is not, since every pair is looked at; got m={number} and K={K}, which "
            f"have {number * (K - number):,}: look for fewer, or leave out arms without a chance"
        )
    return number


def as_arm(value: Any, name: str, K: int) -> int:
    """An arm's index, an integer in 0..K-1.

    >>> as_arm(4, "challenger", K=5)
    4
    """
    number = _integer_or_none(value)
    if number is None or not 0 <= number < K:
        raise ProblemError(
            f"{name} must be an arm index from 0 to {K - 1} with K={K} arms; got {shown(value)}"
        )
    return number


def as_count(value: Any, name: str, low: int, high: int = (1 << 63) - 1) -> int:
    """An integer from `low` to `high`, which is the largest 64-bit integer by default.

    >>> as_count(100, "runs", 1)
    100
    """
    number = _integer_or_none(value)
    if number is None or not low <= number <= high:
        most = f" and at most {shown(high)}" if number is not None and number > high else ""
        raise ProblemError(f"{name} must be an integer at least {low}{most}; got {shown(value)}")
    return number


# NumPy accepts larger seeds, but files and messages should hold them in full.
LARGEST_SEED = 1 << 1024


def as_seed(seed: Any) -> np.random.SeedSequence:
    """The seed sequence of an integer, or the given seed sequence.

    >>> as_seed(7).entropy
    7
    """
    if isinstance(seed, np.random.SeedSequence):
        return seed
    try:
        if isinstance(seed, bool | str | float) or (isinstance(seed, int) and seed > LARGEST_SEED):
            raise TypeError
        return np.random.SeedSequence(seed)
    except (TypeError, ValueError):
        raise ProblemError(f"seed must be an integer at least 0; got {shown(seed)}") from None


def as_text(value: Any, name: str, what: str = "a text that is not empty") -> str:
    """A text that is not empty and can be encoded as UTF-8.

    Lone surrogates cannot; Python produces them from command-line arguments that are not UTF-8.

    >>> as_text("tea", "study_name")
    'tea'
    """
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ProblemError(f"{name} must be {what}; got {shown(value)}")
    if not is_unicode(value):
        raise ProblemError(f"{name} must be text of Unicode characters; got {shown(value)}")
    return value


# Characters of a label, a study's name, a worker's name and a reason at most.
LONGEST_LABEL, LONGEST_NAME, LONGEST_WORKER, LONGEST_REASON = 200, 100, 100, 1_000


def as_line(value: Any, name: str, most: int, what: str = "a text that is not empty") -> str:
    """A text on one line, without control characters and of at most so many characters.

    >>> as_line("tea", "study_name", 100)
    'tea'
    >>> as_line("tea" + chr(27), "worker", 100)
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: worker must be one line without control characters; got ...
    """
    text = as_text(value, name, what)
    refuse_controls(text, name, most)
    return text


def refuse_controls(text: str, name: str, most: int, at: str = "") -> None:
    """Refuse line breaks, control characters and more than so many characters."""
    if not text.isprintable() and any(map(is_control, text)):
        raise ProblemError(
            f"{name} must be one line without control characters; got {shown(text)}{at}"
        )
    if len(text) > most:
        raise ProblemError(
            f"{name} must have at most {most:,} characters; got {len(text):,}, {shown(text)}{at}"
        )


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded as UTF-8.

    >>> is_unicode(chr(0xE4)), is_unicode(chr(0xD800))
    (True, False)
    """
    return re.search("[\ud800-\udfff]", text) is None


def is_one_of(value: Any, names: Iterable[str]) -> bool:
    """Whether a value is a text and one of these names.

    >>> is_one_of("a", ("a", "b")), is_one_of(["a"], ("a", "b"))
    (True, False)
    """
    return isinstance(value, str) and value in tuple(names)


def as_flag(value: Any, name: str) -> bool:
    """True or False.

    >>> as_flag(True, "partial")
    True
    """
    if not isinstance(value, bool | np.bool_):
        raise ProblemError(f"{name} must be True or False; got {shown(value)}")
    return bool(value)


# Squared weights, noise^-4, must be finite.
LEAST_NOISE = 1e-70
# Largest ratio of the costs of two measurements.
MOST_COST_RATIO = 1e6


def as_noise(noise: Any, K: int, name: str = "noise") -> Vector:
    """One standard deviation per arm, shape (K,), from a scalar or a vector.

    >>> as_noise(0.5, K=3)
    array([0.5, 0.5, 0.5])
    """
    if _is_scalar(noise):
        vector = np.full(K, as_number(noise, name, low=0, high=math.inf, low_open=True))
    else:
        what = "one standard deviation per arm (or a single number)"
        vector = as_vector(noise, name, K, what=what)
    check_all(vector > 0.0, vector, name, "above 0")
    limits = f"between {LEAST_NOISE:g} and {1.0 / LEAST_NOISE:g} (use another unit)"
    fits = (vector >= LEAST_NOISE) & (vector <= 1.0 / LEAST_NOISE)
    check_all(fits, vector, name, limits)
    return vector


def as_costs(cost: Any, K: int, *, allow_inf: bool = False) -> Vector:
    """Costs of a measurement of each arm, shape (K,), from a scalar or a vector.

    >>> as_costs([1, 5, 2], K=3)
    array([1., 5., 2.])
    """
    what = "one cost per arm (or a single number)"
    given = [cost] * K if _is_scalar(cost) else cost
    costs = as_vector(given, "cost", K, what=what, allow_inf=allow_inf)
    check_all(costs > 0.0, costs, "cost", "above 0")
    finite = costs[np.isfinite(costs)]
    if finite.size and finite.max() / MOST_COST_RATIO > finite.min():  # a product may overflow
        raise ProblemError(
            f"cost must not differ by more than a factor of {MOST_COST_RATIO:g}; got "
            f"{float(finite.min())!r} to {float(finite.max())!r}"
        )
    return costs


def in_order(values: Any, name: str, labels: Labels) -> Any:
    """The numbers of a dict or a Series in the order of the labels; other values as given.

    >>> in_order({"b": 2.0, "a": 1.0}, "noise", ("a", "b"))
    [1.0, 2.0]
    >>> in_order({"b": 2.0}, "noise", ("a", "b"))
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: noise must have one number for every candidate; it lacks 'a'
    """
    if isinstance(values, Mapping):
        found = dict(values)
    elif hasattr(values, "to_numpy") and hasattr(values, "index") and np.ndim(values) == 1:
        known = tuple(values.index)
        if known == tuple(range(len(known))):  # a default index
            return values
        found = dict(zip(known, values.to_numpy(), strict=True))
        if len(found) < len(known):
            raise ProblemError(f"{name} must have one number for every candidate; labels repeat")
    else:
        return values
    missing = [label for label in labels if label not in found]
    strange = list(found.keys() - set(labels))
    if missing or strange:
        wrong = f"lacks {missing[0]!r}" if missing else f"has {shown(strange[0])}, which is none"
        raise ProblemError(f"{name} must have one number for every candidate; it {wrong}")
    return [found[label] for label in labels]


def as_labels(names: Iterable[Any], K: int, name: str = "names") -> Labels:
    """K distinct labels, all strings or all integers.

    >>> as_labels(["a", "b"], K=2)
    ('a', 'b')
    """
    try:
        if isinstance(names, (str, bytes)):
            raise TypeError
        given = list(names)
    except TypeError:
        raise ProblemError(f"{name} must be a sequence of {K} labels; got {shown(names)}") from None
    labels = tuple(_label(label, k, name) for k, label in enumerate(given))
    if len(labels) != K:
        raise ProblemError(f"{name} must have {K} labels, one per arm; got {len(labels)}")
    if len({type(label) for label in labels}) > 1:
        raise ProblemError(f"{name} must be all strings or all integers; got both kinds")
    first: dict[str | int, int] = {}
    for k, label in enumerate(labels):
        if label in first:
            raise ProblemError(
                f"{name} must be distinct; got {shown(label)} for arm {first[label]} and arm {k}"
            )
        first[label] = k
    return labels  # type: ignore[return-value]  # one type of label, checked above


def _label(label: Any, k: int, name: str) -> str | int:
    if isinstance(label, str):
        if not is_unicode(label):
            raise ProblemError(
                f"{name} must be text of Unicode characters; got {shown(label)} for arm {k}"
            )
        return str(label)
    number = _integer_or_none(label)
    if number is None:
        raise ProblemError(f"{name} must be strings or integers; got {shown(label)} for arm {k}")
    return number


def _from_objects(given: npt.NDArray[Any], name: str, source: Any) -> npt.NDArray[np.float64]:
    numbers = np.empty(given.shape)
    for index, entry in np.ndenumerate(given):
        try:
            # float() reads text and bytes as numbers, which hides a column read as strings.
            if isinstance(entry, (str, bytes)):
                raise TypeError
            numbers[index] = float(entry)
        except (TypeError, ValueError, OverflowError):
            hint = ""
            if isinstance(entry, str) and _is_frame(source):
                column = shown(source.columns[index[1]])
                hint = f": if it names candidates, make it the index by set_index({column})"
            place = _place(index, source)
            raise ProblemError(
                f"{name} must hold real numbers; got {shown(entry)} at {place}{hint}"
            ) from None
    return numbers


def _place(index: tuple[int, ...], source: Any) -> str:
    """The place of an entry in an array, or by row and column names in a DataFrame."""
    if len(index) == 1:
        return f"index {index[0]}"
    row, column = index
    if _is_frame(source):
        return f"row {shown(source.index[row])}, column {shown(source.columns[column])}"
    return f"row {row}, column {column}"


def _is_frame(source: Any) -> bool:
    return hasattr(source, "columns") and hasattr(source, "index")


def _is_scalar(value: Any) -> bool:
    try:
        return np.ndim(value) == 0
    except ValueError:  # rows of unequal length
        return False


def _float_or_nan(value: Any) -> float:
    if isinstance(value, (bool, np.bool_, str, bytes, complex, np.complexfloating)):
        return math.nan
    if not _is_scalar(value):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _integer_or_none(value: Any) -> int | None:
    if isinstance(value, (bool, np.bool_)) or not _is_scalar(value):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _range_text(low: float, high: float, low_open: bool, high_open: bool, allow_inf: bool) -> str:
    kind = "a number" if math.isfinite(high) or allow_inf else "a finite number"
    bounds = []
    if math.isfinite(low):
        bounds.append(f"above {low:g}" if low_open else f"at least {low:g}")
    if math.isfinite(high):
        bounds.append(f"below {high:g}" if high_open else f"at most {high:g}")
    words = " ".join([kind, " and ".join(bounds)]).strip()
    return f"{words} (inf is allowed)" if allow_inf and math.isinf(high) else words


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array in C order, read-only."""
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def fill(record: object, **values: Any) -> None:
    """Set the fields of a frozen record in its constructor."""
    for name, value in values.items():
        object.__setattr__(record, name, value)
