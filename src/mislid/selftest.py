"""Quick end-to-end checks of an installation: `python -m mislid.selftest`.

They need no optional packages and write no files. The exit status is 0 if all pass, else 1.
"""

from __future__ import annotations

import sys
import traceback

import mislid

FEATURES = {"a": (0.93, -0.21), "b": (-0.34, 0.88), "c": (0.17, 0.29), "d": (0.68, 0.53)}
MEANS = {"a": 1.02, "b": 0.03, "c": -0.11, "d": 0.68}


def public_names() -> None:
    """Check that every public name can be loaded."""
    for name in mislid.__all__:
        expect(getattr(mislid, name, None) is not None, f"mislid.{name} cannot be loaded")


def identification() -> None:
    """Check that the characteristic time has a valid proof and a run finds the best arms."""
    model, means = mislid.Model([*FEATURES.values()], misspecification=0.3), [*MEANS.values()]
    time = mislid.characteristic_time(model, means, 2, rtol=0.1)
    expect(time.check(), f"the characteristic time: {time.check()}")
    found = mislid.identify(mislid.Instance(model, means, noise=0.3), 2, seed=4)
    expect(set(found.answer or ()) == {0, 3}, f"the answer is {found.answer}, not (0, 3)")


def study() -> None:
    """Check that a study decides, its certificate is valid and a forged one is rejected."""
    made = mislid.create_study(candidates=FEATURES, m=2, misspecification=0.5, noise=0.3)
    made.optimize(lambda trial: MEANS[str(trial.arm)], n_trials=1000)
    expect(made.result is not None, "the study did not decide")
    certificate = made.result.certificate.to_dict() if made.result else {}
    expect(mislid.verify(certificate).ok, "the certificate does not hold")
    certificate["data"]["sums"][0] += 1.0
    expect(not mislid.verify(certificate).ok, "a forged certificate holds")


def expect(holds: object, what: str) -> None:
    """Fail unless a condition holds, in optimised Python too."""
    if not holds:
        raise RuntimeError(what)


def main() -> int:
    """Run all checks and print their results."""
    status = 0
    for check in (public_names, identification, study):
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
