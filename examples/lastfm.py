"""Last.fm from the raw file to an answer: representation, one user, instance, identification.

    mislid data fetch lastfm
    python examples/lastfm.py --output lastfm.npz --runs 3

The paper's experiment E for any user. A network learns to predict how much any
user listens to any artist; one user's artists in its last layer are the arms. Training takes less
than a minute on one core, the table of choices about half a minute.
"""

import argparse
from pathlib import Path

import numpy as np

import mislid
from mislid.paper.representation import Representation, learn


def main() -> None:
    """Learn features, choose a user, and identify the favourites."""
    from mislid.paper.datasets import lastfm

    arguments = parsed()
    data = lastfm(arguments.data)
    X, y = data.pairs()
    users, artists = data.rewards.index, data.rewards.columns
    print(f"{len(users)} users, {len(artists)} artists, {y.size:,} rows of {X.shape[1]}")
    draw = np.random.default_rng(arguments.seed)
    user = int(draw.choice(users)) if arguments.user is None else arguments.user
    # The pairs of a user stand together, one for every artist.
    first = users.get_loc(user) * len(artists)
    learned = learn(
        X,
        y,
        candidates=X[first : first + len(artists)],
        means=data.rewards.loc[user],
        names=artists,
        epochs=arguments.epochs,
        seed=arguments.seed,
    )
    print(f"R^2 {learned.r2_train:.3f} in training, {learned.r2_test:.3f} in test; user {user}")
    weigh(learned, arguments.m)
    identify(learned, arguments)


def weigh(learned: Representation, m: int) -> None:
    """Print what each number of features costs."""
    print(f"rank {learned.rank}\n  d   error   least    time")
    for d in range(1, learned.rank + 1):
        kept = learned.reduce(d)
        time = mislid.characteristic_time(kept.to_instance().model, kept.means, m, rtol=1e-2)
        least = kept.least_misspecification
        print(f"{d:>3} {kept.misspecification:>7.3f} {least:>7.3f} {time.value:>7,.0f}")


def identify(learned: Representation, arguments: argparse.Namespace) -> None:
    """Save the instance without loss, and find the user's m favourites."""
    instance = learned.reduce().to_instance()
    instance.save(arguments.output)
    print(f"saved {arguments.output}, misspecification {instance.model.misspecification:.4f}")
    for run in range(arguments.runs):
        found = mislid.identify(
            instance,
            arguments.m,
            algorithm=arguments.algorithm,
            stopping=arguments.stopping,
            seed=run,
        )
        verdict = "right" if found.correct else "wrong"
        names = [instance.label(arm) for arm in found.answer]
        print(f"run {run}: artists {names} after {found.samples:,} samples, {verdict}")


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="directory with lastfm/user_artists.dat")
    parser.add_argument("--user", type=int, help="an id; by default one at random")
    parser.add_argument("--m", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--algorithm", default="mislid")
    parser.add_argument("--stopping", default="heuristic")
    parser.add_argument("--output", type=Path, default=Path("lastfm.npz"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
