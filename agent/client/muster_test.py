#!/usr/bin/python3
"""Tests the client of the agent's socket: against a server that speaks the agent's part, and without one.

tests/pytorch/client_test.cc tests it against the real agent.
"""
import importlib
import json
import math
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
import unittest
import unittest.mock

FOLDER = pathlib.Path(__file__).absolute().parent
sys.path.insert(0, str(FOLDER))


class FakeAgent:
    """Listens as an agent does. A greeting waits for each client before it connects, so no thread is needed."""

    def __init__(self, path):
        self.path = path
        self.clients = []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(4)
        self.listener.settimeout(30)

    def accept(self, **greeting):
        self.client, _ = self.listener.accept()
        self.clients.append(self.client)
        self.client.settimeout(30)
        self.notify(**greeting)

    def notify(self, saves=0, **rest):
        self.client.send(json.dumps({"muster": 1, "saves": saves, **rest}).encode())

    def hear(self):
        packet = self.client.recv(1 << 16)
        return json.loads(packet) if packet else None

    def end(self):
        for end in [self.listener, *self.clients]:
            end.close()


class ClientTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(dir="/tmp")
        self.addCleanup(scratch.cleanup)
        self.path = f"{scratch.name}/agent.sock"
        os.environ["MUSTER_AGENT_SOCKET"] = self.path
        os.environ["RANK"] = "0"
        self.addCleanup(os.environ.pop, "MUSTER_AGENT_SOCKET", None)
        import muster
        self.muster = importlib.reload(muster)
        muster._CONNECT_SECONDS = 0.01  # the fake greets after the first call has returned
        muster._RETRY_SECONDS = 0.0

    def with_agent(self, **greeting):
        agent = FakeAgent(self.path)
        self.addCleanup(agent.end)
        self.assertIsNone(self.muster.leaving_in())
        agent.accept(**greeting)
        self.assertEqual(agent.hear(), {"watch": True})
        self.assertEqual(self.muster._agent()._socket.gettimeout(), 0.0, "nothing may wait for the agent")
        return agent

    def test_without_muster_nothing_happens(self):
        del os.environ["MUSTER_AGENT_SOCKET"]
        self.muster.report("no step at all", object())
        self.assertIs(self.muster.should_checkpoint(), False)
        self.assertIsNone(self.muster.leaving_in())
        self.muster.wait_to_leave()

    def test_with_an_agent_that_does_not_listen_nothing_fails(self):
        for step in range(3):
            self.muster.report(step, 1.0)
        self.assertFalse(self.muster.should_checkpoint())
        self.assertIsNone(self.muster.leaving_in())

    def test_a_report_has_the_figures_that_were_given(self):
        agent = self.with_agent()
        self.muster.report(3, 2.5, tokens=64, steps=10, validation_loss=math.nan, gradient_norm=1)
        self.assertEqual(agent.hear(), {"report": {"step": 3, "loss": 2.5, "tokens": 64, "steps": 10,
                                                   "validationLoss": None, "gradientNorm": 1.0}})
        self.muster.report(4, math.inf, checkpoint=pathlib.Path("step-4"))
        self.assertEqual(agent.hear(), {"report": {"step": 4, "loss": None, "tokens": 0, "steps": 0}})
        self.assertEqual(agent.hear(), {"checkpoint": {"step": 4, "directory": "step-4"}})

    def test_a_loss_that_still_has_its_graph_is_read_without_it(self):
        agent = self.with_agent()
        loss = types.SimpleNamespace(detach=lambda: 2.5)  # cannot become a number itself
        self.muster.report(3, loss)
        self.assertEqual(agent.hear()["report"]["loss"], 2.5)

    def test_other_ranks_report_nothing(self):
        os.environ["RANK"] = "1"
        agent = self.with_agent()
        self.muster.report(3, 2.5)
        os.environ["RANK"] = "0"
        self.muster.report(4, 2.5)
        self.assertEqual(agent.hear()["report"]["step"], 4)

    def test_a_wanted_checkpoint_is_told_once(self):
        agent = self.with_agent(saves=1)
        self.assertTrue(self.muster.should_checkpoint())
        self.assertFalse(self.muster.should_checkpoint())
        agent.notify(saves=2)
        self.assertIsNone(self.muster.leaving_in())
        self.assertTrue(self.muster.should_checkpoint())
        self.assertFalse(self.muster.should_checkpoint())

    def test_who_has_to_leave_is_told_how_long_it_has_and_to_save_once(self):
        agent = self.with_agent()
        agent.notify(leaveIn=1000)
        left = self.muster.leaving_in()
        self.assertTrue(900 < left <= 1000, left)
        self.assertTrue(self.muster.should_checkpoint())
        self.assertFalse(self.muster.should_checkpoint())
        agent.notify(leaveIn=0)
        self.assertEqual(self.muster.leaving_in(), 0.0)

    def test_a_rank_that_may_stay_waits_until_it_is_told_to_leave(self):
        agent = self.with_agent()
        told = threading.Event()

        def sleep(_):
            agent.notify(leaveIn=9.0)
            told.set()

        with unittest.mock.patch.object(self.muster.time, "sleep", sleep):
            self.muster.wait_to_leave()
        self.assertTrue(told.is_set(), "it returned before anybody had told it")
        self.assertIsNotNone(self.muster.leaving_in())

    def test_reports_made_while_the_agent_is_gone_reach_the_next_one(self):
        agent = self.with_agent()
        agent.end()
        os.unlink(self.path)
        self.assertFalse(self.muster.should_checkpoint())
        for step in range(1200):
            self.muster.report(step, 1.0)
        agent = FakeAgent(self.path)
        self.addCleanup(agent.end)
        self.muster.report(1200, 1.0)
        agent.accept(saves=1)
        self.assertEqual(agent.hear(), {"watch": True})
        self.assertEqual(agent.hear()["report"]["step"], 201, "the oldest are dropped first")
        self.assertTrue(self.muster.should_checkpoint())

    def test_what_is_no_notice_ends_the_connection_and_fails_nothing(self):
        agent = self.with_agent()
        for packet in (b"\xff\xfe", b"[]", b"{}", b'{"saves": "many"}', b'{"saves": null}'):
            agent.client.send(packet)
            self.assertFalse(self.muster.should_checkpoint())
            self.assertIsNone(agent.hear())
            self.assertIsNone(self.muster.leaving_in())
            agent.accept()
            self.assertEqual(agent.hear(), {"watch": True})

    def test_a_forked_process_has_a_connection_of_its_own(self):
        agent = self.with_agent()
        parents = agent.client
        child = os.fork()
        if child == 0:
            self.muster.report(5, 1.0)
            signal.pause()
        agent.accept()
        self.assertEqual(agent.hear()["report"]["step"], 5)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.muster.report(6, 1.0)
        agent.client = parents
        self.assertEqual(agent.hear()["report"]["step"], 6)

    def test_the_last_report_is_sent_when_the_script_ends(self):
        agent = FakeAgent(self.path)
        self.addCleanup(agent.end)
        script = "import muster; muster._agent()._next_try = float('inf'); muster.report(9, 1.0); " \
                 "muster._agent()._next_try = 0"
        with subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(FOLDER)}) as child:
            agent.accept()
            self.assertEqual(agent.hear()["report"]["step"], 9)
            self.assertEqual(child.wait(), 0)


if __name__ == "__main__":
    unittest.main()
