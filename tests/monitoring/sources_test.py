#!/usr/bin/python3
"""Checks rules and boards without running anything: the generated files are those of their sources, every expression names
metrics and labels that the operator exports, dashboards obey Grafana's schema, and every alert has its section."""
import copy
import pathlib
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).absolute().parent
ROOT = HERE.parent.parent
sys.path += [str(HERE), str(ROOT / "tools/lib")]
import grafana_board  # noqa: E402
import grafana_schema  # noqa: E402
import metric_names  # noqa: E402
import monitoring  # noqa: E402
import prometheus_stack  # noqa: E402
import promql  # noqa: E402

CATALOGUE = metric_names.catalogue((ROOT / "docs/metrics.md").read_text())
SOURCE = monitoring.rules_source()
BOARDS = monitoring.board_sources()
KNOWN = metric_names.with_records(CATALOGUE, SOURCE["records"])
# A job of 64 ranks has at most this many series.
MOST_SERIES = 2000


class Generated(unittest.TestCase):
    def test_files_of_the_chart_are_those_of_their_sources(self):
        for path, text in monitoring.files().items():
            with self.subTest(str(path)):
                self.assertEqual((ROOT / path).read_text(), text, "run tools/generate")
        made = {ROOT / path for path in monitoring.files()}
        self.assertEqual({path for path in (ROOT / "charts/muster/files").rglob("*") if path.is_file()}, made)

    def test_prometheus_accepts_the_rules(self):
        checked = subprocess.run([prometheus_stack.PROMTOOL, "check", "rules", ROOT / monitoring.RULES], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.assertIn(f"{len(SOURCE['records']) + len(SOURCE['alerts'])} rules found", checked.stdout)

    def test_alerts_fire_at_the_values_that_they_name_and_at_no_others(self):
        """promtool runs the series of alerts_test.yaml through the rules, on a clock of its own."""
        checked = subprocess.run([prometheus_stack.PROMTOOL, "test", "rules", HERE / "alerts_test.yaml"], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_grafana_accepts_the_boards(self):
        self.assertEqual(sorted(BOARDS), ["fleet", "job", "nodes", "operator"])
        for name, board in BOARDS.items():
            self.assertEqual(grafana_schema.findings(grafana_board.dashboard(board)), [], name)
        self.assertEqual(len({board["uid"] for board in BOARDS.values()}), len(BOARDS))

    def test_panels_fill_the_page_and_do_not_overlap(self):
        for name, board in BOARDS.items():
            taken = set()
            for panel in grafana_board.dashboard(board)["panels"]:
                at = panel["gridPos"]
                cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
                self.assertFalse(taken & cells, f"{name}: {panel['title']}")
                self.assertLessEqual(at["x"] + at["w"], grafana_board.COLUMNS, f"{name}: {panel['title']}")
                taken |= cells


class Names(unittest.TestCase):
    def test_every_expression_names_what_is_exported(self):
        expressions = [rule["expr"] for rule in SOURCE["records"] + SOURCE["alerts"]]
        expressions += [query["expr"] for board in BOARDS.values() for panel in grafana_board.panels_of(board) for query in panel["queries"]]
        self.assertGreater(len(expressions), 80)
        for expression in expressions:
            self.assertEqual(metric_names.findings(expression, KNOWN), [])

    def test_variables_of_boards_ask_for_what_is_exported(self):
        for name, variable in grafana_board.VARIABLES.items():
            metric, labels, label = re.fullmatch(r"label_values\((\w+)(\{.*\})?, (\w+)\)", variable["query"]).groups()
            self.assertEqual(metric_names.findings(metric + (labels or ""), KNOWN), [], name)
            self.assertIn(label, KNOWN[metric], name)

    def test_legends_name_labels_that_the_query_keeps(self):
        for board in BOARDS.values():
            for panel in grafana_board.panels_of(board):
                for query in panel["queries"]:
                    labels = set(re.findall(r"\{\{(\w+)\}\}", query.get("legend", "")))
                    kept = promql.names(query["expr"]).labels | metric_names.OF_TARGETS
                    self.assertLessEqual(labels, kept, panel["title"])

    def test_every_metric_of_a_job_is_on_a_board(self):
        shown = {selector.metric for board in BOARDS.values() for panel in grafana_board.panels_of(board)
                 for query in panel["queries"] for selector in promql.names(query["expr"]).selectors}
        self.assertEqual({metric for metric in CATALOGUE if metric.startswith("muster_job_")} - shown, set())

    def test_a_job_has_few_series_whatever_its_size(self):
        """No metric of the operator has a label for ranks or workers, so a job of 64 ranks has the series of any other."""
        of_jobs = {metric: labels for metric, labels in CATALOGUE.items() if "training_job" in labels}
        self.assertGreater(len(of_jobs), 15)
        others = set().union(*of_jobs.values()) - {"training_job"}
        self.assertEqual(others, {"queue", "state", "phase", "counted", "alert", "use", "currency"},
                         "a new label is counted here by its values")
        values = {"queue": 1, "state": 2, "phase": 7, "counted": 2, "alert": 16, "use": 12, "currency": 1}
        series = 0
        for labels in of_jobs.values():
            product = 1
            for label in labels - {"training_job"}:
                product *= values[label]
            series += product
        self.assertLess(series, MOST_SERIES)


class WrongNames(unittest.TestCase):
    def findings(self, expression):
        return "\n".join(metric_names.findings(expression, KNOWN))

    def test_an_unknown_metric_is_found(self):
        self.assertIn("muster_job_los is no metric", self.findings("max by (training_job) (muster_job_los)"))
        self.assertIn("muster_recovery_duration_seconds is no metric", self.findings("muster_recovery_duration_seconds"))

    def test_an_unknown_label_is_found(self):
        self.assertIn("muster_jobs has no label status", self.findings('muster_jobs{status="Failed"}'))
        self.assertIn("groups by queue", self.findings("max by (queue) (muster_jobs)"))
        self.assertIn("groups by le", self.findings("sum by (le) (rate(muster_reconcile_duration_seconds_sum[5m]))"))

    def test_a_recording_rule_has_the_labels_that_it_groups_by(self):
        self.assertEqual(self.findings('state:muster_jobs:max{state="Failed"}'), "")
        self.assertIn("has no label queue", self.findings('state:muster_jobs:max{queue="a"}'))

    def test_expressions_without_a_metric_or_with_an_unknown_function_are_found(self):
        self.assertIn("names no metric", self.findings("vector(1)"))
        with self.assertRaisesRegex(promql.PromqlError, "'maxx' is not known"):
            metric_names.findings("maxx(muster_jobs)", KNOWN)

    def test_selectors_are_read_in_every_position(self):
        found = promql.names('''sum by (a, b) (rate(m1{x="1,}", y!~"2"}[5m] offset 1h)) / on (c) group_left (d) m2 > bool 1e-3 or -m3''')
        self.assertEqual(list(map(str, found.selectors)), ['m1{x="1,}", y!~"2"}', "m2", "m3"])
        self.assertEqual(found.labels, {"a", "b", "c", "d"})


class WrongBoards(unittest.TestCase):
    def assert_refused(self, change, words):
        board = copy.deepcopy(grafana_board.dashboard(BOARDS["operator"]))
        change(board, next(panel for panel in board["panels"] if panel["type"] == "stat"))
        self.assertRegex("\n".join(grafana_schema.findings(board)), words)

    def test_what_the_schema_does_not_allow_is_found(self):
        self.assert_refused(lambda board, panel: panel.update(titel="x"), "titel: the schema has no such field")
        self.assert_refused(lambda board, panel: panel["options"].update(colorMode="valeu"), "'valeu' is none of")
        self.assert_refused(lambda board, panel: panel["gridPos"].update(w="12"), "'12' is no int")
        self.assert_refused(lambda board, panel: panel["targets"][0].update(exp="x"), r"targets\[0\].exp: the schema has no such")
        self.assert_refused(lambda board, panel: panel.update(type="stats"), "'stats' is no panel")
        self.assert_refused(lambda board, panel: panel["fieldConfig"]["defaults"].update(unit="secs"), "'secs' is no unit")
        self.assert_refused(lambda board, panel: board.update(graphTooltip=7), "graph_tooltip: 7 is not")

    def test_a_source_that_says_too_much_or_too_little_is_refused(self):
        for change, words in ((lambda panel: panel.update(colour="red"), "does not know \\['colour'\\]"),
                              (lambda panel: panel.pop("unit"), "lacks \\['unit'\\]"),
                              (lambda panel: panel.update(title="Loss"), "a title is the question")):
            board = copy.deepcopy(BOARDS["job"])
            change(board["rows"][0]["panels"][0])
            with self.assertRaisesRegex(grafana_board.BoardError, words):
                grafana_board.check_board(board, "job.toml")


class Runbook(unittest.TestCase):
    def test_every_alert_has_a_section_that_says_what_to_do(self):
        page = (ROOT / monitoring.RUNBOOK).read_text()
        sections = dict(re.findall(r"(?ms)^#### (Muster\w+)\n(.*?)(?=^#)", page + "#"))
        self.assertEqual(sorted(sections), sorted(alert["name"] for alert in SOURCE["alerts"]))
        for name, text in sections.items():
            for word in ("**Meaning.**", "**Look.**", "**Do.**"):
                self.assertIn(word, text, name)

    def test_alerts_are_complete(self):
        for alert in SOURCE["alerts"]:
            with self.subTest(alert["name"]):
                self.assertLessEqual(set(alert), {"name", "severity", "for", "expr", "summary", "description", "may_be_empty"})
                self.assertIn(alert["severity"], monitoring.SEVERITIES)
                self.assertTrue(alert["summary"].endswith((".", "}}.")))

    def test_the_page_of_monitoring_lists_every_alert_and_board(self):
        page = (ROOT / "docs/monitoring.md").read_text()
        listed = re.findall(r"^\| \[`(Muster\w+)`\]\(operations\.md#(\w+)\) \| (\w+) \|", page, re.M)
        self.assertEqual(listed, [(alert["name"], monitoring.anchor(alert), alert["severity"]) for alert in SOURCE["alerts"]])
        for board in BOARDS.values():
            self.assertIn(f"| {board['title'].removeprefix('muster / ')} |", page)


if __name__ == "__main__":
    sys.exit(unittest.main())
