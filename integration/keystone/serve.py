"""Serves Keystone's WSGI application on a loopback port: serve.py <port>

waitress-serve can't: Keystone reads the command line of its server as its own.
"""

import sys

import waitress

port = sys.argv.pop()

from keystone.wsgi.api import application  # noqa: E402

waitress.serve(application, listen="127.0.0.1:" + port, threads=8)
