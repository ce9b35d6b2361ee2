#!/usr/bin/env bash
# A Python virtual environment for tests: venv.sh <name>
#
# Makes .venv/<name> of the repository with what <name>.txt beside this file
# lists, from PyPI, and prints its path. One that has the same list is left as
# it is, unless it was moved: its scripts name the folder it was made in. Of
# several calls at once, one installs and the others wait for it.
set -euo pipefail
name=$1
here=$(cd "$(dirname "$0")" && pwd)
list=$here/$name.txt
folder=$here/../../.venv
mkdir -p "$folder"
folder=$(cd "$folder" && pwd -P)
venv=$folder/$name

exec 9> "$folder/$name.lock"
flock 9
if ! { echo "# in $venv"; cat "$list"; } | cmp --quiet - "$venv/list.txt"; then
    # One whose install was cut short, that was moved or whose list has changed is made anew.
    rm -rf "$venv"
    python3 -m venv "$venv" >&2
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$list" >&2
    { echo "# in $venv"; cat "$list"; } > "$venv/list.txt"
fi
echo "$venv"
