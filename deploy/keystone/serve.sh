# Sets Keystone up at its first start, with Holdfast's service user, and serves it.
set -eu

state=/var/lib/keystone
mkdir -p "$state/fernet-keys" "$state/credential-keys" /etc/keystone
cat > /etc/keystone/keystone.conf <<END
[database]
connection = sqlite:///$state/keystone.db
[token]
provider = fernet
[fernet_tokens]
key_repository = $state/fernet-keys
[credential]
key_repository = $state/credential-keys
END
if [ ! -e "$state/ready" ]; then
    user=$(id -un)
    keystone-manage db_sync
    keystone-manage fernet_setup --keystone-user "$user" --keystone-group "$user"
    keystone-manage credential_setup --keystone-user "$user" --keystone-group "$user"
    keystone-manage bootstrap --bootstrap-username nova --bootstrap-password "$SERVICE_PASSWORD" --bootstrap-project-name service \
        --bootstrap-role-name admin --bootstrap-region-id RegionOne \
        --bootstrap-admin-url "$PUBLIC_URL" --bootstrap-public-url "$PUBLIC_URL" --bootstrap-internal-url http://keystone:5000/v3
    touch "$state/ready"
fi
cat > /tmp/keystone.wsgi <<END
from keystone.server.wsgi import initialize_public_application
application = initialize_public_application()
END
exec uwsgi --http 0.0.0.0:5000 --master --processes 2 --wsgi-file /tmp/keystone.wsgi --die-on-term
