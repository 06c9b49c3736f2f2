"""Models of the means, and instances with the true means and the noise."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from mislid import io
from mislid._validation import (
    Labels,
    Matrix,
    Vector,
    as_arm,
    as_array,
    as_labels,
    as_noise,
    as_number,
    as_top_m,
    as_vector,
    fill,
    frozen,
)
from mislid.errors import OutsideTubeWarning, ProblemError

__all__ = ["Instance", "Model", "load_instance"]

Record = TypeVar("Record", "Model", "Instance")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Model:
    """Means that are linear in the features up to a bounded deviation.

    The model set is `M = {A theta + eta : theta in R^d, |eta_k| <= misspecification for all k}`
    for features A of shape (K, d), one row per arm (Section 2 of the paper).

    Parameters
    ----------
    features
        Array-like or DataFrame of shape (K, d), K >= 2; a DataFrame's index names the arms.
        Columns that depend linearly on others are dropped: the set of means stays the same.
    misspecification
        Largest deviation from linearity, in [0, inf]: 0 for a linear bandit, inf for an
        unstructured one.

    Attributes
    ----------
    features
        Float64 array of shape (K, d) and full column rank, read-only.
    names
        The arms' labels, or None.
    columns
        Indices of the given columns that were kept, increasing.

    Raises
    ------
    ProblemError
        The features are not a matrix of finite numbers with at least two rows and a nonzero entry;
        the index of a DataFrame has repeated or mixed labels; or the misspecification is negative.

    Examples
    --------
    >>> Model([[1, 0], [0, 1], [1, 1]], misspecification=0.1)
    Model(K=3, d=2, misspecification=0.1)
    >>> Model([[1, 0, 1], [0, 1, 1], [1, 1, 2]], misspecification=0)
    Model(K=3, d=2, misspecification=0.0)
    """

    features: Matrix
    misspecification: float
    names: Labels | None
    columns: tuple[int, ...]
    _cache: dict[Any, Any]

    def __init__(self, features: Any, misspecification: float) -> None:
        given = as_array(features, "features", 2, "one row per arm and one column per feature")
        _refuse_degenerate(given)
        kept = _independent_columns(given)
        fill(
            self,
            features=frozen(given[:, kept]),
            misspecification=as_number(
                misspecification, "misspecification", low=0, high=math.inf, allow_inf=True
            ),
            names=_index_labels(features, "features", given.shape[0]),
            columns=tuple(kept.tolist()),
            _cache={},
        )

    @property
    def K(self) -> int:
        """Number of arms."""
        return int(self.features.shape[0])

    @property
    def d(self) -> int:
        """Dimension of the features' span."""
        return int(self.features.shape[1])

    def with_misspecification(self, misspecification: float) -> Model:
        """The same features with another misspecification.

        Parameters
        ----------
        misspecification
            How far a mean may be from linear, at least 0; infinity allows all means.

        Returns
        -------
        Model
            A new model. It shares cached results, which depend on the features alone.

        Raises
        ------
        ProblemError
            The misspecification is negative or not a number.

        Examples
        --------
        >>> Model([[1, 0], [0, 1], [1, 1]], misspecification=0.1).with_misspecification(0.5)
        Model(K=3, d=2, misspecification=0.5)
        """
        width = as_number(
            misspecification, "misspecification", low=0, high=math.inf, allow_inf=True
        )
        # The cache depends on the features alone.
        return _restored(Model, {**vars(self), "misspecification": width})

    def __repr__(self) -> str:
        return f"Model(K={self.K}, d={self.d}, misspecification={self.misspecification!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (Model, {**vars(self), "_cache": {}})


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Instance:
    """A model with the true means and the noise of its arms.

    Arm k gives rewards of mean means[k] and standard deviation noise[k]. Means outside the model's
    tube are accepted with an `OutsideTubeWarning`, which states the `deviation` that they need.

    Parameters
    ----------
    model
        The model that algorithms are given.
    means
        Array-like of shape (K,).
    noise
        One positive standard deviation for all arms, or one per arm.
    names
        K distinct strings or K distinct integers; by default those of the model.

    Raises
    ------
    ProblemError
        An argument has the wrong shape or a value that is not allowed, or the means are a Series
        whose index differs from the features' own.

    Warns
    -----
    OutsideTubeWarning
        The means need a larger misspecification than the model declares.

    Examples
    --------
    >>> model = Model([[1, 0], [0, 1], [1, 1]], misspecification=0.1)
    >>> instance = Instance(model, [0.3, 0.5, 0.8], names=["a", "b", "c"])
    >>> instance.top(2), instance.label(2)
    ((2, 1), 'c')

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     instance.save(path := pathlib.Path(folder) / "arms.npz")
    ...     load_instance(path)
    Instance(Model(K=3, d=2, misspecification=0.1), best arm 'c')
    """

    model: Model
    means: Vector
    noise: Vector
    names: Labels | None

    def __init__(
        self,
        model: Model,
        means: npt.ArrayLike,
        noise: float | npt.ArrayLike = 1.0,
        names: Iterable[str] | Iterable[int] | None = None,
    ) -> None:
        as_model(model)
        true_means = as_vector(means, "means", model.K)
        refuse_other_labels(model, means=means, noise=noise)
        fill(
            self,
            model=model,
            means=frozen(true_means),
            noise=frozen(as_noise(noise, model.K)),
            names=model.names if names is None else as_labels(names, model.K),
        )
        self._warn_outside_tube()

    @property
    def K(self) -> int:
        """Number of arms."""
        return self.model.K

    @property
    def d(self) -> int:
        """Dimension of the features' span."""
        return self.model.d

    @cached_property
    def deviation(self) -> float:
        """The least misspecification that contains the means: `min_theta max_k |mu - A theta|_k`.

        Examples
        --------
        >>> model = Model([[1], [1]], misspecification=1)
        >>> round(Instance(model, [0, 1]).deviation, 9)
        0.5
        """
        from mislid.geometry.tube import chebyshev_deviation

        deviation, _ = chebyshev_deviation(self.model.features, self.means)
        return float(deviation)

    def label(self, k: int) -> str | int:
        """Return the user's name of arm k, or k itself where the arms have no names.

        Parameters
        ----------
        k
            Index of an arm, from 0 to K - 1.

        Returns
        -------
        str or int
            The arm's name.

        Raises
        ------
        ProblemError
            If there is no arm k.

        Examples
        --------
        >>> Instance(Model([[1], [2]], 0), [1, 2], names=[10, 20]).label(1)
        20
        """
        k = as_arm(k, "k", self.K)
        return k if self.names is None else self.names[k]

    def top(self, m: int) -> tuple[int, ...]:
        """Return the m arms of largest mean, best first; of tied arms, the lower index first.

        Parameters
        ----------
        m
            How many arms, from 1 to K - 1.

        Returns
        -------
        tuple of int
            Indices of the arms.

        Raises
        ------
        ProblemError
            If m is not a whole number from 1 to K - 1.

        Examples
        --------
        >>> Instance(Model([[1], [2], [2]], 0), [1, 2, 2]).top(2)
        (1, 2)
        """
        m = as_top_m(m, self.K)
        order = np.argsort(-self.means, kind="stable")
        return tuple(order[:m].tolist())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the instance to a .npz file that `load_instance` reads back exactly.

        The columns of features that the model dropped are not in the file.

        Parameters
        ----------
        path
            Where to write; it ends in .npz.

        Raises
        ------
        ProblemError
            The path has another ending, or its directory does not exist.
        """
        model = self.model
        table = io.Table(model.features, self.means, self.noise, self.names, model.misspecification)
        io.write_table(path, table)

    def __repr__(self) -> str:
        return f"Instance({self.model!r}, best arm {self.label(self.top(1)[0])!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (Instance, vars(self))

    def _warn_outside_tube(self) -> None:
        declared = self.model.misspecification
        slack = 1e-9 * float(np.abs(self.means).max())
        if math.isinf(declared) or _least_squares_deviation(self) <= declared + slack:
            return
        if self.deviation > declared + slack:
            warnings.warn(
                f"means need a misspecification of at least {self.deviation:.12g}, "
                f"more than the declared {declared:g}",
                OutsideTubeWarning,
                stacklevel=3,
            )


def as_model(model: Any) -> Model:
    """Check that an argument is a model."""
    if not isinstance(model, Model):
        raise ProblemError(f"model must be a mislid.Model; got {type(model).__name__}")
    return model


def load_instance(
    path: str | os.PathLike[str],
    misspecification: float | None = None,
    *,
    noise: float | npt.ArrayLike | None = None,
) -> Instance:
    r"""Read an instance from a .npz or .csv file.

    A .npz file holds the arrays features (K, d) and means (K,), and optionally names (K,),
    noise (a scalar or (K,)) and misspecification (a scalar). A .csv file has a heading line with
    a column `mean`, optionally `name` and `noise`, and one column per feature. The
    arguments take precedence over the file.

    Parameters
    ----------
    path
        A file that ends in .npz or .csv.
    misspecification
        Largest deviation from linearity, in [0, inf]; None takes that of the file.
    noise
        One standard deviation for all arms, or (K,); None takes that of the file, or 1.

    Returns
    -------
    Instance
        The model with the true means, the noise and the names of its arms.

    Raises
    ------
    FileFormatError
        The file cannot be read, or lacks the features or the means.
    ProblemError
        No misspecification is declared, or a value in the file or an argument is not allowed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "arms.csv"
    ...     _ = path.write_text("name,mean,x,y\na,0.3,1,0\nb,0.5,0,1\n")
    ...     load_instance(path, misspecification=0.1)
    Instance(Model(K=2, d=2, misspecification=0.1), best arm 'b')
    """
    table = io.read_table(path)
    declared = table.misspecification if misspecification is None else misspecification
    if declared is None:
        raise ProblemError(
            f"misspecification must be given for {os.fspath(path)!r}, which declares none: "
            "a number at least 0, or inf"
        )
    spread = noise if noise is not None else table.noise
    try:
        model = Model(table.features, declared)
        return Instance(model, table.means, 1.0 if spread is None else spread, table.names)
    except ProblemError as problem:
        problem.add_note(f"reading {os.fspath(path)!r}")
        raise


def _restored(kind: type[Record], fields: dict[str, Any]) -> Record:
    """A record with these fields, without another validation.

    Arrays become read-only again, because pickles and copies lose that flag.
    """
    record = object.__new__(kind)
    for name, value in fields.items():
        fill(record, **{name: frozen(value) if isinstance(value, np.ndarray) else value})
    return record


def _refuse_degenerate(features: Matrix) -> None:
    K, d = features.shape
    if K < 2:
        raise ProblemError(f"features must have at least 2 rows, one per arm; got {K}")
    if d < 1:
        raise ProblemError(f"features must have at least 1 column; got shape {features.shape}")
    if not features.any():
        raise ProblemError(f"features must have a nonzero entry; got {K} x {d} zeros")


def _independent_columns(features: Matrix) -> npt.NDArray[np.intp]:
    """Indices, increasing, of columns that form a basis of the column space."""
    scale = np.abs(features).max(axis=0)
    nonzero = np.flatnonzero(scale)
    scaled = features[:, nonzero] / scale[nonzero]
    K, d = scaled.shape
    # Far above rounding errors, far below the residual of a column collinear to nine digits.
    threshold = min(10 * max(K, d) * np.finfo(float).eps, 1e-11)
    if d <= K:
        singular = np.linalg.svd(scaled, compute_uv=False)
        if singular[-1] > threshold * singular[0]:
            return nonzero
    from scipy.linalg import qr

    triangle, pivots = qr(scaled, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(triangle))
    rank = int(np.count_nonzero(diagonal > threshold * diagonal[0]))
    independent: npt.NDArray[np.intp] = nonzero[np.sort(pivots[:rank])]
    return independent


def _index_labels(table: Any, name: str, K: int) -> Labels | None:
    if not (hasattr(table, "to_numpy") and hasattr(table, "index")):
        return None
    labels = tuple(table.index)
    return None if labels == tuple(range(K)) else as_labels(labels, K, f"the index of {name}")


def refuse_other_labels(model: Model, **given: Any) -> None:
    """Refuse a Series whose labels differ from those of the features, or come in another order.

    Examples
    --------
    >>> import pandas as pd
    >>> model = Model(pd.DataFrame({"x": [1, 2]}, index=["a", "b"]), 0.1)
    >>> refuse_other_labels(model, means=pd.Series([1, 2], index=["b", "a"]))
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: means must be labelled like the features, in the same order; got ...
    """
    if model.names is None:
        return
    for name, values in given.items():
        labels = _index_labels(values, name, model.K)
        if labels is None or labels == model.names:
            continue
        k = next(k for k in range(model.K) if labels[k] != model.names[k])
        raise ProblemError(
            f"{name} must be labelled like the features, in the same order; "
            f"got {labels[k]!r} for arm {k}, which the features call {model.names[k]!r}"
        )


def _least_squares_deviation(instance: Instance) -> float:
    features = instance.model.features
    scaled = features / np.abs(features).max(axis=0)
    theta = np.linalg.lstsq(scaled, instance.means, rcond=None)[0]
    return float(np.abs(instance.means - scaled @ theta).max())
