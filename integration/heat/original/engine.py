"""Runs Heat's engine unthrottled: engine.py --config-file <heat.conf>

A release sleeps for a second after each resource that it has set going, so that as
many resources as depend on nothing take as many seconds, on whatever machine. And a
process has a thread for each event of a stack, a thousand at most, of which none is
struck off when it has ended: with two workers, the stack of a thousand resources is
never told that the last are complete. Here there is neither the pause nor the bound.
"""

import functools
import time
import types

from heat.cmd import engine
from heat.engine import service
from heat.engine import stack

stack.time = types.SimpleNamespace(**{**vars(time), 'sleep': lambda seconds: None})
service.ThreadGroup.__init__ = functools.partialmethod(service.ThreadGroup.__init__, max_threads=1_000_000)
engine.main()
