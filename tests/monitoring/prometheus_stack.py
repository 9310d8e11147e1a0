"""Prometheus and Alertmanager as tools/setup --test unpacks them, and a webhook that alerts are sent to. All listen on this
machine alone."""
import http.server
import json
import os
import pathlib
import re
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from reserved_port import ReservedPort

INSTALLED = pathlib.Path(__file__).absolute().parent.parent.parent / "third_party/installed"
PROMETHEUS = (INSTALLED / "prometheus").resolve().parent / "usr/bin/prometheus"
PROMTOOL = PROMETHEUS.parent / "promtool"
ALERTMANAGER = (INSTALLED / "alertmanager").resolve().parent
# Debian's Alertmanager reads its templates from /usr/share, where only an installed package has them. It therefore runs in a
# mount namespace whose /usr/share is that of the unpacked package.
IN_ITS_PLACE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c",
                f'mount --bind "{ALERTMANAGER}/usr/share" /usr/share && exec "$@"', "sh"]
POLL = 0.1
LONG = 120  # seconds for anything to happen


def wait_for(what, ask, seconds, look=lambda: ""):
    """What `ask` returns once that is true; it is asked again and again. Raises AssertionError after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        answer = ask()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds} s still waiting for {what}\n{look()}")
        time.sleep(POLL)


class Webhook:
    """Keeps the alerts that are posted to it."""

    def __init__(self):
        self.alerts = []
        webhook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                posted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                webhook.alerts += posted["alerts"]
                self.send_response(200)
                self.end_headers()

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def firing(self, name):
        return self.having(name, "firing")

    def having(self, name, status):
        return [alert for alert in list(self.alerts) if alert["labels"]["alertname"] == name and alert["status"] == status]


class Daemon:
    """A program in the background, with its output in a file."""

    def __init__(self, folder, name, arguments):
        self.log = folder / f"{name}.log"
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen([str(word) for word in arguments], cwd=folder, stdout=out, stderr=subprocess.STDOUT,
                                            env={"HOME": str(folder), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})

    def text(self):
        return f"--- {self.log.name}\n{self.log.read_text(errors='replace')[-4000:]}"

    def stop(self):
        self.process.kill()
        self.process.wait()


def shortened(rules, wait):
    """The rules with all their waiting times replaced, so that a test need not wait as long as an administrator."""
    return re.sub(r"(?m)^(    for: ).*$", rf"\g<1>{wait}", rules)


def delivered_at_once(page, webhook, mail):
    """The configuration of Alertmanager that a page shows, with the receivers' addresses and without waiting."""
    return shown_with(page, "alertmanager", {
        "smtp.example.com:587": mail.address, "https://pager.example.com/alerts": webhook.url, "smtp_require_tls: true": "smtp_require_tls: false",
        "group_wait: 30s": "group_wait: 0s", "group_interval: 5m": "group_interval: 1s"})


def receivers_of_jobs(page, webhook, manager):
    """The list of receivers that a page shows, with the addresses of this webhook and this Alertmanager."""
    return shown_with(page, "alert receivers", {
        "https://chat.example.com/hooks/1": webhook.url, "http://alertmanager-operated.monitoring:9093": f"http://{manager}",
        "    authorizationFile: /etc/muster/chat-authorization   # its line is the header Authorization; optional\n": ""})


def shown_with(page, mark, replacements):
    """The block of YAML that has this mark on the page, with each of `replacements` in the place of what the page has once."""
    text = re.search(rf"<!-- {mark} -->\n```yaml\n(.*?)```", page, re.S)[1]
    for shown, here in replacements.items():
        if text.count(shown) != 1:
            raise AssertionError(f"the page has {shown!r} {text.count(shown)} times:\n{text}")
        text = text.replace(shown, here)
    return text


def is_ready(address):
    try:
        with urllib.request.urlopen(f"http://{address}/-/ready", timeout=10) as answer:
            return answer.status == 200
    except urllib.error.URLError:
        return False


class Stack:
    """A Prometheus that scrapes one operator each second and loads the rules, and an Alertmanager with the configuration
    `alerting` at `manager`, a ReservedPort. Both keep their data under `folder`."""

    def __init__(self, folder, target, token_file, rules, alerting, manager):
        self.daemons = []
        self.ports = [ReservedPort(), manager]  # kept as long as the programs run
        self.address, self.manager = (port.address for port in self.ports)
        (folder / "rules.yaml").write_text(rules)
        # JSON is YAML; the job's name is that of the chart's Service.
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [self.manager]}]}]},
            "scrape_configs": [{"job_name": "muster-operator", "authorization": {"credentials_file": str(token_file)},
                                "static_configs": [{"targets": [target]}]}]}))
        (folder / "alertmanager.yml").write_text(alerting)
        self.start(folder, "alertmanager", *IN_ITS_PLACE, ALERTMANAGER / "usr/bin/prometheus-alertmanager", "--config.file=alertmanager.yml", f"--storage.path={folder}/alerts",
                   f"--web.listen-address={self.manager}", "--cluster.listen-address=")
        self.start(folder, "prometheus", PROMETHEUS, "--config.file=prometheus.yml", f"--storage.tsdb.path={folder}/data",
                   f"--web.listen-address={self.address}", "--log.level=warn")

        for address in (self.address, self.manager):
            wait_for(f"an answer of {address}", lambda: is_ready(address), 60, self.text)

    def start(self, folder, name, *words):
        self.daemons.append(Daemon(folder, name, words))

    def stop(self):
        for daemon in self.daemons:
            daemon.stop()

    def text(self):
        return "\n".join(daemon.text() for daemon in self.daemons)

    def get(self, path, **parameters):
        """The `data` of Prometheus' answer; None while it does not answer. Raises AssertionError with its words if it refuses."""
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as refused:
            if refused.code == 503:
                return None
            raise AssertionError(f"{path} {parameters}: {refused.read().decode()}") from refused
        except urllib.error.URLError:
            return None

    def query(self, expression):
        """The samples of an expression at this moment: [(labels, value as a text), ...]; a scalar has no labels."""
        data = self.get("query", query=expression)
        if data is None:
            return []
        if data["resultType"] == "scalar":
            return [({}, data["result"][1])]
        return [(sample["metric"], sample["value"][1]) for sample in data["result"]]
