"""The names, folders and addresses of a node, and how to enter it."""
import pathlib
import re

import processes
from place import CACHE, Failure

# Every node has a route to the pods of this many, so that nodes can be added one by one.
MOST = 8
PROGRAMS = CACHE / "sdk/containerd"
NODE, CONTAINERD, PROXY, KUBELET = "node", "containerd", "kube-proxy", "kubelet"
# In the order they start.
KINDS = (NODE, CONTAINERD, PROXY, KUBELET)


class Node:
    """A node of a place. Its processes are in namespaces of its own, which its first process, `node-N`, holds."""

    def __init__(self, place, index):
        self.place, self.index, self.name = place, index, f"{NODE}-{index}"
        self.folder = place.folder / "nodes" / self.name
        # The address is in the network of network.ADDRESS.
        self.address = address(index)
        self.pods = pods(index)
        self.cgroup = f"{place.namespace}/{self.name}"
        # The first process makes this file when the node's root is mounted.
        self.mounted = self.folder / "mounted"

    def component(self, kind):
        return f"{kind}-{self.index}"

    def pid(self):
        """The process id, outside of the node, of the node's first process; None if the node does not run."""
        for pid in processes.running(self.place.folder).get(self.name, []):
            try:
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
            except OSError:  # ended
                continue
            if re.search(r"^NSpid:\t\d+\t1$", status, re.M):
                return pid
        return None

    def inside(self, argv, environment):
        """argv that runs `argv` in the node, with `environment` added."""
        pid = self.pid()
        if pid is None:
            raise Failure(f"{self.name} of '{self.place.name}' does not run")
        enter = ["nsenter", f"--target={pid}", "--mount", "--pid", "--net", "--uts", "--ipc", "--"]
        path = f"{self.place.folder}/nodes/bin:{PROGRAMS}/usr/bin:{PROGRAMS}/usr/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
        assignments = [f"{name}={value}" for name, value in {**environment, "PATH": path}.items()]
        return [*enter, "env", *assignments, *map(str, argv)]


def address(index):
    return f"10.99.0.{10 + index}"


ALL_PODS = "10.244.0.0/16"


def pods(index):
    return f"10.244.{index}.0/24"


def parse(component):
    """(kind, index) of the component of a node, e.g. ("kubelet", 0) of "kubelet-0"; None if it is none."""
    match = re.fullmatch(f"({'|'.join(KINDS)})-([0-9]+)", component)
    return (match.group(1), int(match.group(2))) if match and int(match.group(2)) < MOST else None


def of(place, component):
    return Node(place, parse(component)[1])


def components(count):
    """The components of `count` nodes, in the order they start."""
    return [f"{kind}-{index}" for kind in KINDS for index in range(count)]


def present(place, names):
    """The nodes of which `names` has a component."""
    return [Node(place, index) for index in sorted({parse(name)[1] for name in names if parse(name)})]


def group(component):
    """The components that start and end with `component`: a node's first process takes the others with it."""
    kind, index = parse(component) or (None, None)
    return [f"{each}-{index}" for each in KINDS] if kind == NODE else [component]
