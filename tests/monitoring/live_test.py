#!/usr/bin/python3
"""usage: live_test.py MUSTER AGENT TRAINER OPERATOR

Runs the real Prometheus and Alertmanager beside an operator whose job trains: every expression of every panel, rule and
alert has data, and alerts that real faults set off arrive at a webhook and in a mailbox: those of the rules through
Prometheus, those of the job's own rules from the operator. What only an operator with TLS has is asked of one without a job.
The paths are those of the built programs.
"""
import datetime
import math
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).absolute().parent
ROOT = HERE.parent.parent
sys.path += [str(HERE), str(ROOT / "tools/lib")]
import grafana_board  # noqa: E402
import monitoring  # noqa: E402
import operators  # noqa: E402
import prometheus_stack as stack  # noqa: E402
import promql  # noqa: E402
from mail_server import MailServer  # noqa: E402

PROGRAMS = [str(pathlib.Path(path).absolute()) for path in sys.argv[1:5]]
LONG = stack.LONG
JOB = "default/watched"
MOST_SERIES = 2000  # of a job of 64 ranks, whose series are those of this one
# The reason why the sources let an expression be empty although an operator on a cluster has its data.
WITHOUT_TLS = "an operator on one machine serves its agents without TLS"


def expressions():
    """(where it stands, expression, why it may be empty or None) of each panel and rule, and of each selector of each alert: a
    healthy operator has the data of every alert, although none of them fires."""
    for name, board in monitoring.board_sources().items():
        for panel in grafana_board.panels_of(board):
            for query in panel["queries"]:
                yield f"{name}: {panel['title']}", grafana_board.as_shown(query["expr"], "1m"), query.get("may_be_empty")
    source = monitoring.rules_source()
    for record in source["records"]:
        yield f"expression of {record['record']}", record["expr"], record.get("may_be_empty")
        yield "recorded", record["record"], record.get("may_be_empty")
    for alert in source["alerts"]:
        yield alert["name"], alert["expr"], "it does not fire"
        for selector in promql.names(alert["expr"]).selectors:
            yield f"{alert['name']} needs", str(selector), alert.get("may_be_empty")


class LiveTest(unittest.TestCase):
    def watch(self, make_operator):
        """Starts an operator, and Prometheus and Alertmanager beside it."""
        scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        self.webhook, self.mail, self.chat = stack.Webhook(), MailServer().start(), stack.Webhook()
        page = (ROOT / "docs/monitoring.md").read_text()
        manager = stack.ReservedPort()
        receivers = folder / "receivers.yaml"
        receivers.write_text(stack.receivers_of_jobs(page, self.chat, manager.address))
        self.operator = make_operator(folder, PROGRAMS, receivers=receivers)
        self.addCleanup(self.operator.kill)
        rules = stack.shortened((ROOT / monitoring.RULES).read_text(), "2s")
        alerting = stack.delivered_at_once(page, self.webhook, self.mail)
        self.stack = stack.Stack(folder, self.operator.address, self.operator.token, rules, alerting, manager)
        self.addCleanup(self.stack.stop)

    def look(self):
        return f"{self.operator.text()}\n{self.stack.text()}"

    def wait_for(self, what, ask):
        return stack.wait_for(what, ask, LONG, self.look)

    def number(self, expression):
        """The value of an expression with one sample; -1 while it has none."""
        samples = self.stack.query(expression)
        return float(samples[0][1]) if len(samples) == 1 else -1

    def has_data(self, expression):
        return any(not math.isnan(float(value)) for _, value in self.stack.query(expression))

    def break_rounds(self, times):
        """Kills a trainer, waits until the job has recovered, and so on."""
        for time in range(1, times + 1):
            step = self.number("muster_job_step")
            os.kill(self.operator.trainers()[0], signal.SIGKILL)
            self.wait_for(f"recovery {time}", lambda: self.number("sum(muster_recovery_duration_seconds_count)") >= time)
            self.wait_for("more steps", lambda: self.number("muster_job_step") > step + 1)

    def check_expressions(self, may_be_empty=None):
        """Waits until every expression has data for which the sources give this reason to be empty, or none."""
        every = list(expressions())
        for _, expression, _ in every:
            self.stack.query(expression)  # raises if Prometheus refuses it
        empty = [(where, expression) for where, expression, why in every if why == may_be_empty]
        self.assertGreater(len(empty), 3)

        def all_have_data():
            empty[:] = [(where, expression) for where, expression in empty if not self.has_data(expression)]
            return not empty
        stack.wait_for("data of every expression", all_have_data, LONG, lambda: "\n".join(f"empty: {where}: {text}" for where, text in empty))

    def check_rules(self):
        source = monitoring.rules_source()
        groups = self.stack.get("rules")["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        self.assertEqual(len(rules), len(source["records"]) + len(source["alerts"]))
        for rule in rules:
            self.assertEqual((rule["health"], rule.get("lastError", "")), ("ok", ""), rule["name"])

    def expect_silence(self):
        """Waits until no alert is active; MusterOperatorDown is until the first scrape."""
        self.wait_for("no alert, for nothing is wrong yet", lambda: self.stack.get("alerts") == {"alerts": []})

    def begin_fault(self):
        """Only what begins from now on is expected."""
        for arrived in (self.webhook.alerts, self.chat.alerts, self.mail.mails):
            arrived.clear()
        self.began = datetime.datetime.now(datetime.timezone.utc)

    def arrived(self, name, webhook=None, status="firing"):
        """The alert at the webhook, Alertmanager's if none is named, if it has begun since the fault."""
        alerts = (webhook or self.webhook).having(name, status)
        return [alert for alert in alerts if datetime.datetime.fromisoformat(alert["startsAt"]) >= self.began]

    def expect_alert(self, name, labels):
        """Waits for the alert at both receivers, and checks what it says."""
        arrived = self.wait_for(f"{name} at the webhook", lambda: self.arrived(name))[0]
        self.assertEqual({label: arrived["labels"].get(label) for label in labels}, labels)
        self.assertEqual(arrived["annotations"]["runbook_url"], f"docs/operations.md#{name.lower()}")
        self.assertNotRegex(arrived["annotations"]["summary"], r"\{\{|<no value>|error")
        recipients, text = self.wait_for(f"a mail about {name}", lambda: self.mail.mentioning(name))[0]
        self.assertEqual(recipients, ["oncall@example.com"])
        self.assertIn(arrived["annotations"]["runbook_url"], text)
        for value in labels.values():
            self.assertIn(value, text)

    def expect_alerts_of_the_job(self):
        """Stops the trainers until both rules of the job fire; each of their receivers learns of the begin and of the end."""
        name = "TrainingJobStalled"
        self.wait_for("no rule of the job that fires", lambda: self.number("sum(muster_job_alert_firing)") == 0)
        self.begin_fault()
        self.operator.signal_trainers(signal.SIGSTOP)
        for alert, receiver, webhook in (("quiet", "chat", self.chat), ("hangs", "mail", None)):
            arrived = self.wait_for(f"{name} from {receiver}", lambda: self.arrived(name, webhook))[0]
            labels = {"alert": alert, "receiver": receiver, "training_job": JOB, "severity": "warning"}
            self.assertEqual({label: arrived["labels"].get(label) for label in labels}, labels)
            self.assertRegex(arrived["annotations"]["description"], "^no step was reported for ")
        recipients, text = self.wait_for(f"a mail about {name}", lambda: self.mail.mentioning(name))[0]
        self.assertEqual(recipients, ["oncall@example.com"])
        self.assertIn("no step was reported for ", text)
        self.operator.signal_trainers(signal.SIGCONT)
        for receiver, webhook in (("chat", self.chat), ("mail", None)):
            self.wait_for(f"the end of {name} from {receiver}", lambda: self.arrived(name, webhook, "resolved"))
            taken = f'muster_alert_notifications_total{{receiver="{receiver}", result="success"}}'
            self.wait_for("both requests counted", lambda: self.number(taken) >= 2)

    def lose_the_storage(self):
        """A file in the place of the directory of checkpoints; returns what gives the directory back."""
        place, kept = self.operator.folder / "checkpoints", self.operator.folder / "kept"
        place.rename(kept)
        place.write_text("no directory")

        def give_back():
            place.unlink()
            shutil.move(kept, place)
        return give_back

    def test_every_expression_has_data_and_real_faults_reach_webhook_and_mailbox(self):
        self.watch(operators.TrainingOperator)
        self.wait_for("the first steps in Prometheus", lambda: self.number("muster_job_step") > 0)
        self.wait_for("a checkpoint", lambda: self.number("muster_job_checkpoint_step") > 0)
        self.expect_silence()
        self.check_rules()
        series = self.number(f'count({{training_job="{JOB}"}})')
        self.assertTrue(20 < series < MOST_SERIES, series)
        self.begin_fault()
        self.break_rounds(3)
        self.check_expressions()
        self.expect_alert("MusterJobKeepsFailing", {"training_job": JOB, "severity": "warning"})
        self.begin_fault()
        give_back = self.lose_the_storage()
        self.expect_alert("MusterJobCannotSave", {"training_job": JOB, "severity": "critical"})
        give_back()
        self.wait_for("a checkpoint again", lambda: self.number("muster_job_checkpoint_failing") == 0)
        self.expect_alerts_of_the_job()
        self.begin_fault()
        self.operator.kill()
        self.expect_alert("MusterOperatorDown", {"severity": "critical"})

    def test_an_operator_with_tls_has_the_rest_and_tells_who_is_turned_away(self):
        self.watch(operators.TlsOperator)
        self.wait_for("the first scrape", lambda: self.has_data("muster_build_info"))
        self.check_expressions(WITHOUT_TLS)
        self.expect_silence()
        self.begin_fault()
        self.operator.knock()
        self.expect_alert("MusterAgentsRefused", {"reason": "HandshakeFailed", "severity": "warning"})


if __name__ == "__main__":
    if len(PROGRAMS) != 4:
        sys.exit(__doc__)
    unittest.main(argv=sys.argv[:1])
