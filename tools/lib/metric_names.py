"""The metrics that expressions of rules and boards may name: those of docs/metrics.md, and what recording rules make."""
import re

import promql

ROW = re.compile(r"^\| `(\w+)` \| (counter|gauge|histogram) \| ([^|]*)\|", re.M)
# Labels that Prometheus and its operator give to everything that they scrape.
OF_TARGETS = frozenset(("job", "instance", "namespace", "pod", "service", "container", "endpoint"))


def catalogue(document):
    """{metric: labels} of the table of docs/metrics.md, with the three series of each histogram."""
    known = {}
    for name, kind, labels in ROW.findall(document):
        labels = frozenset(re.findall(r"`(\w+)`", labels))
        if kind == "histogram":
            known.update({f"{name}_bucket": labels | {"le"}, f"{name}_sum": labels, f"{name}_count": labels})
        else:
            known[name] = labels
    return known


def with_records(known, records):
    """The same with the metrics of recording rules, each of which has the labels that it groups by."""
    made = dict(known)
    for record in records:
        made[record["record"]] = frozenset(promql.names(record["expr"]).labels)
    return made


def findings(expression, known):
    """What is wrong with the names of an expression, as sentences."""
    found = promql.names(expression)
    wrong, all_labels = [], set(OF_TARGETS)
    for selector in found.selectors:
        if selector.metric not in known:
            wrong.append(f"{selector.metric} is no metric of docs/metrics.md and no recording rule")
            continue
        all_labels |= known[selector.metric]
        for label, _, _ in selector.matchers:
            if label not in known[selector.metric] | OF_TARGETS:
                wrong.append(f"{selector.metric} has no label {label}; it has {sorted(known[selector.metric])}")
    if not found.selectors:
        wrong.append("names no metric")
    elif not wrong:
        wrong += [f"groups by {label}, which no metric of the expression has" for label in sorted(found.labels - all_labels)]
    return [f"{sentence}: {expression.strip()}" for sentence in wrong]
