"""Asks the original what it says to the requests of testdata/malformed_baremetal.jsonl
and writes its statuses and bodies into that file. Needs ironic 39.0.0 from PyPI; the
database is SQLite in a temporary folder, a conductor is only registered, and nothing is
asked over a network. Run from the module's root:

    .venv/ironic/bin/python integration/hostile/original_baremetal.py

table.py says what its lines mean.
"""

import json
import logging
import os
import subprocess
import sys
import tempfile

from table import Table

VERSION = "1.115"
IDS = {name: f"{n}{n}{n}{n}{n}{n}{n}{n}-1111-4111-8111-111111111111" for n, name in enumerate(
    ["node", "port", "portgroup", "chassis", "allocation", "template", "runbook", "rule"], 1)}
IDS["none"] = "00000000-0000-4000-8000-00000000dead"
TABLE = Table("integration/hostile/testdata/malformed_baremetal.jsonl", IDS)

folder = tempfile.TemporaryDirectory()
config_file = os.path.join(folder.name, "ironic.conf")
with open(config_file, "w") as f:
    f.write(f"""[DEFAULT]
auth_strategy = noauth
transport_url = fake://
rpc_response_timeout = 1
enabled_network_interfaces = noop
[oslo_concurrency]
lock_path = {folder.name}
[database]
connection = sqlite:///{folder.name}/ironic.db
""")
subprocess.run([os.path.join(os.path.dirname(sys.executable), "ironic-dbsync"), "--config-file", config_file, "create_schema"],
               check=True, capture_output=True)

from ironic.api import wsgi  # noqa: E402
from ironic.common import context  # noqa: E402

application = wsgi.initialize_wsgi_app(["ironic-api", "--config-file", config_file])
logging.disable(logging.CRITICAL)

from ironic import objects  # noqa: E402
from webob import Request  # noqa: E402


def request(method, path, version=VERSION):
    made = Request.blank("/v1" + TABLE.fill(path), method=method)
    made.headers.update({"Accept": "application/json", "Content-Type": "application/json", "X-OpenStack-Ironic-API-Version": version})
    return made


def seed():
    """Makes what the requests are about. What conductors would make are rows."""
    admin = context.get_admin_context()
    conductor = objects.Conductor.register(admin, "conductor", [], "")
    conductor.register_hardware_interfaces([{"hardware_type": "redfish", "interface_type": kind, "interface_name": name, "default": True}
                                            for kind, name in INTERFACES.items()])
    rows = {"nodes": objects.Node, "ports": objects.Port, "portgroups": objects.Portgroup, "allocations": objects.Allocation}
    more = {"nodes": {f"{kind}_interface": name for kind, name in INTERFACES.items()}, "allocations": {"state": "allocating"}}
    with open("integration/hostile/testdata/baremetal.json") as f:
        things = json.load(f)
    for many, body in [(thing["of"], thing["body"]) for thing in things]:
        if many in rows:
            if body.pop("node_uuid", None):
                more[many] = {"node_id": 1, "extra": {}}
            rows[many](admin, **body, **more[many]).create()
            continue
        made = request("POST", "/" + many)
        made.body = json.dumps(body).encode()
        answer = made.get_response(application)
        if answer.status_int != 201:
            raise SystemExit(f"{many}: {answer.status_int} {answer.text}")


INTERFACES = {"bios": "no-bios", "boot": "redfish-virtual-media", "console": "no-console", "deploy": "direct", "firmware": "no-firmware", "inspect": "redfish",
              "management": "redfish", "network": "noop", "power": "redfish", "raid": "no-raid", "rescue": "no-rescue", "storage": "noop", "vendor": "no-vendor"}


def ask(row):
    method, path = row["do"].split(" ", 1)
    return TABLE.answer(row, request(method, path, row.get("at", VERSION)), application)


seed()
TABLE.rewrite(ask)
