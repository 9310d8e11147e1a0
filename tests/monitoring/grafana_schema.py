"""Compares dashboards with Grafana's own schema: the classes that the Grafana Foundation SDK generates of it. tools/setup
--test brings the SDK."""
import enum
import json
import sys
import types
import typing

import prometheus_stack

SDK = (prometheus_stack.INSTALLED / "grafana-schema").resolve().parent
if not (SDK / "grafana_foundation_sdk").is_dir():
    sys.exit("Grafana's schema is missing: tools/setup --test brings it")
sys.path.insert(0, str(SDK))
from grafana_foundation_sdk.cog import encoder, plugins, runtime  # noqa: E402
from grafana_foundation_sdk.models import dashboard, units  # noqa: E402

plugins.register_default_plugins()
UNITS = frozenset(value for name, value in vars(units).items() if isinstance(value, str) and not name.startswith("_"))


def _lost(said, kept, path):
    """What the schema's classes did not take over."""
    if isinstance(said, dict) and isinstance(kept, dict):
        for key, value in said.items():
            if key not in kept:
                yield f"{path}.{key}: the schema has no such field"
            else:
                yield from _lost(value, kept[key], f"{path}.{key}")
    elif isinstance(said, list) and isinstance(kept, list) and len(said) == len(kept):
        for number, (one, other) in enumerate(zip(said, kept)):
            yield from _lost(one, other, f"{path}[{number}]")
    elif said != kept:
        yield f"{path}: {said!r} was read as {kept!r}"


def _fields(value, path):
    hints = typing.get_type_hints(type(value))
    for name, hint in hints.items():
        yield from _mistyped(getattr(value, name), hint, f"{path}.{name}")


def _fits(value, hint):
    return not list(_mistyped(value, hint, ""))


def _mistyped(value, hint, path):
    """What is of another type than the schema says."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        classes = [(one, typing.get_origin(one) or one) for one in inside]
        matching = [one for one, kind in classes if isinstance(kind, type) and isinstance(value, kind)]
        if len(matching) == 1:
            yield from _mistyped(value, matching[0], path)
        elif not any(_fits(value, one) for one in inside):
            yield f"{path}: {value!r} is not {hint}"
    elif origin is typing.Literal:
        if value not in inside:
            yield f"{path}: {value!r} is none of {inside}"
    elif origin in (list, dict):
        if not isinstance(value, origin):
            yield f"{path}: {value!r} is no {origin.__name__}"
            return
        for key, one in enumerate(value) if origin is list else value.items():
            yield from _mistyped(one, inside[-1], f"{path}[{key}]")
    elif isinstance(hint, type) and issubclass(hint, enum.Enum):
        if value not in [one.value for one in hint]:
            yield f"{path}: {value!r} is none of {[one.value for one in hint]}"
    elif hint in (object, typing.Any) or hasattr(hint, "to_json") or getattr(hint, "__module__", "").startswith("grafana_"):
        if hint not in (object, typing.Any) and not isinstance(value, hint):
            yield f"{path}: {value!r} is no {hint.__name__}"
        elif type(value).__module__.startswith("grafana_") and not isinstance(value, enum.Enum):
            yield from _fields(value, path)
    elif hint is float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            yield f"{path}: {value!r} is no number"
    elif not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        yield f"{path}: {value!r} is no {hint.__name__}"


def findings(board):
    """What Grafana's schema does not allow in a dashboard, as sentences; empty: it is one."""
    parsed = dashboard.Dashboard.from_json(json.loads(json.dumps(board)))
    kept = json.loads(json.dumps(parsed, cls=encoder.JSONEncoder))
    found = [*_lost(board, kept, "dashboard"), *_fields(parsed, "dashboard")]
    for panel in board["panels"]:
        if panel["type"] != "row" and runtime.panelcfg_config(panel["type"]) is None:
            found.append(f"panel {panel['title']!r}: {panel['type']!r} is no panel of Grafana's")
        unit = panel.get("fieldConfig", {}).get("defaults", {}).get("unit")
        if unit is not None and unit not in UNITS:
            found.append(f"panel {panel['title']!r}: {unit!r} is no unit of Grafana's")
    return found
