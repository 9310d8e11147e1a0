"""Keys, certificates and kubeconfigs, made anew at every start by openssl."""
import hashlib
import subprocess

import network
import place as places

SERVER = "https://127.0.0.1:6443"
SERVICE_RANGE = "10.96.0.0/16"
_EXTENSIONS = "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature,keyEncipherment\nextendedKeyUsage=serverAuth,clientAuth\n"
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
_APISERVER_NAMES = ",".join([f"IP:127.0.0.1,IP:10.96.0.1,IP:{network.ADDRESS},DNS:localhost,DNS:kubernetes", "DNS:kubernetes.default",
                             "DNS:kubernetes.default.svc", "DNS:kubernetes.default.svc.cluster.local"])
# name: (subject, alternative names)
_CERTIFICATES = {
    "kube-apiserver": ("/CN=kube-apiserver", _APISERVER_NAMES),
    "apiserver-kubelet": ("/O=system:masters/CN=apiserver-kubelet", ""),
    "admin": ("/O=system:masters/CN=admin", ""),
    "kube-controller-manager": ("/CN=system:kube-controller-manager", ""),
    "kube-scheduler": ("/CN=system:kube-scheduler", ""),
    "kube-proxy": ("/CN=system:kube-proxy", ""),
}


def _openssl(*arguments):
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise places.Failure(f"'openssl {arguments[0]}' failed: {done.stderr.strip()}")


def sign(pki, name, subject, alternative_names=""):
    """pki/NAME.key and pki/NAME.crt, signed by the authority in `pki`."""
    extensions = pki / f"{name}.ext"
    extensions.write_text(_EXTENSIONS + (f"subjectAltName={alternative_names}\n" if alternative_names else ""))
    _openssl("req", *_KEY, "-subj", subject, "-keyout", pki / f"{name}.key", "-out", pki / f"{name}.csr")
    _openssl("x509", "-req", "-in", pki / f"{name}.csr", "-CA", pki / "ca.crt", "-CAkey", pki / "ca.key",
             "-days", "365", "-out", pki / f"{name}.crt", "-extfile", extensions)


def user_kubeconfig(place, subject, file):
    """A kubeconfig for any user by certificate; `subject` is e.g. /O=system:nodes/CN=system:node:n1."""
    name = "user-" + hashlib.sha256(subject.encode()).hexdigest()[:12]
    if not (place.pki / f"{name}.crt").exists():
        sign(place.pki, name, subject)
    write_kubeconfig(place.pki, name, file)


def write_kubeconfig(pki, name, file, server=SERVER):
    file.write_text(f"""apiVersion: v1
kind: Config
clusters:
- name: testenv
  cluster: {{server: "{server}", certificate-authority: "{pki}/ca.crt"}}
users:
- name: {name}
  user: {{client-certificate: "{pki}/{name}.crt", client-key: "{pki}/{name}.key"}}
contexts:
- name: testenv
  context: {{cluster: testenv, user: {name}}}
current-context: testenv
""")


def make_all(place):
    pki = place.pki
    pki.mkdir(mode=0o700)
    _openssl("req", "-x509", *_KEY, "-days", "365", "-subj", "/CN=muster-testenv", "-keyout", pki / "ca.key", "-out", pki / "ca.crt",
             "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature")
    for name, (subject, alternative_names) in _CERTIFICATES.items():
        sign(pki, name, subject, alternative_names)
    _openssl("genrsa", "-out", pki / "sa.key", "2048")
    _openssl("rsa", "-in", pki / "sa.key", "-pubout", "-out", pki / "sa.pub")
    write_kubeconfig(pki, "admin", place.kubeconfig)
    for name in ("kube-controller-manager", "kube-scheduler"):
        write_kubeconfig(pki, name, place.folder / f"{name}.kubeconfig")
    # It runs on the nodes, whose loopback is another.
    write_kubeconfig(pki, "kube-proxy", place.folder / "kube-proxy.kubeconfig", f"https://{network.ADDRESS}:6443")
