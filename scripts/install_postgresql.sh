#!/usr/bin/env bash
# Install PostgreSQL's server if the system has none. Tests start one of their own on loopback,
# with its data in a temporary directory; only the programs are needed.
set -eu
programs=${MISLID_POSTGRESQL_PROGRAMS:-/usr/lib/postgresql}

present() {
    command -v initdb >/dev/null || compgen -G "$programs/*/bin/initdb" >/dev/null
}

give_up() {
    echo "PostgreSQL is missing and cannot be installed here: $1. Install your system's" \
        "postgresql package, so that initdb is in the PATH or in $programs/*/bin." >&2
    exit 1
}

if present; then exit 0; fi
command -v apt-get >/dev/null || give_up "there is no apt-get"
root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || give_up "that takes root, and there is no sudo"
    root="sudo -n"
fi
echo "installing PostgreSQL for the tests of its storage" >&2
apt="$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120"
said=$(mktemp)
trap 'rm -f "$said"' EXIT
# A list that is out of date may still do, so only the second one counts.
$apt update >"$said" 2>&1 || cat "$said" >&2
$apt install -y --no-install-recommends postgresql >"$said" 2>&1 ||
    { cat "$said" >&2; give_up "apt-get failed, see above"; }
present || give_up "apt-get has installed it somewhere else"
