"""Writes modules/*/go.mod and go.sum for given versions. Needs the network; the result is committed."""
import json
import os
import re
import subprocess

import build

ETCD = "go.etcd.io/etcd/server/v3"


def _go(arguments, cwd):
    environment = {**build.go_environment(), "GOFLAGS": "-buildvcs=false -mod=mod"}
    return subprocess.run([build.find_go(), *arguments], cwd=cwd, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def _write(name, go, rest):
    folder = build.MODULES / name
    (folder / "go.mod").write_text(f"module muster.dev/testenv/{name}\n\ngo {go}\n\n{rest}\n")
    (folder / "go.sum").unlink(missing_ok=True)


def _pin_control_plane(version):
    """Pins everything, etcd too, at the versions of Kubernetes' own go.mod: a newer etcd would need other versions of
    shared dependencies, and a module has only one of each. Kubernetes replaces its staging modules, which does not
    apply to modules that require it; the published versions by which they name each other are excluded, so that they stay at
    v0.0.0."""
    found = json.loads(_go(["mod", "download", "-json", f"k8s.io/kubernetes@{version}"], os.path.expanduser("~")))
    with open(found["GoMod"]) as file:
        text = file.read()
    godebug = re.search(r"^godebug .*$", text, re.M)
    staged = [f"{name} v0.{version[len('v1.'):]}" for name in re.findall(r"^\s*(k8s\.io/[a-z0-9-]+) => \./staging/", text, re.M)]
    blocks = [godebug.group(0)] if godebug else []
    etcd = re.search(rf"^\s*({ETCD} v\S+)", text, re.M).group(1)
    blocks += [_block("require", [etcd, f"k8s.io/kubernetes {version}"]), _block("exclude", staged),
               _block("replace", [f"{module.split()[0]} => {module}" for module in staged])]
    _write(build.CONTROL_PLANE, re.search(r"^go (\S+)$", text, re.M).group(1), "\n\n".join(blocks))
    _go(["mod", "tidy"], build.MODULES / build.CONTROL_PLANE)


def _block(keyword, lines):
    return "\n".join([f"{keyword} (", *(f"\t{line}" for line in lines), ")"])


def pin(kubernetes, helm, prometheus, s3_server):
    _pin_control_plane(kubernetes)
    # Helm is only required, because a package of its own here would change the selected versions, which differ from
    # Kubernetes'.
    _write("helm", "1.25.0", f"require helm.sh/helm/v3 {helm}")
    _go(["list", "-deps", "helm.sh/helm/v3/cmd/helm"], build.MODULES / "helm")  # fills go.sum
    _write("prometheus", "1.25.0", f"require {build.PROMETHEUS} {prometheus}")
    _go(["list", "-tags", "remove_all_sd,enable_kubernetes_sd", "-deps", f"{build.PROMETHEUS}/cmd/prometheus"], build.MODULES / "prometheus")
    _write("versitygw", "1.25.0", f"require {build.S3_SERVER} {s3_server}")
    _go(["list", "-deps", f"{build.S3_SERVER}/cmd/versitygw"], build.MODULES / "versitygw")
