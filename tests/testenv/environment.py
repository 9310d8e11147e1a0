"""One control plane: up, down, and its components one by one. Idempotent, and correct after any crash."""
import contextlib
import fcntl
import functools
import json
import os
import secrets
import shutil
import signal
import subprocess
import time

import build
import certificates
import cgroups
import components
import network
import node as nodes
import node_lifecycle
import processes
from place import RUN, SHARED, Failure, Place

START_SECONDS = 120
# A control plane that runs but does not answer counts as busy for this long, not as broken: tests may be using it.
BUSY_SECONDS = 60
# Prefix of the names of commands that run inside a control plane.
RUN_PREFIX = "run-"
_LOOK_SECONDS = 0.05


@contextlib.contextmanager
def locked(place):
    """Lets only one `up`, `down` … of a control plane run at a time; the kernel unlocks when the process ends."""
    place.lock.parent.mkdir(parents=True, exist_ok=True)
    with place.lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def environment(place):
    """The environment variables by which programs and tests find the control plane."""
    return {
        "KUBECONFIG": str(place.kubeconfig), "MUSTER_TESTENV_NAME": place.name, "MUSTER_TESTENV_NETNS": place.namespace,
        "MUSTER_TESTENV_FOLDER": str(place.folder), "MUSTER_TESTENV_BIN": str(build.bin_folder()),
        "MUSTER_TESTENV_SERVER": certificates.SERVER, "MUSTER_TESTENV_CA": f"{place.pki}/ca.crt",
        "MUSTER_TESTENV_TOOL": str(build.place.ROOT / "tools/testenv"),
    }


def user_environment(place):
    """environment() with the programs in PATH, for a command of the user."""
    return {**environment(place), "PATH": f"{build.bin_folder()}:{os.environ['PATH']}"}


def run_inside(place, argv, **kwargs):
    return subprocess.run(network.inside(place.namespace, argv, environment(place)), **kwargs)


def kubectl(place, *arguments):
    return run_inside(place, [build.bin_folder() / "kubectl", "--request-timeout=5s", *arguments], capture_output=True, text=True)


def options(place):
    return json.loads(place.options.read_text())


def is_up(place, patience=0.0):
    """Returns True if an `up` has finished and all it started still runs and answers within `patience` seconds."""
    deadline = time.monotonic() + patience
    while place.ready.exists() and place.ready.read_text() == build.release() and network.exists(place.namespace):
        if set(options(place)["components"]) - set(processes.running(place.folder)):
            return False
        if kubectl(place, "get", "--raw=/readyz").returncode == 0:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_SECONDS)
    return False


def check_up(place):
    """Raises Failure if it was not brought up. Components need not answer: a test may have stopped one."""
    if not place.ready.exists() or not network.exists(place.namespace):
        name = "" if place.name == SHARED else f" --name={place.name}"
        raise Failure(f"the control plane '{place.name}' is not up: tools/testenv up{name}")


def _end_of_log(place, component):
    log = place.logs / f"{component}.log"
    lines = log.read_text(errors="replace").splitlines()[-20:] if log.exists() else []
    return f"the end of {component}'s log:\n" + "\n".join("    " + line for line in lines)


def _wait(place, started, what, done, log=components.APISERVER):
    """Waits until done(); fails if one of `started` ends meanwhile."""
    deadline = time.monotonic() + START_SECONDS
    while not done():
        dead = sorted(started - set(processes.running(place.folder)))
        if dead:
            raise Failure(f"the control plane '{place.name}' did not start: {dead[0]} ended before {what}; {_end_of_log(place, dead[0])}")
        if time.monotonic() > deadline:
            raise Failure(f"the control plane '{place.name}' did not start: {START_SECONDS} s were too few until {what}; {_end_of_log(place, log)}")
        time.sleep(_LOOK_SECONDS)


def _start(place, wanted):
    """Starts components, each once its dependencies answer; returns when all are ready."""
    started = set()
    wait = functools.partial(_wait, place, started)

    def begin(names):
        for name in names:
            if name in wanted:
                flags = options(place)["flags"].get(name, [])
                argv = components.command(place, name, build.bin_folder(), flags)
                processes.start(place, name, argv, components.inside(place, name))
                started.add(name)

    begin((components.ETCD, components.APISERVER))
    # The nodes' namespaces and containerds do not need the API server.
    node_lifecycle.start_first_processes(place, wanted, begin, wait)
    begin(name for name in nodes.components(nodes.MOST) if name.startswith(nodes.CONTAINERD))
    wait("the API server was ready", lambda: kubectl(place, "get", "--raw=/readyz").returncode == 0)
    begin((components.CONTROLLER_MANAGER, components.SCHEDULER))
    node_lifecycle.prepare_containerds(place, started, wait)
    begin(name for name in nodes.components(nodes.MOST) if name.startswith((nodes.PROXY, nodes.KUBELET)))
    chosen = any(flag.startswith("--controllers=") for flag in options(place)["flags"].get(components.CONTROLLER_MANAGER, []))
    if components.CONTROLLER_MANAGER in options(place)["components"] and not chosen:
        wait("there was a default ServiceAccount", lambda: kubectl(place, "get", "serviceaccount", "default", "-n", "default").returncode == 0)
    node_lifecycle.wait_ready(place, started, kubectl, wait)


def _clean(place):
    """Ends and removes everything, whatever state it is in. The logs of the last run are kept."""
    processes.end(place.folder, release=lambda: cgroups.thaw(place.namespace))
    node_lifecycle.remove(place)
    network.remove(place.namespace)
    if place.logs.is_dir():
        shutil.rmtree(place.kept_logs, ignore_errors=True)
        place.kept_logs.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(place.logs, place.kept_logs)
    place.env_file.unlink(missing_ok=True)
    shutil.rmtree(place.folder, ignore_errors=True)


def _start_all(place, wanted):
    place.folder.mkdir(mode=0o700, parents=True)
    place.logs.mkdir()
    place.options.write_text(json.dumps(wanted))
    network.create(place.namespace)
    certificates.make_all(place)
    _start(place, wanted["components"])
    place.env_file.write_text("".join(f"{name}={value}\n" for name, value in environment(place).items()))
    place.ready.write_text(build.release())


def _interrupted(number, frame):
    raise Failure(f"interrupted by signal {number}")


def up(place, wanted):
    """Starts what is not up; returns True if it had to. `wanted` is {"components": […], "flags": {component: […]}}."""
    if nodes.present(place, wanted["components"]):
        node_lifecycle.check_possible()
    build.build()
    with locked(place):
        if is_up(place, BUSY_SECONDS):
            if wanted["flags"] and wanted["flags"] != options(place)["flags"]:
                raise Failure(f"the control plane '{place.name}' is up with other flags: tools/testenv down --name={place.name} first")
            _start_more(place, set(wanted["components"]))
            return False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _interrupted)
        _clean(place)
        try:
            _start_all(place, wanted)
        except BaseException:
            _clean(place)
            raise
        return True


def down(place):
    with locked(place):
        _clean(place)


def down_unless_used(place):
    """As down(), but not while a command of run() uses it: tests of another checkout may."""
    with locked(place):
        if not any(name.startswith(RUN_PREFIX) for name in processes.running(place.folder)):
            _clean(place)


def user_kubeconfig(place, subject, file):
    check_up(place)
    with locked(place):
        certificates.user_kubeconfig(place, subject, file)


def all_nodes(place):
    check_up(place)
    return nodes.present(place, options(place)["components"])


def find_node(place, name):
    present = {node.name: node for node in all_nodes(place)}
    if name not in present:
        raise Failure(f"the control plane '{place.name}' has no node '{name}': {', '.join(present) or 'it was started without --nodes'}")
    return present[name]


def import_image(place, name, archive):
    """Imports an image into one node, or into all."""
    for node in all_nodes(place) if name == "all" else [find_node(place, name)]:
        node_lifecycle.import_image(node, archive)


def _is_there(file, path):
    """Whether an open file has this path still: another process may have removed it before this one locked it."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def used_by_this_process(place):
    """Marks a private control plane as used by this process; if that is killed, the mark shows that it is unused."""
    place.use.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as files:
        while True:
            file = files.enter_context(place.use.open("w"))
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is_there(file, place.use):
                break
        yield
        place.use.unlink()


def run(place, command):
    """Runs a command inside to its end; returns its exit code. What it leaves running is ended."""
    signal.signal(signal.SIGTERM, _interrupted)
    name = f"{RUN_PREFIX}{secrets.token_hex(8)}"
    mark = {processes.MARK: f"{place.folder}:{name}"}
    child = subprocess.Popen(network.inside(place.namespace, command, {**user_environment(place), **mark}))
    try:
        return child.wait()
    finally:  # not child.kill(): the child may be sudo, which runs as root
        processes.end(place.folder, name)


def run_in_new(place, wanted, command):
    """As run(), in a new control plane, which is removed when this returns, also by an exception."""
    with used_by_this_process(place):
        down(place)
        try:
            up(place, wanted)
            return run(place, command)
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            down(place)


def _lock_if_abandoned(file, path):
    """Locks the mark of a private control plane; returns False if a process uses it, or another one removes it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return _is_there(file, path)


def down_abandoned():
    """Removes private control planes that killed tests left and no process uses any more. The mark stays locked meanwhile,
    so that a test that is about to use the control plane waits instead of losing it."""
    for path in RUN.glob(".*.use"):
        with contextlib.ExitStack() as files:
            try:
                file = files.enter_context(path.open())
            except FileNotFoundError:
                continue
            if _lock_if_abandoned(file, path):
                down(Place(path.name[1 : -len(".use")]))
                path.unlink()


def _check_component(place, component):
    if not components.known(component):
        raise Failure(f"there is no component '{component}': {', '.join(components.ALL)}, and of node 0 {', '.join(nodes.components(1))}")
    if not place.options.exists():
        raise Failure(f"the control plane '{place.name}' is not up")


def _start_more(place, wanted):
    now = options(place)
    place.options.write_text(json.dumps({**now, "components": sorted({*now["components"], *wanted})}))
    missing = wanted - set(processes.running(place.folder))
    if missing:
        _start(place, missing)


def start(place, component):
    """Starts a component that was stopped or killed (with its data), or was left out; returns once all is ready."""
    _check_component(place, component)
    with locked(place):
        _start_more(place, set(nodes.group(component)))


def stop(place, component, grace):
    """Ends a component; it is not restarted automatically."""
    _check_component(place, component)
    with locked(place):
        now = options(place)
        ended = nodes.group(component)
        place.options.write_text(json.dumps({**now, "components": [c for c in now["components"] if c not in ended]}))
        processes.end(place.folder, component, grace, lambda: cgroups.thaw(place.namespace))


def send(place, component, number):
    _check_component(place, component)
    handles = [handle for name in nodes.group(component) for handle in processes.send(place.folder, number, name)]
    for handle in handles:
        os.close(handle)
    if not handles:
        raise Failure(f"{component} of '{place.name}' does not run")
