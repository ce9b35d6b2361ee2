"""Asks the original what it says to the requests of testdata/malformed.jsonl and
writes its statuses and bodies into that file. Needs nova 34.0.0 from PyPI; the
databases are SQLite in a temporary folder, and nothing is asked over a network.
Run from the module's root:

    python3 integration/hostile/original.py

table.py says what its lines mean.
"""

import logging
import os
import subprocess
import sys
import tempfile

from table import Table

IDS = {"server": "11111111-1111-4111-8111-111111111111", "foreign": "22222222-2222-4222-8222-222222222222",
       "none": "00000000-0000-4000-8000-00000000dead"}
CALLERS = {"member": ("alice", "a11ce", "member,reader"), "reader": ("rita", "a11ce", "reader"),
           "other": ("bob", "b0b", "member,reader"), "admin": ("root", "ad", "admin,member,reader")}

folder = tempfile.TemporaryDirectory()
config_file = os.path.join(folder.name, "nova.conf")


def prepare():
    """Makes the databases."""
    with open(config_file, "w") as f:
        f.write(f"""[DEFAULT]
state_path={folder.name}
transport_url=fake:/
rpc_response_timeout=1
[database]
connection=sqlite:///{folder.name}/cell1.db
[api_database]
connection=sqlite:///{folder.name}/api.db
[oslo_concurrency]
lock_path={folder.name}
""")
    manage = [os.path.join(os.path.dirname(sys.executable), "nova-manage"), "--config-file", config_file]
    for command in (["api_db", "sync"], ["cell_v2", "map_cell0", "--database_connection", f"sqlite:///{folder.name}/cell0.db"],
                    ["db", "sync"], ["cell_v2", "create_cell", "--name", "cell1"]):
        subprocess.run(manage + command, check=True, capture_output=True)


prepare()

from nova import config, context, objects  # noqa: E402
from nova import exception  # noqa: E402
import nova.conf  # noqa: E402

config.parse_args(["nova-api"], default_config_files=[config_file])
logging.disable(logging.CRITICAL)
objects.register_all()

from nova.api import auth, openstack  # noqa: E402
from nova.api.openstack import compute  # noqa: E402
from nova.image import glance  # noqa: E402
from nova.network import model, neutron  # noqa: E402
from oslo_middleware import RequestBodySizeLimiter  # noqa: E402
from oslo_utils import timeutils  # noqa: E402
from webob import Request  # noqa: E402


class Images:
    """The image service, of which only this much is asked before a request is refused."""

    def get(self, context, image_id, **kwargs):
        if image_id == IDS["none"]:
            raise exception.ImageNotFound(image_id=image_id)
        return {"id": image_id, "name": "image", "status": "active", "min_ram": 0, "min_disk": 0, "size": 1, "properties": {}}


glance.API.get = Images.get
neutron.API.validate_networks = lambda self, context, networks, num: num
neutron.API.has_extended_resource_request_extension = lambda *args: True
neutron.API.create_resource_requests = lambda *args, **kwargs: (None, [], None)


def seed():
    """Makes what the requests are about."""
    admin = context.get_admin_context()
    cell = [c for c in objects.CellMappingList.get_all(admin) if c.name == "cell1"][0]
    for name, public in (("tiny", True), ("hidden", False)):
        flavor = objects.Flavor(admin, name=name, flavorid=name, memory_mb=64, vcpus=1, root_gb=1, ephemeral_gb=0, swap=0,
                                rxtx_factor=1.0, vcpu_weight=0, disabled=False, is_public=public, extra_specs={}, projects=[], description=None)
        flavor.create()
    tiny = objects.Flavor.get_by_flavor_id(admin, "tiny")
    objects.KeyPair(admin, name="k", user_id="alice", type="ssh", fingerprint="00", public_key=KEY).create()
    with context.target_cell(admin, cell) as inside:
        objects.Service(inside, host="sim-1", binary="nova-compute", topic="compute", report_count=1,
                        last_seen_up=timeutils.utcnow()).create()
        node = objects.ComputeNode(inside, service_id=1, host="sim-1", hypervisor_hostname="sim-1", uuid=NODE, vcpus=4, memory_mb=4096,
                                   local_gb=100, vcpus_used=0, memory_mb_used=0, local_gb_used=0, hypervisor_type="QEMU",
                                   hypervisor_version=1, cpu_info="{}")
        node.create()
    objects.HostMapping(admin, host="sim-1", cell_mapping=cell).create()
    for name, caller in (("server", "member"), ("foreign", "other")):
        user, project, _ = CALLERS[caller]
        with context.target_cell(admin, cell) as inside:
            instance = objects.Instance(
                inside, uuid=IDS[name], user_id=user, project_id=project, display_name=name, vm_state="active", task_state=None,
                host="sim-1", node="sim-1", compute_id=node.id, launched_at=timeutils.utcnow(), flavor=tiny,
                instance_type_id=tiny.id, image_ref=IMAGE, memory_mb=64, vcpus=1, root_gb=1, power_state=1, hostname=name,
                availability_zone="nova", metadata={"a": "1"}, system_metadata={}, access_ip_v4=None, access_ip_v6=None, locked=False)
            instance.info_cache = objects.InstanceInfoCache(inside, instance_uuid=IDS[name], network_info=model.NetworkInfo())
            instance.create()
        objects.InstanceMapping(admin, instance_uuid=IDS[name], project_id=project, user_id=user, cell_mapping=cell,
                                queued_for_delete=False).create()


KEY = ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl k")
NODE = "44444444-4444-4444-8444-444444444444"
IMAGE = "00000000-0000-4000-8000-000000000001"


TABLE = Table("integration/hostile/testdata/malformed.jsonl", IDS)


def ask(app, row):
    method, path = row["do"].split(" ", 1)
    request = Request.blank("/v2.1" + TABLE.fill(path), method=method)
    request.environ["SCRIPT_NAME"] = "/v2.1"
    request.environ["PATH_INFO"] = request.environ["PATH_INFO"][len("/v2.1"):]
    user, project, roles = CALLERS[row.get("as", "member")]
    request.headers.update({"X-User-Id": user, "X-Project-Id": project, "X-Roles": roles, "X-Identity-Status": "Confirmed",
                            "Accept": "application/json", "Content-Type": "application/json"})
    if "at" in row:
        request.headers["OpenStack-API-Version"] = "compute " + row["at"]
    return TABLE.answer(row, request, app)


def main():
    seed()
    app = openstack.FaultWrapper(RequestBodySizeLimiter(auth.NovaKeystoneContext(compute.APIRouterV21()), nova.conf.CONF))
    TABLE.rewrite(lambda row: ask(app, row))


if __name__ == "__main__":
    main()
