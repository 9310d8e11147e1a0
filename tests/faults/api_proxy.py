#!/usr/bin/env python3
"""A TLS proxy in front of an API server that delays, alters and refuses requests and answers by rules.

Prints `listening HOST:PORT CONTROL_PORT` and runs until its standard input closes. Over the control port
(plain HTTP on loopback):

  PUT /rules         a JSON list of rules, which replaces all earlier ones; open streams are not affected
  PUT /certificate   {"certificate": file, "key": file}: served to new connections from now on
  PUT /cut           closes every open connection
  GET /log           [[method, path, query, status, rule's name, seconds since the start], ...], all requests
                     so far; status -1: not answered yet, 0: it ended without an answer

The first rule that matches a request is used:

  {"name": "...", "method": "POST", "path": "regular expression over path?query",
   "unless_header": ["Authorization", "regular expression"],
   "times": 3, "every": 2,  limits how often it is used; uses it for every second match only
   "delay": 0.5,            seconds before the request is sent on, even if the client has gone
   "delay_answer": 0.5,     seconds before the answer begins; the server has acted at once
   "status": 403, "body": {...} or "text": "...", "headers": {...},     answered here; the server never sees it
   "after_server": true,    with status: the server acts, but its answer is discarded
   "cut_after": 100,        bytes of the answer, then the connection is closed
   "cut_half": true         half of the answer, or of a watch's first bytes
   "cut_in_character": true the connection ends inside the answer's first UTF-8 character of several bytes
   "stall_after": 100,      bytes of the answer, then silence on an open connection
   "replace": ["regular expression", "text"],   in the answer, event by event in a watch
   "refuse": true, "reset": true}   the connection is closed at once, or reset
"""
import argparse
import asyncio
import json
import os
import re
import socket
import ssl
import struct
import sys
import time

MAX_HEAD = 1 << 16
CHUNK = 1 << 16
UNANSWERED = -1
CUT = 0


class Rules:
    def __init__(self):
        self.rules = []
        self.log = []
        self.start = time.monotonic()

    def matches(self, rule, method, target, headers):
        if rule.get("times", 1) <= 0 or rule.get("method", method) != method:
            return False
        if not re.search(rule.get("path", ""), target):
            return False
        if "unless_header" in rule:
            name, wanted = rule["unless_header"]
            if re.search(wanted, headers.get(name.lower(), "")):
                return False
        rule["seen"] = rule.get("seen", 0) + 1
        return rule["seen"] % rule.get("every", 1) == 0

    def find(self, method, target, headers):
        for rule in self.rules:
            if not self.matches(rule, method, target, headers):
                continue
            if "times" in rule:
                rule["times"] -= 1
            return rule
        return {}

    def note(self, method, target, rule):
        """The log's entry, whose status is filled in later."""
        path, _, query = target.partition("?")
        entry = [method, path, query, UNANSWERED, rule.get("name", ""), time.monotonic() - self.start]
        self.log.append(entry)
        return entry


class Cut(Exception):
    """Raised to close the connection to the client."""


class Head:
    """The first line and headers of a request or an answer."""

    def __init__(self, line, headers):
        self.line = line
        self.headers = headers

    def get(self, name, default=""):
        return next((value for key, value in self.headers if key.lower() == name), default)

    def dictionary(self):
        return {name.lower(): value for name, value in self.headers}

    def without(self, *names):
        return Head(self.line, [(key, value) for key, value in self.headers if key.lower() not in names])

    def plus(self, name, value):
        return Head(self.line, self.headers + [(name, value)])

    def encode(self):
        lines = [self.line] + [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"

    @staticmethod
    async def read(reader):
        text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = text.split("\r\n")
        pairs = [line.split(":", 1) for line in lines[1:] if line]
        return Head(lines[0], [(name.strip(), value.strip()) for name, value in pairs])


async def read_body(head, reader):
    """Yields the bytes of the body as they arrive, without the framing."""
    if head.get("transfer-encoding") == "chunked":
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            yield await reader.readexactly(size)
            await reader.readexactly(2)
        return
    left = int(head.get("content-length", 1 << 62))
    while left > 0 and (data := await reader.read(min(left, CHUNK))):
        left -= len(data)
        yield data


async def in_lines(pieces):
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest


async def as_one(pieces):
    yield b"".join([piece async for piece in pieces])


class FaultyAnswer:
    """Passes an answer on with the faults of its rule."""

    def __init__(self, rule, writer):
        self.rule = rule
        self.writer = writer
        self.sent = 0
        self.chunked = False

    async def pass_on(self, head, pieces, is_stream):
        if "replace" in self.rule or (self.rule.get("cut_half") and not is_stream):
            pieces = in_lines(pieces) if is_stream else as_one(pieces)
        if "replace" in self.rule:
            head = head.without("content-length", "transfer-encoding").plus("Transfer-Encoding", "chunked")
            pieces = self.replaced(pieces)
        self.chunked = head.get("transfer-encoding") == "chunked"
        self.writer.write(head.encode())
        await self.writer.drain()
        async for piece in pieces:
            await self.send(piece)
        if self.chunked:
            self.writer.write(b"0\r\n\r\n")
            await self.writer.drain()

    async def replaced(self, pieces):
        old, new = (text.encode() for text in self.rule["replace"])
        async for piece in pieces:
            if piece := re.sub(old, lambda match: match.expand(new), piece):
                yield piece

    async def send(self, data):
        end = self.end_within(data)
        if end is None:
            await self.write(data, len(data))
            return
        await self.write(data, end)
        if "stall_after" in self.rule:
            await asyncio.sleep(3600)
        raise Cut

    def end_within(self, data):
        """The number of bytes of `data` that the client still gets; None: all."""
        if self.rule.get("cut_in_character"):
            first = next((i for i, byte in enumerate(data) if byte >= 0xC0), None)
            return None if first is None else first + 1
        if self.rule.get("cut_half"):
            return len(data) // 2
        for key in ("cut_after", "stall_after"):
            if key in self.rule and self.sent + len(data) >= self.rule[key]:
                return self.rule[key] - self.sent
        return None

    async def write(self, data, length):
        self.sent += length
        framed = b"%x\r\n" % len(data) if self.chunked else b""
        framed += data[:length]
        if self.chunked and length == len(data):
            framed += b"\r\n"
        self.writer.write(framed)
        await self.writer.drain()


def answer(rule):
    body = rule["text"].encode() if "text" in rule else json.dumps(rule.get("body", {})).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"}
    headers.update(rule.get("headers", {}))
    return Head(f"HTTP/1.1 {rule['status']} Faulty", list(headers.items())).encode() + body


def reset(writer):
    """Resets the connection, without closing TLS or TCP properly."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Proxy:
    def __init__(self, upstream, context, rules):
        self.host, port = upstream.rsplit(":", 1)
        self.port = int(port)
        self.context = context
        self.rules = rules
        self.open = set()

    async def serve(self, reader, writer):
        self.open.add(writer)
        entry = None
        try:
            head = await Head.read(reader)
            body = await reader.readexactly(int(head.get("content-length", 0)))
            method, target, _ = head.line.split(" ", 2)
            rule = self.rules.find(method, target, head.dictionary())
            entry = self.rules.note(method, target, rule)
            await self.one_request(head, body, rule, entry, writer)
        except (Cut, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            if entry is not None and entry[3] == UNANSWERED:
                entry[3] = CUT
            self.open.discard(writer)
            writer.close()

    async def one_request(self, head, body, rule, entry, writer):
        if rule.get("delay"):
            await asyncio.sleep(rule["delay"])
        if rule.get("reset"):
            reset(writer)
        if rule.get("reset") or rule.get("refuse"):
            raise Cut
        if "status" in rule and not rule.get("after_server"):
            entry[3] = rule["status"]
            writer.write(answer(rule))
            await writer.drain()
            return
        await self.ask_server(head, body, rule, entry, writer)

    async def ask_server(self, head, body, rule, entry, writer):
        server_reader, server_writer = await asyncio.open_connection(
            self.host, self.port, ssl=self.context, server_hostname=self.host)
        try:
            server_writer.write(head.without("connection").plus("Connection", "close").encode() + body)
            await server_writer.drain()
            answered = await Head.read(server_reader)
            if rule.get("delay_answer"):
                await asyncio.sleep(rule["delay_answer"])
            entry[3] = int(answered.line.split(" ", 2)[1])
            if rule.get("after_server"):
                writer.write(answer(rule))
                await writer.drain()
                return
            await FaultyAnswer(rule, writer).pass_on(answered, read_body(answered, server_reader), "watch=" in entry[2])
        finally:
            server_writer.close()

    def cut(self):
        for writer in list(self.open):
            writer.transport.abort()


class Control:
    def __init__(self, proxy, serving):
        self.proxy = proxy
        self.serving = serving

    async def serve(self, reader, writer):
        head = await Head.read(reader)
        method, target, _ = head.line.split(" ", 2)
        body = await reader.readexactly(int(head.get("content-length", 0)))
        said = self.obey(method, target, body)
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(said) + said)
        await writer.drain()
        writer.close()

    def obey(self, method, target, body):
        if method == "GET":
            return json.dumps(self.proxy.rules.log).encode()
        if target == "/rules":
            self.proxy.rules.rules = json.loads(body)
        elif target == "/certificate":
            files = json.loads(body)
            self.serving.load_cert_chain(files["certificate"], files["key"])
        elif target == "/cut":
            self.proxy.cut()
        return b"{}"


async def run(args):
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(args.certificate, args.key)
    # A client that resumes an earlier TLS session would not check a new certificate.
    serving.options |= ssl.OP_NO_TICKET
    upstream = ssl.create_default_context(cafile=args.upstream_ca)
    upstream.load_cert_chain(args.client_certificate, args.client_key)
    proxy = Proxy(args.upstream, upstream, Rules())
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, ssl=serving, limit=MAX_HEAD)
    controller = await asyncio.start_server(Control(proxy, serving).serve, "127.0.0.1", 0)
    ports = [s.sockets[0].getsockname()[1] for s in (server, controller)]
    print(f"listening 127.0.0.1:{ports[0]} {ports[1]}", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)  # abandons requests that still stall or wait


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upstream", required=True, help="HOST:PORT of the API server")
    parser.add_argument("--upstream-ca", required=True)
    parser.add_argument("--client-certificate", required=True, help="who the proxy is at the server")
    parser.add_argument("--client-key", required=True)
    parser.add_argument("--certificate", required=True, help="what the proxy serves")
    parser.add_argument("--key", required=True)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
