"""Quick end-to-end checks of an installation: `python -m mislid.selftest`.

They need only what the package itself needs, and write no files. The exit status is 0 when all is
well, else 1.
"""

from __future__ import annotations

import sys
import traceback

import mislid

FEATURES = ((0.93, -0.21), (-0.34, 0.88), (0.17, 0.29), (0.68, 0.53), (-0.47, -0.62))
MEANS = (1.02, 0.03, -0.11, 0.68, -0.57)
BEST = (0, 3)


class Failed(Exception):
    """A result is not as it should be."""


def expect(holds: object, what: str) -> None:
    """Fail unless something holds; unlike `assert`, also in optimised Python."""
    if not holds:
        raise Failed(what)


def public_names() -> None:
    """Every public name can be loaded."""
    for name in mislid.__all__:
        expect(getattr(mislid, name, None) is not None, f"mislid.{name} cannot be loaded")


def geometry() -> None:
    """The closest alternative and the characteristic time carry proofs that hold."""
    model = mislid.Model(FEATURES, misspecification=0.1)
    alternative = mislid.closest_alternative(model, MEANS, (1, 2, 3, 4, 5), 2)
    expect(alternative.check(), f"the closest alternative: {alternative.check()}")
    time = mislid.characteristic_time(model, MEANS, 2, rtol=0.1)
    expect(time.check(), f"the characteristic time: {time.check()}")


def identification() -> None:
    """A run finds the best arms, and its certificate is verified."""
    instance = mislid.Instance(mislid.Model(FEATURES, misspecification=0.3), MEANS, noise=0.3)
    found = mislid.identify(instance, 2, seed=4, max_samples=10_000)
    expect(set(found.answer or ()) == set(BEST), f"the answer is {found.answer}, not {BEST}")


def study() -> None:
    """A study decides; its certificate holds, and a forged one does not."""
    means = dict(zip("abcde", MEANS, strict=True))
    made = mislid.create_study(
        candidates=dict(zip("abcde", FEATURES, strict=True)), m=2, misspecification=0.5, noise=0.3
    )
    made.optimize(lambda trial: means[str(trial.arm)], n_trials=1000)
    expect(made.result is not None, "the study did not decide")
    certificate = made.result.certificate.to_dict() if made.result else {}
    expect(mislid.verify(certificate).ok, "the certificate does not hold")
    certificate["data"]["sums"][0] += 1.0
    expect(not mislid.verify(certificate).ok, "a forged certificate holds")


CHECKS = (public_names, geometry, identification, study)


def main() -> int:
    """Run all checks, and print what they find."""
    status = 0
    for check in CHECKS:
        try:
            check()
            said = "passed"
        except Exception:  # noqa: BLE001 - a damaged installation may raise anything
            said, status = f"FAILED\n{traceback.format_exc()}", 1
        sys.stdout.write(f"{check.__name__:<16} {said}\n")
    sys.stdout.write("ok\n" if status == 0 else "not ok: the installation is damaged\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
