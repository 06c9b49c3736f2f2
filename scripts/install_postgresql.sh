#!/usr/bin/env bash
# Install PostgreSQL's server if the system has none. Tests start one of their own on loopback,
# with its data in a temporary directory; only the programs are needed.
set -eu
. "${BASH_SOURCE[0]%/*}/debian_package.sh"
programs=${MISLID_POSTGRESQL_PROGRAMS:-/usr/lib/postgresql}

present() {
    command -v initdb >/dev/null || compgen -G "$programs/*/bin/initdb" >/dev/null
}

give_up() {
    echo "PostgreSQL is missing and cannot be installed here: $1. Install your system's" \
        "postgresql package, so that initdb is in the PATH or in $programs/*/bin." >&2
    exit 1
}

install_package postgresql "PostgreSQL for the tests of its storage"
