"""usage: tools/testenv COMMAND [--name=NAME] ...

A real Kubernetes control plane (etcd, kube-apiserver, kube-controller-manager) in a network namespace of its own.

  up [--scheduler] [--no-controller-manager] [--nodes=N] [--flag=COMPONENT:--FLAG=VALUE]...
                           builds what is missing, starts what is not up, waits until it is ready;
                           --nodes: with up to 8 real kubelets, node-0, node-1 … (as root)
  down [--all|--abandoned] ends it and removes everything it left; --all: the private ones too;
                           --abandoned: only if no test runs in it; and private ones whose test was killed
  status                   what runs; exit code 0 when it is up
  build                    builds the programs (no namespace needed)
  clean-cache              removes what building left: Go's caches (5 GB) and programs of other versions
  pin KUBERNETES HELM PROMETHEUS VERSITYGW  rewrites modules/ for other versions, e.g. pin v1.35.4 v3.20.2 v0.313.5 v1.8.0
  shell                    a shell inside, with KUBECONFIG and the programs in PATH
  exec -- COMMAND...       runs a command inside likewise
  node NODE -- COMMAND...  runs a command on a node, as root: ctr, ip, ls …
  with [flags of up] -- COMMAND...
                           runs a command inside a control plane made for it, which is then removed (needs --name)
  image NODE|all ARCHIVE   imports an image from a docker-archive or OCI layout into a node or into all
  kubeconfig SUBJECT FILE  writes a kubeconfig for any user, e.g. /O=system:nodes/CN=system:node:n1
  pid COMPONENT            prints its process id
  start|stop|kill|freeze|thaw COMPONENT
                           one component: start again, SIGTERM, SIGKILL, SIGSTOP, SIGCONT;
                           of a node kubelet-0, containerd-0, kube-proxy-0, or node-0 for all that runs on it

Without --name it is the one that all cluster tests share; any other name is a private one, apart from
it, for tests that break things.
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

import build
import components
import environment
import network
import node as nodes
import pins
import place as places
import processes

STOP_GRACE_SECONDS = 60


def wanted(arguments):
    result = {"components": [components.ETCD, components.APISERVER, components.CONTROLLER_MANAGER], "flags": {}}
    for argument in arguments:
        name, _, value = argument.partition("=")
        if argument == "--scheduler":
            result["components"].append(components.SCHEDULER)
        elif argument == "--no-controller-manager":
            result["components"].remove(components.CONTROLLER_MANAGER)
        elif name == "--nodes" and value.isdigit() and int(value) <= nodes.MOST:
            result["components"] += nodes.components(int(value))
        elif name == "--flag" and components.known(value.partition(":")[0]):
            component, _, flag = value.partition(":")
            result["flags"].setdefault(component, []).append(flag)
        else:
            raise places.Failure(f"'up' knows no '{argument}'")
    return result


def _up(place, arguments):
    start = time.monotonic()
    fresh = environment.up(place, wanted(arguments))
    done = f"started in {time.monotonic() - start:.1f} s" if fresh else "was up"
    print(f"muster: the control plane '{place.name}' {done}; its variables are in {place.env_file}", file=sys.stderr)


def _down(place, arguments):
    if arguments not in ([], ["--all"], ["--abandoned"]):
        raise places.Failure(f"'down' knows no '{' '.join(arguments)}'")
    if arguments == ["--abandoned"]:
        environment.down_unless_used(place)
    else:
        for one in [place, *places.all_places()] if arguments else [place]:
            environment.down(one)
    if arguments:
        environment.down_abandoned()


def _status(place, arguments):
    up = environment.is_up(place)
    print(f"control plane '{place.name}' ({build.release()}): {'up' if up else 'not up'}")
    for component, pids in sorted(processes.running(place.folder).items()):
        print(f"  {component:24} pid {' '.join(map(str, pids))}")
    for program in build.missing():
        print(f"  {program:24} not built")
    sys.exit(0 if up else 1)


def _build(place, arguments):
    build.build()
    print(build.bin_folder())


def _clean_cache(place, arguments):
    build.clean_cache()


def _enter(place, argv):
    environment.check_up(place)
    command = network.inside(place.namespace, argv, environment.user_environment(place))
    os.execvp(command[0], command)


def _shell(place, arguments):
    _enter(place, [os.environ.get("SHELL", "/bin/bash")])


def _exec(place, arguments):
    command = arguments[1:] if arguments[:1] == ["--"] else arguments
    if not command:
        raise places.Failure("'exec' needs a command")
    _enter(place, command)


def _node(place, arguments):
    if len(arguments) < 3 or arguments[1] != "--":
        raise places.Failure("usage: tools/testenv node [--name=NAME] NODE -- COMMAND...")
    command = environment.find_node(place, arguments[0]).inside(arguments[2:], environment.environment(place))
    os.execvp(command[0], command)


def _with(place, arguments):
    if place.name == places.SHARED or "--" not in arguments:
        raise places.Failure("usage: tools/testenv with --name=NAME [flags of up] -- COMMAND...")
    split = arguments.index("--")
    sys.exit(environment.run_in_new(place, wanted(arguments[:split]), arguments[split + 1:]))


def _kubeconfig(place, arguments):
    if len(arguments) != 2:
        raise places.Failure("'kubeconfig' needs a subject and a file")
    environment.user_kubeconfig(place, arguments[0], pathlib.Path(arguments[1]))


def _image(place, arguments):
    if len(arguments) != 2:
        raise places.Failure("'image' needs a node, or 'all', and an archive")
    environment.import_image(place, arguments[0], pathlib.Path(arguments[1]))


def _pid(place, component):
    pids = processes.running(place.folder).get(component)
    if not pids:
        raise places.Failure(f"{component} of '{place.name}' does not run")
    print(min(pids))


def _one_component(action):
    def run(place, arguments):
        if len(arguments) != 1:
            raise places.Failure("name one component: " + ", ".join(components.ALL))
        action(place, arguments[0])
    return run


def _pin(place, arguments):
    if len(arguments) != 4:
        raise places.Failure("'pin' needs the versions of Kubernetes, Helm, Prometheus and versitygw")
    pins.pin(*arguments)


COMMANDS = {
    "up": _up, "down": _down, "status": _status, "build": _build, "shell": _shell, "exec": _exec, "node": _node, "pin": _pin,
    "with": _with, "kubeconfig": _kubeconfig, "image": _image, "pid": _one_component(_pid),
    "clean-cache": _clean_cache,
    "start": _one_component(environment.start),
    "stop": _one_component(lambda place, component: environment.stop(place, component, STOP_GRACE_SECONDS)),
    "kill": _one_component(lambda place, component: environment.stop(place, component, 0)),
    "freeze": _one_component(lambda place, component: environment.send(place, component, signal.SIGSTOP)),
    "thaw": _one_component(lambda place, component: environment.send(place, component, signal.SIGCONT)),
}


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__, end="", file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    command, rest, name = arguments[0], arguments[1:], places.SHARED
    if rest and rest[0].startswith("--name="):
        name, rest = rest[0].partition("=")[2], rest[1:]
    try:
        if command not in COMMANDS:
            raise places.Failure(f"there is no command '{command}': tools/testenv --help")
        COMMANDS[command](places.Place(name), rest)
    except (places.Failure, OSError, subprocess.SubprocessError) as failure:
        print(f"muster: error: {failure}", file=sys.stderr)
        return 1
    return 0
