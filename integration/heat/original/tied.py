"""Runs a program whose processes end with the one that has forked them: tied.py
<program> [argument...]

Heat's workers wait for the stacks that they work on, however they are asked to end.
"""

import ctypes
import os
import runpy
import signal
import sys

PR_SET_PDEATHSIG = 1
prctl = ctypes.CDLL(None, use_errno=True).prctl
os.register_at_fork(after_in_child=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name='__main__')
