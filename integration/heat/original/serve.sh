#!/usr/bin/env bash
# A real Heat on loopback, for tests: serve.sh <folder> <port>
#
# Makes a deployment in the folder (configure.sh) and becomes its server. The
# engine and the API are one process: they talk by the fake driver of
# oslo.messaging.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
venv=$(HEAT_TRANSPORT=fake:// "$here/configure.sh" "$1" "$2")
exec "$venv/bin/python" -W ignore "$here/serve.py" "$1/heat.conf" "$2"
