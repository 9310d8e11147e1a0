"""Draws a board of deploy/monitoring as SVG, with the panels where Grafana has them and data of a running Prometheus. It is
for the pictures of docs/, and shows no more of Grafana than they need."""
import html
import math
import re

import grafana_board

COLUMN, LINE = 40, 21  # pixels of a unit of the dashboard's grid
PALETTE = ("#2f6fb3", "#c9822b", "#3d8f5f", "#b04a5a", "#7a63a8", "#6f7d8c", "#a89a2f", "#4aa3a8")
NAMED = {"green": "#3d8f5f", "orange": "#c9822b", "red": "#b04a5a"}
INK, FAINT, PAPER, CARD = "#40403c", "#8a8a84", "#f6f6f2", "#fdfdfb"
MOST_LEGENDS = 8


def _thousands(value):
    for limit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g} {sign}"
    return f"{value:.3g}"


def _duration(value):
    for limit, sign in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms")):
        if abs(value) >= limit:
            return f"{value / limit:.3g} {sign}"
    return "0 s" if value == 0 else f"{value * 1e6:.3g} µs"


def number(value, unit):
    """A value in a panel's unit, as short as an axis needs it."""
    if math.isnan(value):
        return "no value"
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    if unit == "s":
        return _duration(value)
    suffix = {"bytes": "B", "ops": "/s", "reqps": "/s", "wps": "/s"}.get(unit, "")
    return f"{_thousands(value)}{'' if not suffix or suffix.startswith('/') else ' '}{suffix}".replace("G B", "GB").replace("M B", "MB")


def legend_of(template, labels):
    if template == "__auto":
        return ", ".join(f"{name}={value}" for name, value in labels.items())
    return re.sub(r"\{\{(\w+)\}\}", lambda match: labels.get(match[1], ""), template)


def _text(x, y, words, size=10, color=INK, more=""):
    return f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' fill='{color}'{more}>{html.escape(words)}</text>"


def _color(panel, value):
    """The colour that the thresholds give to a value."""
    if math.isnan(value):
        return FAINT
    color = "green"
    for step in panel.get("thresholds", ()):
        if step.get("from") is None or value >= step["from"]:
            color = step["color"]
    return NAMED[color]


def _stacked(series):
    """Each series on top of those before it, with the lower edge: [(name, [(time, low, high), ...]), ...]."""
    base, made = {}, []
    for name, points in series:
        edge = [(time, base.get(time, 0), base.get(time, 0) + value) for time, value in points]
        base.update({time: high for time, _, high in edge})
        made.append((name, edge))
    return made


def _scale(values):
    """The limits and lines of an axis that holds the values and, unless they are far from it, 0."""
    low, high = min(values), max(values)
    if 0 < low < 0.6 * high or low == high > 0:
        low = 0
    span = high - low or 1
    step = 10 ** math.floor(math.log10(span))
    step *= next(times for times in (0.2, 0.5, 1, 2, 5) if span / (step * times) <= 5)
    first, last = math.floor(low / step), max(math.ceil(high / step - 1e-6), math.floor(low / step) + 1)
    return first * step, last * step, [line * step for line in range(first, last + 1)]


def _graph(panel, series, left, top, width, height):
    series = [(name, [(time, value) for time, value in points if not math.isnan(value)]) for name, points in series]
    areas = _stacked(series) if panel.get("stacked") else [(name, [(time, value, value) for time, value in points]) for name, points in series]
    every = [point for _, points in areas for point in points]
    if not every:
        return [_text(left + 8, top + 20, "no data yet", color=FAINT)]
    low, high, lines = _scale([edge for _, bottom, top_edge in every for edge in ((bottom, top_edge) if panel.get("stacked") else (top_edge,))])
    begin, end = min(point[0] for point in every), max(point[0] for point in every)
    labels = [number(line, panel["unit"]) for line in lines]
    left, width = left + 10 + 5.4 * max(map(len, labels)), width - 18 - 5.4 * max(map(len, labels))
    x = lambda time: left + width * (time - begin) / ((end - begin) or 1)
    y = lambda value: top + height - height * (value - low) / (high - low)
    out = []
    for line, label in zip(lines, labels):
        out.append(f"<path d='M{left:.1f} {y(line):.1f}h{width:.1f}' stroke='#e2e2dc'/>")
        out.append(_text(left - 5, y(line) + 3, label, 9, FAINT, " text-anchor='end'"))
    for index, (_, points) in enumerate(areas):
        color = PALETTE[index % len(PALETTE)]
        upper = "L".join(f"{x(time):.1f} {y(value):.1f}" for time, _, value in points)
        if panel.get("stacked") and points:
            lower = "L".join(f"{x(time):.1f} {y(value):.1f}" for time, value, _ in reversed(points))
            out.append(f"<path d='M{upper}L{lower}Z' fill='{color}' fill-opacity='0.35'/>")
        if points:
            out.append(f"<path d='M{upper}' fill='none' stroke='{color}' stroke-width='1.4'/>")
    return out


def _legend(series, left, y, width):
    """The names of the series that fit, the largest first."""
    out, x = [], left + 10
    newest = lambda index: -series[index][1][-1][1] if series[index][1] else 0
    for index in sorted(range(len(series)), key=newest)[:MOST_LEGENDS]:
        name = series[index][0]
        need = 20 + 5.2 * len(name)
        if x + need > left + width:
            break
        out.append(f"<rect x='{x:.1f}' y='{y - 7:.1f}' width='8' height='8' rx='1' fill='{PALETTE[index % len(PALETTE)]}'/>")
        out.append(_text(x + 12, y, name, 9))
        x += need
    return out


def _stat(panel, newest, left, top, width, height):
    shown = newest[:3] or [("", math.nan)]
    size = min(26, height / len(shown) * 0.5)
    out = []
    for index, (name, value) in enumerate(shown):
        words = name if panel.get("text") == "name" else number(value, panel["unit"])
        y = top + height * (index + 0.5) / len(shown) + size / 3
        if panel.get("text") != "name" and (len(shown) > 1 or panel.get("text")):
            words = f"{name} {words}"
        out.append(_text(left + width / 2, y, words, f"{size:.0f}", _color(panel, value), " text-anchor='middle'"))
    return out


def _bars(panel, newest, left, top, width, height):
    most = max([value for _, value in newest] + [1 if panel["unit"] == "percentunit" else 0.001])
    out = []
    for index, (name, value) in enumerate(newest[:6]):
        y = top + 8 + index * 24
        out += [_text(left + 10, y + 10, name, 9), f"<rect x='{left + 130:.1f}' y='{y:.1f}' height='13' width='{(width - 210) * value / most:.1f}' fill='{_color(panel, value)}'/>",
                _text(left + width - 70, y + 10, number(value, panel["unit"]), 9)]
    return out or [_text(left + 10, top + 20, "nothing", color=FAINT)]


def _panel(panel, at, series):
    left, top, width, height = at["x"] * COLUMN + 4, at["y"] * LINE + 4, at["w"] * COLUMN - 8, at["h"] * LINE - 8
    out = [f"<rect x='{left}' y='{top}' width='{width}' height='{height}' rx='3' fill='{CARD}' stroke='#d6d6d0'/>",
           _text(left + 10, top + 17, panel["title"], 10 if len(panel["title"]) * 6 < width else 8, INK, " font-weight='bold'")]
    if panel["type"] == "timeseries":
        return out + _graph(panel, series, left, top + 28, width, height - 58) + _legend(series, left, top + height - 9, width)
    newest = [(name, points[-1][1]) for name, points in series if points]
    return out + (_stat if panel["type"] == "stat" else _bars)(panel, newest, left, top + 22, width, height - 28)


def draw(board, ask):
    """The board as SVG. `ask(expression)` answers [(labels, [(seconds, value), ...]), ...] of the time that is shown."""
    grid = grafana_board.dashboard(board)["panels"]
    sources = iter(grafana_board.panels_of(board))
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in grid) * LINE + 4
    out = [f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {COLUMN * grafana_board.COLUMNS} {height}' font-family='sans-serif'>",
           f"<rect width='100%' height='100%' fill='{PAPER}'/>"]
    for placed in grid:
        if placed["type"] == "row":
            out.append(_text(8, placed["gridPos"]["y"] * LINE + 16, placed["title"], 11, FAINT, " font-weight='bold'"))
            continue
        panel = next(sources)
        series = [(legend_of(query.get("legend", "__auto"), labels), points) for query in panel["queries"] for labels, points in ask(query["expr"])]
        out += _panel(panel, placed["gridPos"], series)
    return "\n".join(out) + "\n</svg>\n"
