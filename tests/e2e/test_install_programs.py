"""The scripts that give a new machine the programs that tests need."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
APT_GET = """#!/bin/sh
echo "$@" >> {calls}
case "$*" in *" install "*)
    mkdir -p {programs}/99/bin && touch {programs}/99/bin/initdb
    touch {bin}/chromium && chmod +x {bin}/chromium ;;
esac
exit {code}
"""


class Machine:
    """A PATH with little in it, and none of the programs."""

    def __init__(self, folder: Path, package: str) -> None:
        self.package = package
        self.bin, self.programs = folder / "bin", folder / "programs"
        self.calls = folder / "calls"
        self.bin.mkdir()
        for name in ("bash", "cat", "chmod", "env", "mkdir", "mktemp", "rm", "touch"):
            (self.bin / name).symlink_to(str(shutil.which(name)))
        self.give("id", "#!/bin/sh\necho 0\n")

    def give(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def give_apt_get(self, code: int = 0) -> None:
        places = {"calls": self.calls, "programs": self.programs, "bin": self.bin}
        self.give("apt-get", APT_GET.format(**places, code=code))

    def install(self) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.bin), "MISLID_POSTGRESQL_PROGRAMS": str(self.programs)}
        return subprocess.run(
            [SCRIPTS / f"install_{self.package}.sh"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


PROGRAMS = {"postgresql": "initdb", "chromium": "chromium"}


@pytest.fixture(params=PROGRAMS)
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Machine:
    return Machine(tmp_path, request.param)


def test_what_is_there_is_left_alone(machine: Machine) -> None:
    machine.give_apt_get()
    machine.give(PROGRAMS[machine.package], "#!/bin/sh\n")
    done = machine.install()
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert not machine.calls.exists()


def test_what_is_missing_is_installed_once(machine: Machine) -> None:
    machine.give_apt_get()
    assert machine.install().returncode == 0
    update, install = machine.calls.read_text().splitlines()
    assert update.endswith(" update")
    assert install.endswith(machine.package)
    assert machine.install().returncode == 0
    assert len(machine.calls.read_text().splitlines()) == 2


@pytest.mark.parametrize("missing", ["apt-get", "sudo", "package"])
def test_where_it_cannot_be_installed_it_says_so(machine: Machine, missing: str) -> None:
    if missing != "apt-get":
        machine.give_apt_get(code=1)
    if missing == "sudo":
        machine.give("id", "#!/bin/sh\necho 1000\n")
    done = machine.install()
    assert done.returncode == 1
    reason = {"apt-get": "no apt-get", "sudo": "no sudo", "package": "apt-get failed"}[missing]
    assert reason in done.stderr
    assert f"Install your system's {machine.package} package" in " ".join(done.stderr.split())
