#!/usr/bin/env bash
# Sees to it that the tests find what they need besides Go: a redis-server and the programs of a PostgreSQL server, because they
# run against real ones; a C compiler, because the race detector needs cgo; make; and Node with the npm package jsonwebtoken,
# which verifies our tokens. PostgreSQL refuses to run as root, so root needs an unprivileged user as which to run it. What is
# missing is installed where that is possible without asking (root and apt-get); elsewhere it is named, with how to get it, and
# the exit code is 1.
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
# The server's programs are not on PATH everywhere: Debian and Ubuntu keep them by version.
has_postgres() {
	local dir
	if command -v initdb >/dev/null 2>&1; then return; fi
	for dir in "$(pg_config --bindir 2>/dev/null || true)" /usr/lib/postgresql/*/bin; do
		if [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ]; then return; fi
	done
	return 1
}
if ! has_postgres; then
	packages+=(postgresql)
	missing+=("postgresql (the tests run against a real server; Debian and Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server; macOS: brew install postgresql)")
fi
need "the race detector needs a C compiler; Fedora: dnf install gcc; macOS: xcode-select --install" gcc "$(go env CC)" cc gcc clang
need "the commands stand in a Makefile; Fedora: dnf install make; macOS: xcode-select --install" make make
need "the commands of the guides are run; Fedora: dnf install curl; macOS: brew install curl" curl curl
need "an npm package verifies our tokens; Fedora: dnf install nodejs; macOS: brew install node" nodejs node
need "an npm package verifies our tokens; Fedora: dnf install nodejs-npm; macOS: brew install node" npm npm

# Whoever the tests run PostgreSQL as (internal/pgtest) when they run as root.
ensure_user() {
	local user
	if [ "$(id -u)" -ne 0 ]; then return; fi
	for user in postgres vonago-test nobody; do
		if id "$user" >/dev/null 2>&1; then return; fi
	done
	useradd --system --no-create-home --shell /usr/sbin/nologin vonago-test
}

# What the tests need of npm, again when its versions have changed.
ensure_node_modules() {
	local dir
	dir=$(dirname "$0")/../modules/auser/testdata/jsonwebtoken
	if [ "$dir/node_modules/.package-lock.json" -nt "$dir/package-lock.json" ]; then return; fi
	(cd "$dir" && npm ci --no-audit --no-fund --silent)
}

if [ ${#packages[@]} -eq 0 ]; then
	ensure_user
	ensure_node_modules
	exit 0
fi

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing ${packages[*]}" >&2
	export DEBIAN_FRONTEND=noninteractive
	# The tests start servers of their own: no cluster is to be made and started for the machine.
	if [[ " ${packages[*]} " == *" postgresql "* ]] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
		mkdir -p /etc/postgresql-common
		echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
	fi
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
	ensure_user
	ensure_node_modules
	exit 0
fi

echo "These are missing, and this is not a root shell with apt-get, so please install them first:" >&2
printf '  %s\n' "${missing[@]}" >&2
exit 1
