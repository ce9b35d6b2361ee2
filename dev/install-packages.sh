#!/usr/bin/env bash
# Installs the packages of dev/packages.txt that the machine lacks.
set -euo pipefail
cd "$(dirname "$0")"

missing=()
while read -r package; do
	if ! dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed; then
		missing+=("$package")
	fi
done < <(grep -v '^#' packages.txt)

if [ ${#missing[@]} -eq 0 ]; then
	exit 0
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}"
