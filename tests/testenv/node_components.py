"""The command lines of the components of a node, and the files that they read."""
import certificates
import images
import network
import node as nodes
import node_network

HERE = images.HERE
_SOCKET = "/run/containerd/containerd.sock"


def _first_process(node, bin_folder):
    pause, _ = images.make_pause(node.place.folder / "nodes")
    node.mounted.unlink(missing_ok=True)
    namespaces = [f"--{kind}" for kind in ("mount", "pid", "net", "uts", "ipc")]
    return ["unshare", *namespaces, "--fork", "--propagation=private", "sh", HERE / "node_root.sh", node.name, node.folder,
            nodes.CACHE.resolve(), node.place.logs.resolve() / node.name, pause.resolve()]


def write_shim(place):
    """Gives containers' shims a mark of their own: they outlive containerd, whose mark they would inherit.

    containerd finds this program first in its PATH.
    """
    shim = place.folder / "nodes/bin/containerd-shim-runc-v2"
    shim.parent.mkdir(parents=True, exist_ok=True)
    shim.write_text(f"""#!/bin/sh
MUSTER_TESTENV_PROCESS="{place.folder}:shim-$(hostname | sed s/.*-//)" exec {nodes.PROGRAMS}/usr/bin/containerd-shim-runc-v2 "$@"
""")
    shim.chmod(0o755)


def _containerd(node, bin_folder):
    file = node.folder / "containerd.toml"
    cri = '[plugins."io.containerd.grpc.v1.cri"'
    file.write_text(f"""version = 2
oom_score = 0
[grpc]
  address = "{_SOCKET}"
{cri}]
  sandbox_image = "{images.PAUSE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
{cri}.containerd]
  default_runtime_name = "runc"
{cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
{cri}.containerd.runtimes.runc.options]
  BinaryName = "{nodes.PROGRAMS}/usr/sbin/runc"
  SystemdCgroup = false
{cri}.cni]
  bin_dir = "{nodes.PROGRAMS}/usr/lib/cni"
  conf_dir = "{node_network.write_pod_network(node)}"
""")
    return [nodes.PROGRAMS / "usr/bin/containerd", f"--config={file}"]


def _write_kubelet_config(node, certificate):
    pki = node.place.pki
    (node.folder / "resolv.conf").write_text("")
    (node.folder / "kubelet.yaml").write_text(f"""apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {{anonymous: {{enabled: false}}, webhook: {{enabled: true}}, x509: {{clientCAFile: {pki}/ca.crt}}}}
authorization: {{mode: Webhook}}
tlsCertFile: {pki}/{certificate}.crt
tlsPrivateKeyFile: {pki}/{certificate}.key
containerRuntimeEndpoint: unix://{_SOCKET}
volumePluginDir: /var/lib/kubelet/volumeplugins
resolvConf: {node.folder}/resolv.conf
cgroupDriver: cgroupfs
cgroupRoot: /{node.cgroup}
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
maxOpenFiles: 20000
makeIPTablesUtilChains: false
# A lease of 8 s is renewed every 2 s, so a test can let the controllers notice a lost node within seconds.
nodeLeaseDurationSeconds: 8
# There is no registry to get an image from again, and the disk is the machine's.
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {{memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}}
""")


def _kubelet(node, bin_folder):
    pki, kubeconfig = node.place.pki, node.folder / "kubelet.kubeconfig"
    if not kubeconfig.exists():
        certificates.sign(pki, node.name, f"/O=system:nodes/CN=system:node:{node.name}", f"IP:{node.address},DNS:{node.name}")
        certificates.write_kubeconfig(pki, node.name, kubeconfig, f"https://{network.ADDRESS}:6443")
    _write_kubelet_config(node, node.name)
    return [bin_folder / "kubelet", f"--config={node.folder}/kubelet.yaml", f"--kubeconfig={kubeconfig}",
            f"--hostname-override={node.name}", f"--node-ip={node.address}"]


def _proxy(node, bin_folder):
    (node.folder / "kube-proxy.yaml").write_text(f"""apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {{kubeconfig: {node.place.folder}/kube-proxy.kubeconfig}}
hostnameOverride: {node.name}
clusterCIDR: {nodes.ALL_PODS}
mode: iptables
# A change of an address reaches the rules at once and not up to a second later.
iptables: {{minSyncPeriod: 0s}}
# The machine's settings stay as they are.
conntrack: {{maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}}
""")
    return [bin_folder / "kube-proxy", f"--config={node.folder}/kube-proxy.yaml"]


def command(place, component, bin_folder):
    """argv, after writing the files that it names."""
    node, (kind, _) = nodes.of(place, component), nodes.parse(component)
    node.folder.mkdir(parents=True, exist_ok=True)
    argv = {nodes.NODE: _first_process, nodes.CONTAINERD: _containerd, nodes.PROXY: _proxy, nodes.KUBELET: _kubelet}[kind](node, bin_folder)
    return [str(argument) for argument in argv]


def ctr(node, *arguments):
    """argv that runs containerd's client in the node."""
    return node.inside(["ctr", f"--address={_SOCKET}", "--namespace=k8s.io", *arguments], {})
