# The real client, asked many times: a line of JSON with the arguments comes in,
# a line with what the client wrote and its exit code goes out.
import contextlib
import io
import json
import sys

from openstackclient import shell

for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = shell.main(json.loads(line))
        except SystemExit as end:
            code = end.code
    print(json.dumps({"out": out.getvalue(), "err": err.getvalue(), "code": code or 0}), flush=True)
