#!/usr/bin/env bash
# A RabbitMQ on loopback, for tests: broker.sh <folder> <port> <distribution port>
#
# Keeps all it has in the folder, lets in only the user of BROKER_USER with
# BROKER_PASSWORD, and is found by the port mapper of ERL_EPMD_PORT.
set -euo pipefail
folder=$1
: "${BROKER_USER:?}" "${BROKER_PASSWORD:?}" "${ERL_EPMD_PORT:?}"
mkdir -p "$folder"
(umask 077; cat > "$folder/rabbitmq.conf" <<CONF
listeners.tcp.1 = 127.0.0.1:$2
default_user = $BROKER_USER
default_pass = $BROKER_PASSWORD
log.console = true
log.console.level = warning
CONF
)
: > "$folder/enabled_plugins" > "$folder/environment"
export HOME=$folder ERL_EPMD_ADDRESS=127.0.0.1
export RABBITMQ_NODENAME=broker-$2@localhost RABBITMQ_DIST_PORT=$3 RABBITMQ_CONF_ENV_FILE=$folder/environment
export RABBITMQ_CONFIG_FILE=$folder/rabbitmq.conf RABBITMQ_ENABLED_PLUGINS_FILE=$folder/enabled_plugins
export RABBITMQ_MNESIA_BASE=$folder/mnesia RABBITMQ_LOG_BASE=$folder/log RABBITMQ_PID_FILE=$folder/pid
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1}'
# With this, and no terminal, the script becomes the server, and starts none beside it.
export RABBITMQ_ALLOW_INPUT=1
exec /usr/lib/rabbitmq/bin/rabbitmq-server -noinput
