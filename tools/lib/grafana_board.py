"""Makes the JSON of a Grafana dashboard from a board of deploy/monitoring/boards. tests/monitoring compares the result with
Grafana's own schema."""

COLUMNS = 24
HEIGHT = 8
SCHEMA = 41  # of dashboards of Grafana 11.6; later versions read it
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
# Variables of type query: what is asked for their values, and which part of an answer is one.
VARIABLES = {
    "queue": {"label": "Queue", "query": "label_values(muster_queue_jobs, queue)", "regex": "", "all": ".*"},
    "namespace": {"label": "Namespace", "query": "label_values(muster_job_info, training_job)", "regex": "/^([^\\/]+)\\//", "all": "[^/]+"},
    "training_job": {"label": "Job", "query": 'label_values(muster_job_info{training_job=~"$namespace/.*"}, training_job)', "regex": "", "all": "$namespace/.*"},
}
# Leads from each board to the others, with the same time and variables.
LINKS = [{"type": "dashboards", "title": "muster", "tags": ["muster"], "asDropdown": False, "includeVars": True, "keepTime": True,
          "targetBlank": False, "icon": "external link", "tooltip": "", "url": ""}]
STAT_TEXT = {"value": "auto", "name": "name", "value_and_name": "value_and_name"}


class BoardError(Exception):
    """A board that says what it may not say, as a sentence for the user."""


def as_shown(expression, interval):
    """An expression of a panel as Grafana sends it, with every choice on All and its interval."""
    text = expression.replace("$__rate_interval", interval).replace("$training_job", VARIABLES["training_job"]["all"])
    return text.replace("$namespace", VARIABLES["namespace"]["all"]).replace("$queue", VARIABLES["queue"]["all"])


def _only(table, needed, optional, where):
    unknown = sorted(set(table) - set(needed) - set(optional))
    missing = sorted(set(needed) - set(table))
    if unknown or missing:
        raise BoardError(f"{where}: {f'does not know {unknown}' if unknown else f'lacks {missing}'}; "
                         f"it has {sorted(needed)} and may have {sorted(optional)}")


def panels_of(board):
    """Every panel of a board, in order."""
    return [panel for row in board["rows"] for panel in row["panels"]]


def check_board(board, where):
    """Raises BoardError unless the board has exactly what a board has."""
    _only(board, ("uid", "title", "description", "variables", "rows"), (), where)
    for row in board["rows"]:
        _only(row, ("title", "panels"), (), f"{where}: a row")
        for panel in row["panels"]:
            place = f"{where}: panel {panel.get('title', '?')!r}"
            _only(panel, ("title", "type", "unit", "description", "queries"), ("width", "height", "stacked", "text", "thresholds"), place)
            if not panel["title"].endswith("?"):
                raise BoardError(f"{place}: a title is the question that the panel answers")
            for query in panel["queries"]:
                _only(query, ("expr",), ("legend", "may_be_empty"), place)
            for threshold in panel.get("thresholds", ()):
                _only(threshold, ("color",), ("from",), place)
    for name in board["variables"]:
        if name not in VARIABLES:
            raise BoardError(f"{where}: variable {name!r} is none of {sorted(VARIABLES)}")


def _variables(names):
    made = [{"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus", "hide": 0, "multi": False, "includeAll": False}]
    for name in names:
        said = VARIABLES[name]
        made.append({"type": "query", "name": name, "label": said["label"], "datasource": DATASOURCE, "query": said["query"],
                     "regex": said["regex"], "multi": True, "includeAll": True, "allValue": said["all"], "hide": 0,
                     "refresh": 2, "sort": 1, "current": {"selected": True, "text": ["All"], "value": ["$__all"]}})
    return made


def _field_config(panel):
    steps = [{"value": step.get("from"), "color": step["color"]} for step in panel.get("thresholds", [{"color": "green"}])]
    defaults = {"unit": panel["unit"], "color": {"mode": "palette-classic"}, "thresholds": {"mode": "absolute", "steps": steps}}
    if panel["type"] != "timeseries":
        defaults["color"] = {"mode": "thresholds"}
        return {"defaults": defaults, "overrides": []}
    stacked = panel.get("stacked", False)
    defaults["custom"] = {
        "drawStyle": "line", "lineWidth": 1, "fillOpacity": 40 if stacked else 10, "showPoints": "never",
        "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
        "thresholdsStyle": {"mode": "line" if "thresholds" in panel else "off"},
    }
    return {"defaults": defaults, "overrides": []}


def _options(panel):
    newest = {"values": False, "calcs": ["lastNotNull"], "fields": ""}
    if panel["type"] == "timeseries":
        return {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
                "tooltip": {"mode": "multi", "sort": "desc"}}
    if panel["type"] == "bargauge":
        return {"displayMode": "gradient", "orientation": "horizontal", "showUnfilled": True, "reduceOptions": newest}
    if panel["type"] == "stat":
        return {"colorMode": "value", "graphMode": "none", "justifyMode": "auto", "orientation": "auto",
                "textMode": STAT_TEXT[panel.get("text", "value")], "reduceOptions": newest}
    raise BoardError(f"panel {panel['title']!r}: type {panel['type']!r} is none of timeseries, stat, bargauge")


def _targets(panel):
    return [{"refId": chr(ord("A") + number), "datasource": DATASOURCE, "expr": query["expr"].strip(), "editorMode": "code",
             "legendFormat": query.get("legend", "__auto"), "range": panel["type"] == "timeseries", "instant": panel["type"] != "timeseries"}
            for number, query in enumerate(panel["queries"])]


def _panel(panel, number, x, y):
    return {"id": number, "type": panel["type"], "title": panel["title"], "description": panel["description"], "datasource": DATASOURCE,
            "gridPos": {"x": x, "y": y, "w": panel.get("width", COLUMNS // 2), "h": panel.get("height", HEIGHT)},
            "fieldConfig": _field_config(panel), "options": _options(panel), "targets": _targets(panel)}


def _layout(rows):
    """Panels from left to right, row by row; one that does not fit begins a new line."""
    made, y = [], 0
    for row in rows:
        made.append({"id": len(made) + 1, "type": "row", "title": row["title"], "collapsed": False, "panels": [],
                     "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1}})
        x, y, tallest = 0, y + 1, 0
        for panel in row["panels"]:
            if x + panel.get("width", COLUMNS // 2) > COLUMNS:
                x, y, tallest = 0, y + tallest, 0
            made.append(_panel(panel, len(made) + 1, x, y))
            x, tallest = x + made[-1]["gridPos"]["w"], max(tallest, made[-1]["gridPos"]["h"])
        y += tallest
    return made


def dashboard(board):
    """The dashboard of a checked board, as Grafana stores it."""
    return {
        "uid": board["uid"], "title": board["title"], "description": board["description"], "tags": ["muster"],
        "schemaVersion": SCHEMA, "timezone": "browser", "editable": True, "graphTooltip": 1, "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"}, "templating": {"list": _variables(board["variables"])},
        "annotations": {"list": []}, "links": LINKS, "panels": _layout(board["rows"]),
    }
