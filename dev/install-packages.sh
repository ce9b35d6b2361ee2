#!/usr/bin/env bash
# Installs the packages that the machine lacks: install-packages.sh [<list>],
# of dev/packages.txt if no other list is named.
set -euo pipefail
list=${1:-$(dirname "$0")/packages.txt}

missing=()
while read -r package; do
	if ! dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed; then
		missing+=("$package")
	fi
done < <(grep -v '^#' "$list")

if [ ${#missing[@]} -eq 0 ]; then
	exit 0
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}"
