"""Starting nodes, importing images into them, and removing what only the kernel's end of a process does not remove."""
import os
import pathlib
import subprocess

import cgroups
import images
import node as nodes
import node_components
import node_network
import processes
from place import Failure


def check_possible():
    """Raises Failure if this machine or user cannot have nodes."""
    if os.getuid() != 0:
        raise Failure("nodes need root, because kubelet and containerd do: run this as root")
    if not (nodes.PROGRAMS / ".complete").exists():
        raise Failure(f"there is no containerd in {nodes.PROGRAMS}: tools/setup --test")
    needs = ["unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--propagation=private", "mount", "-t", "tmpfs", "none", "/mnt"]
    done = subprocess.run(needs, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"nodes need namespaces and mounts of their own, which this machine does not allow: {done.stderr.strip()}")


def start_first_processes(place, started, begin, wait):
    """Starts those of `started` that are first processes of nodes, and sets up the nodes' networks."""
    new = [nodes.of(place, name) for name in started if nodes.parse(name) and nodes.parse(name)[0] == nodes.NODE]
    if not new:
        return
    node_components.write_shim(place)
    node_network.create_bridge(place)
    for node in new:
        cgroups.remove(node.cgroup)  # of before a restart, in which the kubelet would look for containers
        cgroups.create(node.cgroup)
        begin([node.name])
    for node in new:
        wait(f"{node.name} had mounted its root", lambda node=node: node.mounted.exists() and node.pid(), node.name)
        node_network.connect(node)


def _has_pause(node):
    done = subprocess.run(node_components.ctr(node, "images", "list", "--quiet"), capture_output=True, text=True)
    return done.returncode == 0 and images.PAUSE in done.stdout.split()


def prepare_containerds(place, started, wait):
    """Waits for those of `started` that are containerds and imports the image of pods' first process."""
    for node in nodes.present(place, [name for name in started if nodes.parse(name) and nodes.parse(name)[0] == nodes.CONTAINERD]):
        wait(f"containerd of {node.name} answered", lambda node=node: answers(node), node.component(nodes.CONTAINERD))
        if not _has_pause(node):
            import_image(node, images.make_pause(place.folder / "nodes")[1])


def answers(node):
    return subprocess.run(node_components.ctr(node, "version"), capture_output=True).returncode == 0


def import_image(node, archive):
    """Imports an archive; its reader is outside, because the node does not see all folders of the machine."""
    with archive.open("rb") as file:
        done = subprocess.run(node_components.ctr(node, "images", "import", "-"), stdin=file, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"{node.name} cannot import {archive}: {done.stderr.strip()}")


def wait_ready(place, started, kubectl, wait):
    """Waits until the kubelets among `started` answer the API server, it calls their nodes ready and Services work."""
    for node in nodes.present(place, [name for name in started if nodes.parse(name)]):
        kubelet = node.component(nodes.KUBELET)
        if kubelet in processes.running(place.folder):
            health = f"/api/v1/nodes/{node.name}/proxy/healthz"
            wait(f"the kubelet of {node.name} answered", lambda: kubectl(place, "get", f"--raw={health}").returncode == 0, kubelet)
            ready = ["wait", "--for=condition=Ready", f"node/{node.name}", "--timeout=1s"]
            wait(f"{node.name} was ready", lambda: kubectl(place, *ready).returncode == 0, kubelet)
        proxy = node.component(nodes.PROXY)
        if proxy in started:
            health = f"/api/v1/nodes/http:{node.name}:10256/proxy/healthz"
            wait(f"kube-proxy of {node.name} had made its rules", lambda: kubectl(place, "get", f"--raw={health}").returncode == 0, proxy)


def remove(place):
    """Removes cgroups. All else of the nodes ended with their first processes."""
    cgroups.remove(place.namespace)
