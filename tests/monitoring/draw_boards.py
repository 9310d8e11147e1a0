#!/usr/bin/python3
"""usage: draw_boards.py MUSTER AGENT TRAINER OPERATOR FOLDER

Draws the boards job and operator into FOLDER, as board-NAME.svg, with the data of a job that trains on this machine for three
minutes; one of its trainers is killed after a third of that time. The other boards need a cluster to show anything.
tools/pictures runs it.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).absolute().parent
ROOT = HERE.parent.parent
sys.path += [str(HERE), str(ROOT / "tools/lib")]
import draw_board  # noqa: E402
import grafana_board  # noqa: E402
import monitoring  # noqa: E402
import operators  # noqa: E402
import prometheus_stack as stack  # noqa: E402
from mail_server import MailServer  # noqa: E402

SECONDS = 180
STEP = 3  # seconds between two points


def ask(prometheus, begin, expression):
    """The series of an expression since `begin`, as draw_board wants them."""
    data = prometheus.get("query_range", query=grafana_board.as_shown(expression, "15s"), start=begin, end=time.time(), step=STEP)
    return [(series["metric"], [(float(at), float(value)) for at, value in series["values"]]) for series in data["result"]]


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    pictures = pathlib.Path(sys.argv[5])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        folder = pathlib.Path(scratch)
        # The text of the examples.
        text = subprocess.run(["bible", "-f", "gen1:1-deu34:12"], capture_output=True, text=True, check=True).stdout
        operator = operators.TrainingOperator(folder, [str(pathlib.Path(path).absolute()) for path in sys.argv[1:5]], text)
        alerting = stack.delivered_at_once((ROOT / "docs/monitoring.md").read_text(), stack.Webhook(), MailServer().start())
        rules = (ROOT / monitoring.RULES).read_text()
        prometheus = stack.Stack(folder, operator.address, operator.token, rules, alerting, stack.ReservedPort())
        try:
            stack.wait_for("the first steps", lambda: prometheus.query("muster_job_step > 0"), stack.LONG, operator.text)
            begin = time.time()
            time.sleep(SECONDS / 3)
            os.kill(operator.trainers()[0], signal.SIGKILL)
            time.sleep(SECONDS * 2 / 3)
            for name in ("job", "operator"):
                drawn = draw_board.draw(monitoring.board_sources()[name], lambda expression: ask(prometheus, begin, expression))
                (pictures / f"board-{name}.svg").write_text(drawn)
        finally:
            prometheus.stop()
            operator.kill()


if __name__ == "__main__":
    main()
