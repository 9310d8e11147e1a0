"""A TCP port of 127.0.0.1 for a program that must be told the number of its port; base/testing/reserved_port.h in Python."""
import socket


class ReservedPort:
    """Keeps the port as long as this object lives: it is bound, and nobody listens on it. The kernel gives it to no other
    socket, and a program may listen on it, as often as it is restarted, if it sets SO_REUSEADDR first, as those in Go, those
    with gRPC and muster's own do."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", 0))
        self.number = self.socket.getsockname()[1]
        self.address = f"127.0.0.1:{self.number}"

    def __del__(self):
        self.socket.close()
