#!/bin/bash
# install_packages.sh LIST: installs the Debian packages named in LIST that are missing. Asks nothing; does
# nothing, quickly, when everything is there. A line package=program is skipped where the program exists.
set -euo pipefail

list=$1
wanted=()
while IFS='=' read -r package program; do
  if [ -z "$program" ] || ! command -v "$program" >/dev/null; then wanted+=("$package"); fi
done < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$list")

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "install_packages: this is not Debian; going on in the hope that the equivalents of $list are installed" >&2
  exit 0
fi

# dpkg-query fails when it does not know a package; those are missing too.
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null |
            awk '$2 == "installed" { print $1 }' || true)
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "installing: ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install_packages: not root and no sudo; as root, run: apt-get install -y ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 \
    -o Acquire::Retries=3 "$@" </dev/null
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt update && apt install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "install_packages: apt-get failed (see above)" >&2
  exit 1
fi
