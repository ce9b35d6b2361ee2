"""Serves Keystone's WSGI application on a loopback port: serve.py <port>

waitress-serve can't: Keystone reads the command line of its server as its own.
One thread, since SQLite has one writer and Keystone doesn't wait for it; and
foreign keys, without which SQLite leaves rows of what was deleted behind.
"""

import sys

import waitress

port = sys.argv.pop()

from keystone.common import sql  # noqa: E402

sql.enable_sqlite_foreign_key()

from keystone.wsgi.api import application  # noqa: E402

waitress.serve(application, listen="127.0.0.1:" + port, threads=1)
