# Sourced by the scripts that install what tests need; each defines `present`, whether it is there,
# `give_up REASON`, which says what to do by hand, and calls `install_package PACKAGE WHAT`.

install_package() {
    local root= said apt
    if present; then exit 0; fi
    command -v apt-get >/dev/null || give_up "there is no apt-get"
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || give_up "that takes root, and there is no sudo"
        root="sudo -n"
    fi
    echo "installing $2" >&2
    apt="$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120"
    said=$(mktemp)
    # A list that is out of date may still do, so only the second one counts.
    $apt update >"$said" 2>&1 || cat "$said" >&2
    if ! $apt install -y --no-install-recommends "$1" >"$said" 2>&1; then
        cat "$said" >&2
        rm -f "$said"
        give_up "apt-get failed, see above"
    fi
    rm -f "$said"
    present || give_up "apt-get has installed it somewhere else"
}
