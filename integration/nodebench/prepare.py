"""Makes the first node and its port, and the conductor that nodes belong to, as rows
of ironic's database: prepare.py <ironic.conf> <{"node": ..., "port": ...}>

The API would have a conductor make them. The conductor counts as alive for a day.
"""

import json
import sys

from ironic.common import context, service

conf, text = sys.argv[1:]
service.prepare_service('ironic_api', ['ironic-api', '--config-file', conf])

from ironic import objects  # noqa: E402
from ironic.db.sqlalchemy import api, models  # noqa: E402
from oslo_utils import timeutils  # noqa: E402

first = json.loads(text)
admin = context.get_admin_context()
conductor = objects.Conductor.register(admin, 'conductor', [], '')
conductor.register_hardware_interfaces([
    {'hardware_type': 'redfish', 'interface_type': name.removesuffix('_interface'), 'interface_name': value, 'default': True}
    for name, value in first['node'].items() if name.endswith('_interface')])
with api._session_for_write() as session:
    session.query(models.Conductor).update({'updated_at': timeutils.utcnow() + timeutils.datetime.timedelta(days=1)})
node = objects.Node(admin, provision_state='available', **first['node'])
node.create()
objects.Port(admin, node_id=node.id, extra={}, **first['port']).create()
