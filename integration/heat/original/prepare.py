"""Makes what Heat needs in the Keystone of the environment: prepare.py <url>

That is the role that it gives to users of stacks, and its APIs' places in the
catalog.
"""

import os
import sys

from keystoneauth1 import exceptions, session
from keystoneauth1.identity import v3
from keystoneclient.v3 import client

auth = v3.Password(os.environ['OS_AUTH_URL'], username=os.environ['OS_USERNAME'], password=os.environ['OS_PASSWORD'],
                   project_name=os.environ['OS_PROJECT_NAME'], user_domain_id='default', project_domain_id='default')
keystone = client.Client(session=session.Session(auth=auth))
try:
    keystone.roles.create('heat_stack_user')
except exceptions.Conflict:
    pass  # It is there already.
for name, kind, path in (('heat', 'orchestration', '/v1/%(tenant_id)s'), ('heat-cfn', 'cloudformation', '/v1')):
    service = keystone.services.create(name, type=kind)
    for interface in ('public', 'internal', 'admin'):
        keystone.endpoints.create(service, sys.argv[1] + path, interface=interface, region=os.environ['OS_REGION_NAME'])
