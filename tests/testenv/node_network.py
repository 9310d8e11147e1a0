"""The network of the nodes: a bridge in the control plane's namespace, and in each node an address, routes and pods."""
import json
import subprocess

import network
import node as nodes
from place import Failure

_BRIDGE = "nodes"


def _run(command, what, **kwargs):
    done = subprocess.run(command, capture_output=True, text=True, **kwargs)
    if done.returncode != 0:
        raise Failure(f"{what} failed: {done.stderr.strip() or done.returncode}")


def create_bridge(place):
    """Joins the nodes' cables with the one whose other end has the API server's address."""
    if subprocess.run(["ip", "-n", place.namespace, "link", "show", _BRIDGE], capture_output=True).returncode == 0:
        return
    _run(["ip", "-n", place.namespace, "-batch", "-"], "making the nodes' bridge", input=f"""\
link add {_BRIDGE} type bridge
link set {_BRIDGE} up
link set muster1 master {_BRIDGE}
""")


def connect(node):
    """Gives a started node its cable, address and routes. The cable of an earlier start may still be there."""
    cable = node.name
    subprocess.run(["ip", "-n", node.place.namespace, "link", "delete", cable], capture_output=True)
    _run(["ip", "-n", node.place.namespace, "-batch", "-"], f"connecting {node.name}", input=f"""\
link add {cable} type veth peer name eth0 netns {node.pid()}
link set {cable} master {_BRIDGE} up
route replace {node.pods} via {node.address}
""")
    others = [f"ip route add {nodes.pods(i)} via {nodes.address(i)}" for i in range(nodes.MOST) if i != node.index]
    script = [
        "ip link set lo up", f"ip addr add {node.address}/24 dev eth0", "ip link set eth0 up",
        f"ip route add default via {network.ADDRESS}", *others, "echo 1 >/proc/sys/net/ipv4/ip_forward",
        # kube-proxy's rules must also see what a pod answers to another one of the same node.
        "echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables"]
    _run(node.inside(["sh", "-ec", "\n".join(script)], {}), f"setting up the network of {node.name}")


def write_pod_network(node):
    """Configures the plugins that containerd calls for each pod; returns the folder of the configuration."""
    folder = node.folder / "cni"
    folder.mkdir(exist_ok=True)
    addresses = {"type": "host-local", "ranges": [[{"subnet": node.pods}]], "routes": [{"dst": "0.0.0.0/0"}]}
    plugin = {"type": "bridge", "bridge": "pods", "isGateway": True, "ipam": addresses}
    (folder / "10-pods.conflist").write_text(json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [plugin]}))
    return folder
