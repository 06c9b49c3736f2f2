"""Replication as it is lived: a cluster, a kill in the middle, Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
import warnings

import psutil
import pytest

from helpers.command_line import ENVIRONMENT
from mislid import Instance, Model
from mislid.simulation.replicate import replicate_rows

pytestmark = pytest.mark.usefixtures("fake_job")
INSTANCE = Instance(Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.1), [0.4, 0.5, 0.8])
RUNS = 24

# Nothing is guarded: processes must not run it again.
SCRIPT = """
import sys
from mislid import Instance, Model
from mislid.errors import Interrupted
from mislid.simulation import replicate
from helpers import fake_runs

replicate.Job = fake_runs.FakeJob
instance = Instance(Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.1), [0.4, 0.5, 0.8])
try:
    replicate.replicate_rows(
        instance, 1, runs=24, jobs=int(sys.argv[2]), output=sys.argv[1], wait=0.1,
        stuck_from=int(sys.argv[3]),
    )
except Interrupted as interruption:
    sys.exit(f"{interruption}, {len(interruption.rows)} rows")
"""


def untimed(rows):
    return [row[:4] for row in rows]


def rows(runs=RUNS, **options):
    return replicate_rows(INSTANCE, 1, runs=runs, **options)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def start(script, output, jobs, stuck_from=RUNS):
    return subprocess.Popen(
        [sys.executable, script, output, str(jobs), str(stuck_from)],
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_rows(output, process, least=4):
    while process.poll() is None:
        file = output / "runs.csv"
        if file.exists() and file.read_text().count("\n") > least:
            return
        time.sleep(0.02)
    raise AssertionError(f"ended too early: {process.stderr.read()}")


def ended(processes):
    _, alive = psutil.wait_procs(processes, timeout=30)
    for process in alive:
        process.kill()
    return not alive


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_replication_goes_on(script, tmp_path, jobs):
    output = tmp_path / "out"
    process = start(script, output, jobs)
    wait_for_rows(output, process)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    process.stderr.close()
    assert ended(workers)
    before = (output / "runs.csv").read_text().splitlines()
    assert 4 < len(before) < RUNS + 1
    process = start(script, output, jobs)
    _, said = process.communicate()
    assert process.returncode == 0, said
    after = (output / "runs.csv").read_text().splitlines()
    assert all(line in after for line in before)
    assert [int(line.partition(",")[0]) for line in after[1:]] == list(range(RUNS))
    again = rows(output=output, wait=0.1, stuck_from=RUNS)
    assert untimed(again) == untimed(rows())


@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT")
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_at_once_and_keeps_rows(script, tmp_path, jobs):
    output = tmp_path / "out"
    process = start(script, output, jobs, stuck_from=6)
    wait_for_rows(output, process)
    workers = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)  # a terminal tells all of them
    try:
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()  # in case it did not end; its workers follow
    assert process.returncode == 1
    assert "Traceback" not in said
    kept = (output / "runs.csv").read_text().splitlines()[1:]
    assert f"interrupted after {len(kept)} of 24 runs, kept in '{output}', {len(kept)} rows" in said
    assert 4 <= len(kept) < RUNS
    assert ended(workers)


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ports and event loops, not ours
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client


@pytest.mark.parametrize("way", ["client", "executor"])
def test_a_cluster_gives_the_same_rows(client, way, tmp_path):
    assert len(client.scheduler_info()["workers"]) == 2
    worker = client if way == "client" else client.get_executor()
    assert untimed(rows(**{way: worker}, output=tmp_path)) == untimed(rows())
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == RUNS + 1


@pytest.mark.parametrize("way", ["client", "executor"])
def test_an_interruption_frees_the_cluster(client, way):
    def press(done, _):
        if done == 3:
            raise KeyboardInterrupt

    worker = client if way == "client" else client.get_executor()
    with pytest.raises(KeyboardInterrupt, match="interrupted after 3 of 2000 runs"):
        rows(2000, **{way: worker}, progress=press, wait=0.05)
    deadline = time.monotonic() + 30
    while any(client.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(client.processing().values())
