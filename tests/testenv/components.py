"""The command line of each component."""
import functools

import network
import node as nodes
import node_components
from certificates import SERVICE_RANGE

ETCD, APISERVER, CONTROLLER_MANAGER, SCHEDULER = "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"
# In the order they start.
ALL = (ETCD, APISERVER, CONTROLLER_MANAGER, SCHEDULER)

_ETCD_CLIENT, _ETCD_PEER = "http://127.0.0.1:2379", "http://127.0.0.1:2380"


def _etcd(place):
    # Its data does not outlive the environment, so it need not reach the disk.
    return [f"--data-dir={place.folder}/etcd", f"--listen-client-urls={_ETCD_CLIENT}", f"--advertise-client-urls={_ETCD_CLIENT}",
            f"--listen-peer-urls={_ETCD_PEER}", f"--initial-advertise-peer-urls={_ETCD_PEER}", f"--initial-cluster=default={_ETCD_PEER}",
            "--unsafe-no-fsync", "--log-level=warn"]


def _apiserver(place):
    pki = place.pki
    return [f"--etcd-servers={_ETCD_CLIENT}", "--bind-address=0.0.0.0", f"--advertise-address={network.ADDRESS}", "--secure-port=6443",
            f"--tls-cert-file={pki}/kube-apiserver.crt", f"--tls-private-key-file={pki}/kube-apiserver.key", f"--client-ca-file={pki}/ca.crt",
            "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true", "--profiling=false",
            f"--service-cluster-ip-range={SERVICE_RANGE}", "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={pki}/sa.pub", f"--service-account-signing-key-file={pki}/sa.key",
            f"--kubelet-client-certificate={pki}/apiserver-kubelet.crt", f"--kubelet-client-key={pki}/apiserver-kubelet.key",
            f"--kubelet-certificate-authority={pki}/ca.crt", "--kubelet-preferred-address-types=InternalIP"]


def _kubeconfigs(place, component):
    file = place.folder / f"{component}.kubeconfig"
    return [f"--{flag}={file}" for flag in ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")]


def _controller_manager(place):
    pki = place.pki
    return [*_kubeconfigs(place, CONTROLLER_MANAGER), "--leader-elect=false", "--bind-address=127.0.0.1", "--controllers=*",
            f"--service-account-private-key-file={pki}/sa.key", f"--root-ca-file={pki}/ca.crt", "--use-service-account-credentials=true",
            f"--cluster-signing-cert-file={pki}/ca.crt", f"--cluster-signing-key-file={pki}/ca.key"]


def _scheduler(place):
    return [*_kubeconfigs(place, SCHEDULER), "--leader-elect=false", "--bind-address=127.0.0.1"]


def known(component):
    return component in ALL or nodes.parse(component) is not None


def command(place, component, bin_folder, extra):
    """argv. A flag in `extra` comes last, so it wins."""
    if nodes.parse(component):
        return [*node_components.command(place, component, bin_folder), *extra]
    flags = {ETCD: _etcd, APISERVER: _apiserver, CONTROLLER_MANAGER: _controller_manager, SCHEDULER: _scheduler}[component](place)
    return [str(bin_folder / component), *flags, *extra]


def inside(place, component):
    """The function that makes of argv and environment a command that runs where the component belongs."""
    if component in ALL:
        return functools.partial(network.inside, place.namespace)
    kind, _ = nodes.parse(component)
    # The first process of a node makes the namespaces that the others enter.
    return nodes.of(place, component).inside if kind != nodes.NODE else lambda argv, environment: argv
