"""Serves Heat's API on a loopback port that others of its kind may share:
api.py <heat.conf> <port>
"""

import socket
import sys

import waitress

conf, port = sys.argv[1:]
sys.argv[1:] = ['--config-file', conf]  # that is where the application looks

from heat.wsgi.api import application  # noqa: E402

listener = socket.create_server(('127.0.0.1', int(port)), reuse_port=True)
waitress.serve(application, sockets=[listener], threads=16)
