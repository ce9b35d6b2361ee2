"""Prints what became of each test of a subunit stream, an object of JSON a line."""

import json
import sys

import subunit
import testtools


class Results(testtools.StreamResult):
    def __init__(self):
        super().__init__()
        self.tests = {}

    def status(self, test_id=None, test_status=None, file_name=None, file_bytes=None, timestamp=None, **_):
        if test_id is None:
            return
        test = self.tests.setdefault(test_id, {"test": test_id, "status": None, "texts": {}, "began": timestamp, "ended": timestamp})
        if test_status == "inprogress":
            test["began"] = timestamp
        test["ended"] = timestamp or test["ended"]
        if file_name is not None:
            test["texts"][file_name] = test["texts"].get(file_name, b"") + bytes(file_bytes)
        if test_status not in (None, "exists"):
            test["status"] = test_status


results = Results()
with open(sys.argv[1], "rb") as stream:
    subunit.ByteStreamToStreamResult(stream, non_subunit_name="stdout").run(results)
for test in results.tests.values():
    began, ended = test.pop("began"), test.pop("ended")
    test["seconds"] = (ended - began).total_seconds() if began else 0
    test["texts"] = {name: text.decode(errors="replace") for name, text in test["texts"].items()}
    print(json.dumps(test))
