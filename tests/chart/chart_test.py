#!/usr/bin/python3
"""usage: chart_test.py [--accept]

Compares what the chart makes of each file in values/ with golden/, the generated files of chart and deploy/ with their
sources, and checks that wrong values are refused in plain words. --accept writes golden/ anew instead.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).absolute().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tools/lib"))
import chart  # noqa: E402

HELM = chart.helm_program()
VALUES = sorted((HERE / "values").glob("*.yaml"))
# The chart is also installed under namespaces and releases of other names.
PLACES = {"other_name": {"release": "research", "namespace": "research-system"}}
ACCEPT = "a wanted change is accepted with: tests/chart/chart_test.py --accept"


# What is left out of golden/, for it is that of a file: definitions of deploy/crd, rules and boards of the chart's files.
LONG = re.compile(r"\nkind: (CustomResourceDefinition|PrometheusRule|ConfigMap)\n")


def shortened(manifests):
    """The manifests without specs and data that are copies of files."""
    documents = manifests.split("---\n")
    return "---\n".join(re.sub(r"(?ms)^(spec|data):\n.*", r"\1: {}  # left out here\n", document)
                        if LONG.search(document) else document for document in documents)


def rendered(values):
    return chart.render(HELM, f"--values={values}", **PLACES.get(values.stem, {}))


def golden(values):
    return HERE / "golden" / values.name


class Chart(unittest.TestCase):
    maxDiff = 4000

    def test_values_give_the_golden_manifests(self):
        self.assertEqual(len(VALUES), 7)
        self.assertEqual([golden(v) for v in VALUES], sorted((HERE / "golden").glob("*.yaml")))
        for values in VALUES:
            with self.subTest(values.stem):
                self.assertEqual(shortened(rendered(values)), golden(values).read_text(), ACCEPT)

    def test_lint_finds_nothing(self):
        for values in VALUES:
            ended = chart.run_helm(HELM, "lint", "--strict", f"--values={values}", chart.CHART)
            with self.subTest(values.stem):
                self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)

    def test_definitions_are_those_of_deploy_and_are_kept(self):
        manifests = chart.render(HELM)
        for source in sorted((ROOT / "deploy/crd").glob("*.yaml")):
            annotated = source.read_text().replace("\nmetadata:\n", "\nmetadata:\n  annotations:\n    helm.sh/resource-policy: keep\n", 1)
            self.assertIn(annotated, manifests, source.name)
        self.assertEqual(manifests.count("helm.sh/resource-policy: keep"), 2)
        self.assertNotIn("resource-policy", chart.render(HELM, "--set=crds.keep=false"))

    def test_rules_and_boards_are_those_of_files(self):
        manifests = chart.render(HELM, f"--values={HERE / 'values/monitored.yaml'}")
        files = ROOT / chart.CHART / "files"
        rules = (files / "rules.yaml").read_text().replace(" docs/operations.md#", " https://docs.example.com/muster/operations.md#")
        self.assertIn(f"\nspec:\n{textwrap.indent(rules, '  ')}", manifests)
        for board in sorted((files / "boards").glob("*.json")):
            self.assertIn(f"\n  muster-{board.name}: |\n{textwrap.indent(board.read_text(), '    ')}", manifests)
        self.assertIn("runbook_url: docs/operations.md#", chart.render(HELM, "--set=metrics.prometheusRule.enabled=true"))
        self.assertNotIn("ConfigMap", chart.render(HELM))

    def test_prices_reach_the_operator_as_they_are(self):
        documents = chart.render(HELM, f"--values={HERE / 'values/monitored.yaml'}").split("---\n")
        prices = next(d for d in documents if "\n  name: muster-operator-prices\n" in d)
        self.assertIn(textwrap.dedent("""
            data:
              prices.yaml: |
                currency: EUR
                prices:
                - instanceType: p5.48xlarge
                  perHour: 98.32
                  spotDiscount: 0.6
                  watts: 10200
                - instanceType: g2-standard-4
                  perHour: 0.71
                  spotPerHour: 0.25
            """), prices)
        deployment = next(d for d in documents if "\nkind: Deployment\n" in d)
        self.assertIn("\n        - --prices=/etc/muster/cost/prices.yaml\n", deployment)
        self.assertIn("\n        - name: prices\n          mountPath: /etc/muster/cost\n", deployment)
        self.assertIn("\n      - name: prices\n        configMap:\n          name: muster-operator-prices\n", deployment)
        hashes = {re.search(r"muster.dev/prices: (\S+)", chart.render(HELM, f"--set=cost.prices[0].instanceType=a,cost.prices[0].watts={w}"))[1]
                  for w in (1, 2)}
        self.assertEqual(len(hashes), 2, "a change restarts the operator")
        self.assertNotIn("prices", chart.render(HELM))

    def test_generated_files_are_those_of_their_sources(self):
        made = {**chart.templates(), **chart.manifests(HELM)}
        for path, text in made.items():
            with self.subTest(str(path)):
                self.assertEqual((ROOT / path).read_text(), text, "run tools/generate")
        known = {ROOT / path for path in made}
        for folder in ("crd", "rbac"):
            self.assertLessEqual(set((ROOT / chart.CHART / "templates" / folder).iterdir()), known)

    def test_the_chart_has_the_version_of_the_programs(self):
        version = re.search(r'kVersion\[\] = "(.*)"', (ROOT / "base/version.h").read_text())[1]
        described = (ROOT / chart.CHART / "Chart.yaml").read_text()
        self.assertIn(f"\nversion: {version}\nappVersion: {version}\n", described)

    def test_every_flag_of_the_chart_is_one_of_the_operator(self):
        documented = {flag for page in ("operator-flags", "node-agent")
                      for flag in re.findall(r"`(--[a-z-]+)`", (ROOT / f"docs/{page}.md").read_text())}
        used = {flag for values in VALUES for flag in re.findall(r"^ +- (--[a-z-]+)=", rendered(values), re.M)}
        self.assertGreater(len(used), 6)
        self.assertLessEqual(used, documented)

    def test_the_schema_names_exactly_the_values(self):
        """A value that is in one of the two files only would be refused, or would have no default."""
        schema = json.loads((ROOT / chart.CHART / "values.schema.json").read_text())
        for path, node in objects(schema):
            self.assertIs(node.get("additionalProperties"), False, path)
        keys = re.findall(r"^([A-Za-z]+):", (ROOT / chart.CHART / "values.yaml").read_text(), re.M)
        self.assertEqual(sorted([*keys, "global"]), sorted(schema["properties"]))


def objects(node, path="values"):
    """(path, schema) of each object whose properties the schema names."""
    if "properties" in node:
        yield path, node
        for name, child in node["properties"].items():
            yield from objects(child, f"{path}.{name}")
    if "items" in node:
        yield from objects(node["items"], f"{path}[]")


class NodeAgents(unittest.TestCase):
    """What a node agent tells of its machine is open to other machines on request alone."""

    def arguments(self, *values):
        rendering = chart.render(HELM, "--set=nodeAgent.enabled=true,metrics.serviceMonitor.enabled=true", *values)
        agents = rendering[rendering.index("kind: DaemonSet"):].split("\n---\n")[0]
        return rendering, re.findall(r"--(?:metrics|probes)=(\S+)", agents)

    def test_metrics_are_on_the_loopback_interface(self):
        for values in (), ("--set=nodeAgent.hostNetwork=true",):
            rendering, (metrics, _) = self.arguments(*values)
            self.assertEqual(metrics, "127.0.0.1:9402")
            self.assertNotIn("containerPort: 9402", rendering)
            self.assertNotIn("kind: PodMonitor", rendering)

    def test_an_administrator_opens_them(self):
        rendering, (metrics, _) = self.arguments("--set=nodeAgent.openMetrics=true")
        self.assertEqual(metrics, "0.0.0.0:9402")
        self.assertIn("kind: PodMonitor", rendering)

    def test_in_the_nodes_network_the_probe_is_local_too(self):
        rendering, (_, probes) = self.arguments("--set=nodeAgent.hostNetwork=true")
        self.assertEqual(probes, "127.0.0.1:9403")
        self.assertIn("host: 127.0.0.1\n", rendering)


class Refusals(unittest.TestCase):
    def refusal(self, *arguments):
        with self.assertRaises(chart.ChartError) as caught:
            chart.render(HELM, *arguments)
        return str(caught.exception)

    def test_a_value_that_the_chart_does_not_have(self):
        self.assertIn("at '': additional properties 'replicaCount' not allowed", self.refusal("--set=replicaCount=2"))
        self.assertIn("at '/image': additional properties 'name' not allowed", self.refusal("--set=image.name=x"))

    def test_a_value_of_the_wrong_type_is_named(self):
        self.assertIn("at '/replicas': got string, want integer", self.refusal("--set-string=replicas=three"))
        self.assertIn("at '/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'",
                      self.refusal("--set=image.pullPolicy=Sometimes"))
        self.assertIn("at '/extraArgs/0': 'qps=5' does not match pattern", self.refusal("--set=extraArgs={qps=5}"))
        self.assertIn("at '/metrics/readers/0': missing property 'namespace'", self.refusal("--set=metrics.readers[0].name=prometheus"))

    def test_a_price_that_the_operator_would_refuse(self):
        row = "--set=cost.prices[0].instanceType=a"
        self.assertIn("at '/cost/prices/0': 'anyOf' failed", self.refusal(row))
        self.assertIn("at '/cost/prices/0/perHour': exclusiveMinimum: got 0, want 0", self.refusal(f"{row},cost.prices[0].perHour=0"))
        self.assertIn("at '/cost/currency': 'dollar' does not match pattern", self.refusal("--set=cost.currency=dollar"))
        self.assertIn("at '/cost/prices/0': 'not' failed",
                      self.refusal(f"{row},cost.prices[0].perHour=1,cost.prices[0].spotPerHour=1,cost.prices[0].spotDiscount=0.5"))

    def test_node_agents_in_the_operators_own_namespace(self):
        said = self.refusal("--set=nodeAgent.enabled=true,nodeAgent.namespace=muster-system")
        self.assertIn("node agents are privileged and need a namespace of their own", said)

    def test_values_that_contradict_each_other(self):
        said = self.refusal("--set=priorityClass.create=true,priorityClassName=urgent")
        self.assertIn('leave priorityClassName empty, it is "urgent"', said)


def rights_of(manifest):
    """(scope, verb, resource) of each rule of the roles of a manifest; named objects follow a slash."""
    scopes = {
        ("ClusterRole", "muster-operator"): "cluster",
        ("ClusterRole", "muster-operator-jobs"): "jobs",
        ("ClusterRole", "muster-operator-nodes"): "cluster",
        ("Role", "muster-operator"): "namespace",
    }
    for document in manifest.split("---\n"):
        scope = scopes.get((re.search(r"^kind: (\w+)$", document, re.M)[1], re.search(r"^  name: (\S+)$", document, re.M)[1]))
        for rule in document.partition("\nrules:\n")[2].split("- apiGroups:")[1:] if scope else ():
            parts = dict(re.findall(r"(\w+): \[(.*)\]", "apiGroups:" + rule))
            group = parts["apiGroups"].strip('"')
            for resource in parts["resources"].split(", "):
                name = resource + (f".{group}" if group else "") + (f"/{parts['resourceNames']}" if "resourceNames" in parts else "")
                yield from ((scope, verb, name) for verb in parts["verbs"].split(", "))


class Rights(unittest.TestCase):
    """tools/lint looks for the code that each listed right names."""

    def test_each_right_of_the_operator_is_listed(self):
        self.check("rights.txt", (ROOT / "deploy/rbac/operator.yaml").read_text())

    def test_so_is_each_right_that_it_gets_for_node_agents(self):
        rendering = chart.render(HELM, "--set=nodeAgent.enabled=true,nodeAgent.taintUnhealthy=true",
                                 "--show-only=templates/node-agent/rbac.yaml")
        self.check("node_agent_rights.txt", rendering.removeprefix("---\n"))

    def check(self, listed, manifest):
        lines = [line.split(None, 4) for line in (HERE / listed).read_text().splitlines() if not line.startswith(";")]
        self.assertEqual(sorted(tuple(line[:3]) for line in lines), sorted(rights_of(manifest)))

    def test_an_operator_of_one_namespace_has_the_rights_on_jobs_there_alone(self):
        made = chart.render(HELM, "--set=watchNamespace=research")
        self.assertIn("RoleBinding muster-operator-jobs", names(made))
        self.assertNotIn("ClusterRoleBinding muster-operator-jobs", names(made))
        binding = next(d for d in made.split("---\n") if "\nkind: RoleBinding\n" in d and "  name: muster-operator-jobs\n" in d)
        self.assertIn("\n  namespace: research\n", binding)
        self.assertIn("ClusterRoleBinding muster-operator-jobs", names(chart.render(HELM)))

    def test_nothing_is_granted_by_a_wildcard(self):
        for manifest in sorted((ROOT / "deploy/rbac").glob("*.yaml")):
            self.assertNotRegex(manifest.read_text(), r"(apiGroups|resources|verbs): .*\*", manifest.name)


class Kustomize(unittest.TestCase):
    def test_the_base_has_the_objects_of_the_chart_and_the_namespace(self):
        self.assertEqual(self.built("deploy"), sorted([*names(chart.render(HELM)), "Namespace muster-system"]))

    def test_the_base_of_monitoring_has_rules_boards_and_the_scrape(self):
        boards = [f"ConfigMap muster-operator-{name}-board" for name in ("fleet", "job", "nodes", "operator")]
        self.assertEqual(self.built("deploy/monitoring"), [*boards, "PrometheusRule muster-operator", "ServiceMonitor muster-operator"])

    def test_the_standalone_set_has_what_prometheus_and_alertmanager_need(self):
        self.assertEqual(self.built("deploy/monitoring/standalone"), sorted([
            "ClusterRoleBinding muster-metrics-prometheus", *["Role prometheus-targets", "RoleBinding prometheus-targets"] * 2,
            "ServiceAccount prometheus", *[f"{kind} {name}" for kind in ("Deployment", "Service") for name in ("alertmanager", "prometheus")],
            *self.generated("deploy/monitoring/standalone", "ConfigMap prometheus-")]))

    def generated(self, folder, start):
        """Names that end with the hash of what the object holds."""
        return [name for name in self.built(folder) if name.startswith(start)]

    def built(self, folder):
        kubectl = str(pathlib.Path(HELM).parent / "kubectl")
        # Kustomize follows no links out of the folder, and a test's files are links.
        with tempfile.TemporaryDirectory() as copy:
            shutil.copytree(ROOT / "deploy", f"{copy}/deploy")
            ended = subprocess.run([kubectl, "kustomize", f"{copy}/{folder}"], capture_output=True, text=True)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return names(ended.stdout)


def names(manifests):
    """Kind and name of each document; names of nested objects stand deeper."""
    documents = manifests.split("---\n")
    found = [(re.search(r"^kind: (\w+)$", d, re.M), re.search(r"^metadata:\n(?:  .*\n)*?  name: (\S+)$", d, re.M)) for d in documents]
    return sorted(f"{kind[1]} {name[1]}" for kind, name in found if kind and name)


def accept():
    (HERE / "golden").mkdir(exist_ok=True)
    for values in VALUES:
        golden(values).write_text(shortened(rendered(values)))
    print(f"accepted: {len(VALUES)} files in tests/chart/golden")


if __name__ == "__main__":
    sys.exit(accept() if sys.argv[1:] == ["--accept"] else unittest.main())
