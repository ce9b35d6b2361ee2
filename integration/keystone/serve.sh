#!/usr/bin/env bash
# A real Keystone on loopback, for tests: serve.sh <folder> <port>
#
# Makes a deployment in the folder (SQLite, Fernet keys, the user admin with
# KEYSTONE_ADMIN_PASSWORD) and becomes its server. Everything but the virtual
# environment is in the folder.
set -euo pipefail
folder=$1
port=$2
: "${KEYSTONE_ADMIN_PASSWORD:?}"
root=$(cd "$(dirname "$0")/../.." && pwd)
venv=$("$root/integration/venv/venv.sh" keystone)

mkdir -p "$folder"
cat > "$folder/keystone.conf" <<CONF
[DEFAULT]
log_file = $folder/keystone.log
[database]
connection = sqlite:///$folder/keystone.db
[token]
provider = fernet
[fernet_tokens]
key_repository = $folder/fernet
[credential]
key_repository = $folder/credential
[identity]
password_hash_rounds = 4
CONF

export OS_KEYSTONE_CONFIG_DIR=$folder
manage() { "$venv/bin/python" -W ignore "$venv/bin/keystone-manage" --config-file "$folder/keystone.conf" "$@"; }
user=$(id -un) group=$(id -gn)
manage db_sync
manage fernet_setup --keystone-user "$user" --keystone-group "$group"
manage credential_setup --keystone-user "$user" --keystone-group "$group"
manage bootstrap --bootstrap-password "$KEYSTONE_ADMIN_PASSWORD" \
    --bootstrap-public-url "http://127.0.0.1:$port/v3" --bootstrap-region-id RegionOne
exec "$venv/bin/python" -W ignore "$root/integration/keystone/serve.py" "$port"
