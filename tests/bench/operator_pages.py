"""Shared by benchmarks: the pages that an operator on a cluster serves over TLS to callers with a token."""
import base64
import http.client
import json
import pathlib
import socket
import ssl
import time

import control_plane as plane

READERS = pathlib.Path(__file__).absolute().parent.parent.parent / "deploy/rbac/readers.yaml"
NAME = "muster-coordinator"


def token(namespace):
    """A token of a new service account that may read every page."""
    plane.run("kubectl", "apply", "-f", READERS)
    plane.run("kubectl", "create", "serviceaccount", "reader", f"--namespace={namespace}")
    plane.run("kubectl", "create", "clusterrolebinding", "bench-reader", "--clusterrole=muster-viewer", f"--serviceaccount={namespace}:reader")
    return plane.run("kubectl", "create", "token", "reader", f"--namespace={namespace}", "--duration=1h").strip()


class Pages:
    """Asks one operator, on a new connection each time."""

    def __init__(self, host, port, namespace):
        self.address = (host, port)
        secret = json.loads(plane.run("kubectl", "get", "secret", "muster-coordinator-ca", f"--namespace={namespace}", "--output=json"))
        self.context = ssl.create_default_context(cadata=base64.b64decode(secret["data"]["tls.crt"]).decode())
        self.headers = {"Authorization": f"Bearer {token(namespace)}"}

    def get(self, path):
        """(status, text)"""
        connection = http.client.HTTPConnection(NAME)
        connection.sock = self.context.wrap_socket(socket.create_connection(self.address, timeout=10), server_hostname=NAME)
        try:
            connection.request("GET", path, headers=self.headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def timed(self, path):
        """(seconds from dialling to the last byte, text)"""
        start = time.monotonic()
        status, text = self.get(path)
        if status != 200:
            raise SystemExit(f"{path}: {status} {text[:500]}")
        return time.monotonic() - start, text
