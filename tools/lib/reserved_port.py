"""A TCP port of 127.0.0.1 for a program that must be told the number of its port; base/testing/reserved_port.h in Python."""
import socket


class ReservedPort:
    """Keeps the port as long as this object lives: it is bound, but no socket listens on it. The kernel gives it to no other
    socket. A program may listen on it, also after a restart; it must set SO_REUSEADDR, as programs in Go, with gRPC, and
    muster's own do."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", 0))
        self.number = self.socket.getsockname()[1]
        self.address = f"127.0.0.1:{self.number}"

    def __del__(self):
        self.socket.close()
