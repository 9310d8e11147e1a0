#!/usr/bin/python3
"""usage: chart.py

Writes the generated files of charts/muster and deploy/: the chart's templates of deploy/crd and deploy/rbac,
deploy/operator.yaml, which is what the chart makes of its default values, and deploy/monitoring/monitoring.yaml, what it makes
for Prometheus and Grafana. tools/generate runs it, a test compares.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).absolute().parent.parent.parent
CHART = pathlib.Path("charts/muster")
MANIFESTS = pathlib.Path("deploy/operator.yaml")
MONITORING = pathlib.Path("deploy/monitoring/monitoring.yaml")
NAMESPACE = "muster-system"
MADE = "{{{{- /* Made of {} by tools/generate. */}}}}\n"


class ChartError(Exception):
    """A file that cannot be made, as a sentence for the user."""


def helm_program():
    """The path of the helm that tests/testenv builds; it is built first where it is missing."""
    sys.path.insert(0, str(ROOT / "tests/testenv"))
    import build

    build.build()
    return str(build.bin_folder() / "helm")


def run_helm(helm, *arguments):
    """Runs helm with folders of its own, so that the user's plug-ins and repositories change nothing."""
    with tempfile.TemporaryDirectory() as home:
        folders = {f"HELM_{kind}_HOME": f"{home}/{kind.lower()}" for kind in ("CACHE", "CONFIG", "DATA")}
        return subprocess.run([helm, *map(str, arguments)], cwd=ROOT, env={**os.environ, **folders}, capture_output=True, text=True)


def render(helm, *arguments, release="muster", namespace=NAMESPACE):
    """The manifests that the chart makes of values; raises ChartError with helm's own words."""
    ended = run_helm(helm, "template", release, CHART, f"--namespace={namespace}", *arguments)
    if ended.returncode != 0:
        raise ChartError(f"helm template {' '.join(map(str, arguments))}: {ended.stderr.strip()}")
    return ended.stdout


def _after_metadata(document, lines, where):
    """The document with lines at the start of its own metadata."""
    changed, count = re.subn(r"(?m)^metadata:\n", lambda match: match[0] + lines, document)
    if count != 1:
        raise ChartError(f"{where}: a document has {count} lines 'metadata:' at its start, 1 is expected")
    return changed


def _in_watched_namespace(document):
    """The binding of the rights on jobs, which holds in the namespace that the operator watches if there is only one."""
    if "kind: ClusterRoleBinding\n" not in document or "-jobs\nroleRef:" not in document:
        return document
    document = document.replace("kind: ClusterRoleBinding\n", "kind: {{ if .Values.watchNamespace }}RoleBinding{{ else }}ClusterRoleBinding{{ end }}\n")
    return document.replace("\nroleRef:", "\n  {{- with .Values.watchNamespace }}\n  namespace: {{ . }}\n  {{- end }}\nroleRef:")


def _without_actions(path):
    text = (ROOT / path).read_text()
    if "{{" in text:
        raise ChartError(f"{path}: has {{{{, which a template of the chart would take for an action")
    return text


def crd_template(path):
    keep = "  {{- if .Values.crds.keep }}\n  annotations:\n    helm.sh/resource-policy: keep\n  {{- end }}\n"
    text = _after_metadata(_without_actions(path), keep, path)
    return f"{MADE.format(path)}{{{{- if .Values.crds.enabled }}}}\n{text}{{{{- end }}}}\n"


def rbac_template(path, condition=""):
    """The objects under the release's name and namespace; names in resourceNames are the operator's own and stay."""
    text = _without_actions(path)
    text = re.sub(r"\bname: muster-operator\b", 'name: {{ include "muster.fullname" . }}', text)
    text = re.sub(r"\bnamespace: muster-system\b", "namespace: {{ .Release.Namespace }}", text)
    labels = '  labels:\n    {{- include "muster.labels" . | nindent 4 }}\n'
    text = "---\n".join(_in_watched_namespace(_after_metadata(document, labels, path)) for document in text.split("---\n"))
    if condition:
        text = f"{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n"
    return MADE.format(path) + text


def templates():
    """{path: text} of the chart's generated templates."""
    made = {}
    for path in sorted((ROOT / "deploy/crd").glob("*.yaml")):
        made[CHART / "templates/crd" / path.name] = crd_template(path.relative_to(ROOT))
    rbac = pathlib.Path("deploy/rbac")
    made[CHART / "templates/rbac/operator.yaml"] = rbac_template(rbac / "operator.yaml")
    made[CHART / "templates/rbac/readers.yaml"] = rbac_template(rbac / "readers.yaml", ".Values.rbac.readerRoles")
    return made


def _plain(text, words):
    """The chart's own objects without the labels that only a release of Helm has."""
    text = re.sub(r"(?m)^ +(helm\.sh/chart|app\.kubernetes\.io/(managed-by|instance)): .*\n", "", text)
    text = re.sub(r"(?m)^# Source: .*\n", "", text)
    return f"# Generated from charts/muster {words} by tools/generate.\n{text.removeprefix('---' + chr(10))}"


def manifests(helm):
    """{path: text} of the manifests for kustomize."""
    options = ",".join(f"metrics.{name}.enabled=true" for name in ("serviceMonitor", "prometheusRule", "dashboards"))
    return {
        MANIFESTS: _plain(render(helm, "--show-only=templates/operator/*.yaml"), "with its default values"),
        MONITORING: _plain(render(helm, "--show-only=templates/metrics/*.yaml", f"--set={options}"), "with metrics.*.enabled"),
    }


def main():
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    # The manifests are rendered from the templates, which are therefore written first.
    for make in (templates, lambda: manifests(helm_program())):
        for path, text in make().items():
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(text)
            print(f"wrote {path}")


if __name__ == "__main__":
    try:
        sys.dont_write_bytecode = True
        main()
    except ChartError as error:
        sys.exit(f"error: {error}")
