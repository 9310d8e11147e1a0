#!/usr/bin/python3
"""Tests that a reserved port is nobody else's, and that a program may listen on it."""
import pathlib
import socket
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).absolute().parent))
from reserved_port import ReservedPort


class ReservedPortTest(unittest.TestCase):
    def test_a_server_listens_on_it_as_often_as_it_is_restarted(self):
        port = ReservedPort()
        for _ in range(3):
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port.number))
            with socket.create_server(("127.0.0.1", port.number)):
                socket.create_connection(("127.0.0.1", port.number)).close()

    def test_nobody_else_gets_it(self):
        ports = [ReservedPort() for _ in range(500)]
        self.assertEqual(len({port.address for port in ports}), 500)


unittest.main()
