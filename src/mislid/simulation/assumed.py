"""What the rules are told of the noise in a simulation, and where rewards then come from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mislid._validation import as_noise
from mislid._words import shown
from mislid.errors import ProblemError
from mislid.model import Instance
from mislid.rules.noise import NOISE_MODELS, UNDECLARED
from mislid.simulation.environments import (
    Bernoulli,
    Bounded,
    Environment,
    Gaussian,
    Table,
    as_environment,
)

AssumedNoise = ArrayLike | str | None


def as_assumed(
    assume_noise: AssumedNoise, environment: Environment | None, instance: Instance
) -> tuple[Environment, dict[str, Any]]:
    """Where rewards come from, and arguments of the question.

    Examples
    --------
    >>> from mislid import Model
    >>> instance = Instance(Model([[1], [2]], misspecification=0.1), [0.2, 0.5])
    >>> source, told = as_assumed("bernoulli", None, instance)
    >>> type(source).__name__, told
    ('Bernoulli', {'noise_model': 'bernoulli'})
    """
    if assume_noise is None:
        return as_environment(environment, instance), {"noise": instance.noise}
    if not isinstance(assume_noise, str):
        declared = as_noise(assume_noise, instance.K, "assume_noise")
        return as_environment(environment, instance, relied_on=False), {"noise": declared}
    if assume_noise not in NOISE_MODELS[1:]:
        names = ", ".join(repr(name) for name in NOISE_MODELS[1:])
        raise ProblemError(
            f"assume_noise must be None, standard deviations, or one of {names}; "
            f"got {shown(assume_noise)}"
        )
    if environment is None and assume_noise not in UNDECLARED:
        kind = Bounded if assume_noise == "bounded" else Bernoulli
        environment = kind(instance.means)
    source = as_environment(environment, instance, relied_on=False)
    told: dict[str, Any] = {"noise_model": assume_noise}
    if assume_noise == "bounded":
        if isinstance(source, Gaussian):
            raise ProblemError(
                "environment must have rewards within a range for assume_noise='bounded', such as "
                "Bounded, Bernoulli or Table; got Gaussian"
            )
        told["reward_range"] = source.reward_range
    if assume_noise == "bernoulli" and not _is_zero_or_one(source):
        raise ProblemError(
            "environment must have rewards 0 and 1 for assume_noise='bernoulli', such as "
            f"Bernoulli; got {type(source).__name__}"
        )
    return source, told


def _is_zero_or_one(source: Environment) -> bool:
    """Whether rewards are 0 or 1; those of others' environments are looked at as they come."""
    if isinstance(source, Table):
        return bool(np.isin(source.rewards, (0.0, 1.0)).all())
    return not isinstance(source, Gaussian | Bounded)
