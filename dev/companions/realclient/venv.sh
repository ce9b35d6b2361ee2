#!/bin/sh
# Makes the folder .venv/clients of the repository, with the clients that the
# companions are tried with, if it isn't there.
set -eu
cd "$(git rev-parse --show-toplevel)"
[ -x .venv/clients/bin/openstack ] && exit 0
python3 -m venv .venv/clients
.venv/clients/bin/pip install --quiet python-openstackclient==10.5.0 openstacksdk==4.22.0
