"""Makes the role that Heat gives to users of stacks, in the Keystone of the environment."""

import os

from keystoneauth1 import exceptions, session
from keystoneauth1.identity import v3
from keystoneclient.v3 import client

auth = v3.Password(os.environ['OS_AUTH_URL'], username=os.environ['OS_USERNAME'], password=os.environ['OS_PASSWORD'],
                   project_name=os.environ['OS_PROJECT_NAME'], user_domain_id='default', project_domain_id='default')
try:
    client.Client(session=session.Session(auth=auth)).roles.create('heat_stack_user')
except exceptions.Conflict:
    pass  # It is there already.
