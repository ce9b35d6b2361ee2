"""Writes internal/validation/testdata/python.jsonl: values that were made from
the compute schemas and then spoiled, each with what python-jsonschema says of
it in Nova's words. Needs jsonschema (4.26) from PyPI. Run from the module's root:

    python3 integration/validation/vectors.py > internal/validation/testdata/python.jsonl
"""

import base64
import copy
import ipaddress
import json
import random
import re
import unicodedata
import uuid

import jsonschema
from jsonschema import FormatChecker, validators
from jsonschema.exceptions import FormatError

REASONS = {
    "name": "An invalid 'name' value was provided. The name must be: printable characters. "
            "Can not start or end with whitespace.",
    "az_name": "An invalid 'name' value was provided. The name must be: printable characters except :."
               "Can not start or end with whitespace.",
}


class InvalidName(Exception):
    pass


def is_name(value, without=""):
    if not isinstance(value, str) or value.strip() != value:
        return False
    return all(ord(c) <= 0xFFFE and c not in without and
               (unicodedata.category(c) == "Zs" or unicodedata.category(c)[0] not in "CZ") for c in value)


def is_uuid(value):
    if not isinstance(value, str):
        return True
    try:
        uuid.UUID(value)
    except ValueError:
        return False
    return True


def is_base64(value):
    if not isinstance(value, str):
        return True
    try:
        base64.decodebytes(value.encode())
    except Exception:
        return False
    return True


def is_regex(value):
    if not isinstance(value, str):
        return True
    try:
        return bool(value) and bool(re.compile(value))
    except Exception:
        return False


def is_address(kind):
    def check(value):
        try:
            return not isinstance(value, str) or bool(kind(value))
        except ValueError:
            return False
    return check


CHECKS = {"date-time": lambda value: not isinstance(value, str) or re.match(r"\d{4}-\d\d-\d\d$", value), "uuid": is_uuid, "base64": is_base64, "regex": is_regex,
          "ipv4": is_address(ipaddress.IPv4Address), "ipv6": is_address(ipaddress.IPv6Address)}


class Checker(FormatChecker):
    def check(self, instance, format):
        if format in REASONS:
            if not is_name(instance, ":" if format == "az_name" else ""):
                raise FormatError("", cause=InvalidName(REASONS[format]))
        elif format in CHECKS and not CHECKS[format](instance):
            raise FormatError("%r is not a %r" % (instance, format))


def number_from(value):
    for read in (int, float):
        try:
            return read(value)
        except (ValueError, TypeError):
            continue
    return None


def bound(keyword):
    plain = jsonschema.Draft202012Validator.VALIDATORS[keyword]
    return lambda validator, limit, instance, schema: plain(validator, limit, number_from(instance), schema)


Validator = validators.extend(jsonschema.Draft202012Validator, {"minimum": bound("minimum"), "maximum": bound("maximum")})


def said(schema, value, kind):
    for error in Validator(schema, format_checker=Checker()).iter_errors(value):
        if isinstance(error.cause, InvalidName):
            return str(error.cause)
        if not error.path:
            return error.message
        where, name = ("field/attribute", error.path[-1]) if kind == "body" else ("query parameters", error.path[0])
        return "Invalid input for %s %s. Value: %s. %s" % (where, name, error.instance, error.message)
    return None


def sample(schema, rng):
    """A value that the schema may well take."""
    for composed in ("oneOf", "anyOf"):
        if composed in schema and "properties" not in schema:
            return sample({**{k: v for k, v in schema.items() if k != composed}, **rng.choice(schema[composed])}, rng)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = rng.choice(kind)
    if kind == "object":
        value = {k: sample(v, rng) for k, v in schema.get("properties", {}).items()
                 if k in schema.get("required", ()) or rng.random() < 0.4}
        for pattern, inner in schema.get("patternProperties", {}).items():
            value["_key" if pattern == "^_" else "key"] = sample(inner, rng)
        return value
    if kind == "array":
        if "prefixItems" in schema:
            return [sample(s, rng) for s in schema["prefixItems"]]
        return [sample(schema.get("items", {}), rng) for _ in range(schema.get("minItems", 1))]
    if kind in ("integer", "number"):
        return max(1, schema.get("minimum", 1))
    if kind in ("boolean", "null"):
        return True if kind == "boolean" else None
    return {"uuid": "70a599e0-31e7-49b7-b260-868f441e862b", "ipv4": "10.0.0.1", "ipv6": "fe80::1", "base64": "aGk=",
            "date-time": "2026-01-01"}.get(schema.get("format"), "" if schema.get("maxLength") == 0 else "1")


SPOILS = [None, True, 0, -1, 1.5, 1e17, 10**20, "", " ", "a b", "it's \"x\"", "é\n\u0000", "x" * 300, [], [1, "1", 1.0], ["a", "a"],
          {}, {"a": None}, "10.0.0.256", "::1", "-5", " 7 ", "99999999999", "\U0001f600", "a:b"]


def places(value, at=()):
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, at + (key,))


def spoil(value, rng):
    value = copy.deepcopy(value)
    at = rng.choice(list(places(value)))
    what = rng.choice(("replace", "replace", "drop", "add"))
    parent = value
    for key in at[:-1]:
        parent = parent[key]
    here = parent[at[-1]] if at else value
    if what == "add" and isinstance(here, dict):
        for name in rng.sample(["zz", "extra'", "aa", "é"], rng.choice((1, 2))):
            here[name] = rng.choice(SPOILS)
        return value
    if what == "add" and isinstance(here, list):
        here.append(rng.choice(SPOILS))
        return value
    if not at:
        return rng.choice(SPOILS)
    if what == "drop":
        del parent[at[-1]]
    else:
        parent[at[-1]] = rng.choice(SPOILS)
    return value


def main():
    rng = random.Random(2104)
    with open("schemas/compute/requests.json") as f:
        data = json.load(f)
    kinds = {b["schema"]: kind for kind in ("query", "body") for row in data[kind] for b in row["schemas"]}
    seen = set()
    for name in sorted(kinds):
        schema = data["schemas"][name]
        for _ in range(4):
            value = spoil(sample(schema, rng), rng)
            vector = {"kind": kinds[name], "schema": name, "value": value, "says": said(schema, value, kinds[name])}
            line = json.dumps(vector)
            if len(line) < 1000 and line not in seen:
                seen.add(line)
                print(line)


if __name__ == "__main__":
    main()
