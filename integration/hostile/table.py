"""A table of requests, a line each: "do" is method and path below the service's own,
"as" whose token, "at" the microversion, "body" the JSON or "raw" the text or "bytes"
the base64 of what is sent, "repeat" how often a piece of it stands there, "header" more
headers. {server}, {node}, {none} and their like stand for ids. "status" and "answer" are
the original's. "ours" is what Holdfast answers where it differs on purpose, and why; it
is left as it is.
"""

import base64
import json


class Table:
    def __init__(self, path, ids):
        self.path, self.ids = path, ids

    def fill(self, text):
        for name, value in self.ids.items():
            text = text.replace("{%s}" % name, value)
        return text

    def blank(self, text):
        for name, value in self.ids.items():
            text = text.replace(value, "{%s}" % name)
        return text

    def sent(self, row):
        """What is sent of a row's body, or None."""
        if "bytes" in row:
            return base64.b64decode(row["bytes"])
        if "raw" in row:
            text = self.fill(row["raw"])
        elif "body" in row:
            text = self.fill(json.dumps(row["body"]))
        else:
            return None
        for piece, times in row.get("repeat", {}).items():
            text = text.replace(piece, piece * times)
        return text.encode()

    def answer(self, row, request, app):
        """What an application answers to a row's request, with its headers."""
        body = self.sent(row)
        if body is not None:
            request.body = body
        for name, value in row.get("header", {}).items():
            if value is None:
                request.headers.pop(name, None)
            else:
                request.headers[name] = value
        try:
            answer = request.get_response(app)
        except Exception as error:
            return {"status": 0, "answer": repr(error)}
        return {"status": answer.status_int, "answer": self.blank(answer.body.decode("utf-8", "replace"))}

    def rewrite(self, ask):
        """Has each row's answer be what is answered when it is asked."""
        with open(self.path) as f:
            rows = [json.loads(line) for line in f if line.strip()]
        lines = []
        for row in rows:
            row.pop("status", None), row.pop("answer", None)
            row.update(ask(row))
            lines.append(json.dumps(row, ensure_ascii=True))
        with open(self.path, "w") as f:
            f.write("\n".join(lines) + "\n")
