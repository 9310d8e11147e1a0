#!/usr/bin/python3
"""usage: monitoring.py

Makes Prometheus' rules and Grafana's dashboards, which are files of charts/muster, from deploy/monitoring. tools/generate
runs it, tests/monitoring compares.
"""
import json
import pathlib
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parent))
import grafana_board  # noqa: E402

ROOT = pathlib.Path(__file__).absolute().parent.parent.parent
SOURCES = pathlib.Path("deploy/monitoring")
RULES = pathlib.Path("charts/muster/files/rules.yaml")
BOARDS = pathlib.Path("charts/muster/files/boards")
RUNBOOK = "docs/operations.md"
SEVERITIES = ("critical", "warning", "info")


def rules_source():
    return tomllib.loads((ROOT / SOURCES / "rules.toml").read_text())


def board_sources():
    """{name: board} of all boards; raises BoardError for a wrong one."""
    boards = {}
    for path in sorted((ROOT / SOURCES / "boards").glob("*.toml")):
        boards[path.stem] = tomllib.loads(path.read_text())
        grafana_board.check_board(boards[path.stem], path.name)
    return boards


def anchor(alert):
    """The anchor of an alert's section, as renderers of Markdown make it of the heading."""
    return alert["name"].lower()


def _block(expression, indent):
    lines = expression.strip().splitlines()
    return "|-\n" + "\n".join(" " * indent + line for line in lines)


def _quoted(value):
    """A value as JSON in one line, which every reader of YAML reads."""
    return json.dumps(value, ensure_ascii=False)


def rules_text(source):
    """Prometheus' file of rules."""
    out = ["# Made of deploy/monitoring/rules.toml by tools/generate.", "groups:", "- name: muster.rules", "  rules:"]
    for record in source["records"]:
        out += [f"  - record: {record['record']}", f"    expr: {_block(record['expr'], 6)}"]
    out += ["- name: muster.alerts", "  rules:"]
    for alert in source["alerts"]:
        out += [f"  - alert: {alert['name']}", f"    expr: {_block(alert['expr'], 6)}", f"    for: {alert['for']}",
                "    labels:", f"      severity: {alert['severity']}",
                "    annotations:", f"      summary: {_quoted(alert['summary'])}", f"      description: {_quoted(alert['description'])}",
                f"      runbook_url: {RUNBOOK}#{anchor(alert)}"]
    return "\n".join(out) + "\n"


def board_text(board):
    """A dashboard in JSON with one line for each panel, so that a diff shows which panels changed."""
    fields = []
    for key, value in grafana_board.dashboard(board).items():
        text = _quoted(value)
        if key == "panels":
            text = "[\n" + ",\n".join(f"  {_quoted(panel)}" for panel in value) + "\n ]"
        fields.append(f" {_quoted(key)}: {text}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


def files():
    """{path: text} of every generated file."""
    made = {RULES: rules_text(rules_source())}
    made.update({BOARDS / f"{name}.json": board_text(board) for name, board in board_sources().items()})
    return made


def main():
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    for path, text in files().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text)
        print(f"wrote {path}")


if __name__ == "__main__":
    try:
        main()
    except grafana_board.BoardError as error:
        sys.exit(f"error: {error}")
