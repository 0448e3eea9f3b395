"""Values that JSON Schema cannot describe: formats of our own, numbers that are nobody's yet, a project that is there."""

import itertools
import os
import re

import schemathesis
from hypothesis import strategies as st

digits = st.integers(min_value=1000, max_value=9999)

schemathesis.openapi.format("phone", st.builds("+1415555{}".format, digits))
schemathesis.openapi.format("timezone", st.sampled_from(["UTC", "Europe/Moscow", "America/New_York", "Asia/Kolkata"]))
schemathesis.openapi.format("http-url", st.builds("https://host-{}.example/path?q=1".format, digits))
schemathesis.openapi.format("http-url-template", st.builds("https://host-{}.example/{{id}}?q={{q}}".format, digits))

PHONE = re.compile(r"\+[1-9][0-9]{6,14}\Z")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
phones = itertools.count(1)


def renumbered(value):
    """What looks like a phone number becomes a possible one that no trunk has yet; and no body has a prototype."""
    if isinstance(value, str):
        return f"+1212{next(phones):07}" if PHONE.match(value) else value
    if isinstance(value, list):
        return [renumbered(one) for one in value]
    if isinstance(value, dict):
        return {key: renumbered(one) for key, one in value.items() if key != "__proto__"}
    return value


def possible(thing):
    """Who takes over in a browser hears the call itself: nothing is announced."""
    if isinstance(thing, dict) and thing.get("to") == "browser":
        return {key: value for key, value in thing.items() if key != "announce"}
    return thing


def distinct(things):
    """No two of one name, where the names are names at all."""
    seen = set()
    for thing in things:
        name = thing.get("name") if isinstance(thing, dict) else None
        if not isinstance(name, str):
            continue
        if name in seen:
            thing["name"] = f"{name[:56]}_{len(seen)}"
        seen.add(thing["name"])
    return things


@schemathesis.hook
def before_call(ctx, case, kwargs):
    case.body = renumbered(case.body)
    for field in ("tools", "transfers"):
        if isinstance(case.body, dict) and isinstance(case.body.get(field), list):
            case.body[field] = distinct([possible(one) for one in case.body[field]])
    if case.operation.label in ("POST /v1/public/calls", "POST /v1/public/softphones") and isinstance(case.body, dict):
        project = case.body.get("project_id")
        if isinstance(project, str) and UUID.match(project):
            case.body["project_id"] = os.environ["PARLEY_TEST_PROJECT"]
