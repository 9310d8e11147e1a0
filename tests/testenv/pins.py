"""Writes modules/*/go.mod and go.sum for given versions. Needs the network; the result is committed."""
import json
import os
import re
import subprocess

import build


def _go(arguments, cwd):
    environment = {**build.go_environment(), "GOFLAGS": "-buildvcs=false -mod=mod"}
    return subprocess.run([build.find_go(), *arguments], cwd=cwd, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def _write(name, go, required, rest=""):
    """A module that only requires: a package of ours in it would change what is selected, and so built."""
    folder = build.MODULES / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go.mod").write_text(f"module muster.dev/testenv/{name}\n\ngo {go}\n\n{rest}require {required}\n")


def _kubernetes_module(version):
    """Kubernetes' staging modules are replaced in its own go.mod, which does not count for who requires it."""
    found = json.loads(_go(["mod", "download", "-json", f"k8s.io/kubernetes@{version}"], os.path.expanduser("~")))
    with open(found["GoMod"]) as file:
        text = file.read()
    godebug = re.search(r"^godebug .*$", text, re.M)
    staging = re.findall(r"^\s*(k8s\.io/[a-z0-9-]+) => \./staging/", text, re.M)
    replaced = "".join(f"\t{name} => {name} v0.{version[len('v1.'):]}\n" for name in staging)
    go = re.search(r"^go (\S+)$", text, re.M).group(1)
    _write("kubernetes", go, f"k8s.io/kubernetes {version}\n\nreplace (\n{replaced})", f"{godebug.group(0)}\n\n" if godebug else "")


def pin(kubernetes, etcd, helm):
    _kubernetes_module(kubernetes)
    _write("etcd", "1.26.0", f"go.etcd.io/etcd/server/v3 {etcd}")
    _write("helm", "1.25.0", f"helm.sh/helm/v3 {helm}")
    for module in ("kubernetes", "etcd", "helm"):
        (build.MODULES / module / "go.sum").unlink(missing_ok=True)
        packages = [package for _, owner, package, _ in build.programs() if owner == module]
        _go(["list", "-deps", *packages], build.MODULES / module)  # fills go.sum
