#!/usr/bin/env bash
# Install Chromium if the system has none. Tests of the server's pages start it without a window.
set -eu
. "${BASH_SOURCE[0]%/*}/debian_package.sh"

present() {
    command -v chromium >/dev/null || command -v chromium-browser >/dev/null
}

give_up() {
    echo "Chromium is missing and cannot be installed here: $1. Install your system's chromium" \
        "package, so that chromium is in the PATH." >&2
    exit 1
}

install_package chromium "Chromium for the tests of the server's pages"
