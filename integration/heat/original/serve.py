"""Serves Heat's API on a loopback port, with its engine in the same process:
serve.py <heat.conf> <port>

The engine of a release is a process of its own that forks; its service is an
object all the same, and is started here as the process would start it.
"""

import sys

from oslo_service import backend

backend.init_backend(backend.BackendType.THREADING)

from oslo_config import cfg  # noqa: E402
from oslo_log import log  # noqa: E402
import waitress  # noqa: E402

from heat.common import config, messaging  # noqa: E402
from heat.db import migration  # noqa: E402
from heat.rpc import api as rpc_api  # noqa: E402

conf, port = sys.argv[1:]
sys.argv[1:] = []
log.register_options(cfg.CONF)
cfg.CONF(['--config-file', conf], project='heat', prog='heat-engine')
log.setup(cfg.CONF, 'heat')
log.set_defaults()
config.set_config_defaults()
messaging.setup()
config.startup_sanity_check()
migration.db_sync()

from heat.engine import service  # noqa: E402

service.EngineService(cfg.CONF.host, rpc_api.ENGINE_TOPIC).start()
waitress.serve(config.load_paste_app('heat-api'), listen='127.0.0.1:' + port, threads=16)
