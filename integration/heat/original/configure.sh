#!/usr/bin/env bash
# A deployment of Heat in a folder, for tests: configure.sh <folder> <port>
#
# Writes heat.conf into the folder, for an API on the loopback port, with its
# tables in the database HEAT_DATABASE, its users in the Keystone that OS_AUTH_URL
# names, where the user of OS_USERNAME is an administrator, and the messages of its
# processes sent by HEAT_TRANSPORT. Prints where Heat is installed.
set -euo pipefail
folder=$1
port=$2
: "${HEAT_DATABASE:?}" "${HEAT_TRANSPORT:?}" "${OS_AUTH_URL:?}" "${OS_USERNAME:?}" "${OS_PASSWORD:?}" "${OS_PROJECT_NAME:?}" "${OS_REGION_NAME:?}"
here=$(cd "$(dirname "$0")" && pwd)
venv=$("$here/../../venv/venv.sh" heat)

secret() { tr -dc a-f0-9 < /dev/urandom | head -c 32 || true; }
domain_password=$(secret)
mkdir -p "$folder"
user="auth_type = password
auth_url = $OS_AUTH_URL
username = $OS_USERNAME
password = $OS_PASSWORD
user_domain_id = default"
(umask 077; cat > "$folder/heat.conf" <<CONF
[DEFAULT]
transport_url = $HEAT_TRANSPORT
rpc_response_timeout = 600
num_engine_workers = 2
auth_encryption_key = $(secret)
region_name_for_services = $OS_REGION_NAME
stack_user_domain_name = original
stack_domain_admin = original_domain_admin
stack_domain_admin_password = $domain_password
heat_metadata_server_url = http://127.0.0.1:$port
heat_waitcondition_server_url = http://127.0.0.1:$port/v1/waitcondition
enable_stack_abandon = true
enable_stack_adopt = true
max_stacks_per_tenant = -1
max_resources_per_stack = -1
[database]
connection = postgresql+psycopg2://${HEAT_DATABASE#*://}
max_pool_size = 40
max_overflow = 40
[keystone_authtoken]
$user
project_name = $OS_PROJECT_NAME
project_domain_id = default
www_authenticate_uri = $OS_AUTH_URL
[trustee]
$user
[clients_keystone]
auth_uri = $OS_AUTH_URL
[paste_deploy]
api_paste_config = $venv/etc/heat/api-paste.ini
CONF
)
export OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default
"$venv/bin/python" -W ignore "$here/prepare.py" "http://127.0.0.1:$port"
"$venv/bin/heat-keystone-setup-domain" --stack-user-domain-name original --stack-domain-admin original_domain_admin \
    --stack-domain-admin-password "$domain_password" > "$folder/domain"
echo "$venv"
