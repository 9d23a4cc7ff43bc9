#!/usr/bin/env bash
# Sees to it that the tests find what they need besides Go: a redis-server, because they run against a real one; a C compiler,
# because the race detector needs cgo; and make. What is missing is installed where that is possible without asking (root and
# apt-get); elsewhere it is named, with how to get it, and the exit code is 1.
set -euo pipefail

packages=()
missing=()
need() { # need <what for> <Debian package> <command>...
	local what=$1 package=$2 command
	shift 2
	for command in "$@"; do
		if command -v "$command" >/dev/null 2>&1; then return; fi
	done
	packages+=("$package")
	missing+=("$1 ($what; Debian and Ubuntu: apt-get install $package)")
}

need "the tests run against a real one; Fedora: dnf install redis; macOS: brew install redis" redis-server redis-server
need "the race detector needs a C compiler; Fedora: dnf install gcc; macOS: xcode-select --install" gcc "$(go env CC)" cc gcc clang
need "the commands stand in a Makefile; Fedora: dnf install make; macOS: xcode-select --install" make make

if [ ${#packages[@]} -eq 0 ]; then exit 0; fi

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing ${packages[*]}" >&2
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
	exit 0
fi

echo "These are missing, and this is not a root shell with apt-get, so please install them first:" >&2
printf '  %s\n' "${missing[@]}" >&2
exit 1
