#!/usr/bin/env python3
"""A TLS proxy before an API server that spoils what it is told to spoil.

Prints `listening HOST:PORT CONTROL_PORT` and runs until its standard input closes. Rules come over the
control port (plain HTTP on loopback): `PUT /rules` with a JSON list, `GET /log` for what was asked so far:
[[method, path without query, status, rule or ""], ...]. The first rule that matches a request is used:

  {"name": "...", "method": "POST", "path": "regular expression over path?query", "times": 3,
   "delay": 0.5,            seconds before the request goes on
   "status": 403, "body": {...}, "headers": {...},     answered here; the server never sees it
   "after_server": true,    with status: the server did it, and its answer is thrown away
   "cut_after": 100,        the answer's bytes, then the connection ends
   "cut_in_character": true the connection ends inside the answer's first UTF-8 character of several bytes
   "stall_after": 100,      the answer's bytes, then silence with the connection open
   "replace": ["a", "b"],   in the answer
   "refuse": true}          the connection ends at once
"""
import argparse
import asyncio
import json
import re
import ssl
import sys

MAX_HEAD = 1 << 16
CHUNK = 1 << 16


class Rules:
    def __init__(self):
        self.rules = []
        self.log = []

    def find(self, method, target):
        for rule in self.rules:
            if rule.get("times", 1) <= 0 or rule.get("method", method) != method:
                continue
            if not re.search(rule.get("path", ""), target):
                continue
            if "times" in rule:
                rule["times"] -= 1
            return rule
        return {}

    def note(self, method, target, status, rule):
        self.log.append([method, target.split("?")[0], status, rule.get("name", "")])


class Cut(Exception):
    """The connection to the client ends here."""


class Spoiler:
    """Passes an answer's bytes on as a rule says."""

    def __init__(self, rule, writer):
        self.rule = rule
        self.writer = writer
        self.sent = 0

    async def pass_on(self, data):
        if "replace" in self.rule:
            old, new = (text.encode() for text in self.rule["replace"])
            data = data.replace(old, new)
        if self.rule.get("cut_in_character"):
            first = next((i for i, byte in enumerate(data) if byte >= 0xC0), None)
            if first is not None:
                await self.write(data[: first + 1])
                raise Cut
        for key in ("cut_after", "stall_after"):
            if key in self.rule and self.sent + len(data) >= self.rule[key]:
                await self.write(data[: self.rule[key] - self.sent])
                if key == "stall_after":
                    await asyncio.sleep(3600)
                raise Cut
        await self.write(data)

    async def write(self, data):
        self.sent += len(data)
        self.writer.write(data)
        await self.writer.drain()


async def read_head(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = [line.split(":", 1) for line in lines[1:] if line]
    return lines[0], [(name.strip(), value.strip()) for name, value in headers]


def answer(rule):
    body = json.dumps(rule.get("body", {})).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"}
    headers.update(rule.get("headers", {}))
    lines = [f"HTTP/1.1 {rule['status']} Spoilt"] + [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Proxy:
    def __init__(self, upstream, context, rules):
        self.host, port = upstream.rsplit(":", 1)
        self.port = int(port)
        self.context = context
        self.rules = rules

    async def serve(self, reader, writer):
        try:
            await self.one_request(reader, writer)
        except (Cut, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def one_request(self, reader, writer):
        line, headers = await read_head(reader)
        method, target, _ = line.split(" ", 2)
        length = int(dict((name.lower(), value) for name, value in headers).get("content-length", 0))
        body = await reader.readexactly(length)
        rule = self.rules.find(method, target)
        if rule.get("delay"):
            await asyncio.sleep(rule["delay"])
        if rule.get("refuse"):
            self.rules.note(method, target, 0, rule)
            return
        if "status" in rule and not rule.get("after_server"):
            self.rules.note(method, target, rule["status"], rule)
            await Spoiler({}, writer).write(answer(rule))
            return
        await self.ask_server(line, headers, body, rule, writer)

    async def ask_server(self, line, headers, body, rule, writer):
        server_reader, server_writer = await asyncio.open_connection(
            self.host, self.port, ssl=self.context, server_hostname=self.host)
        try:
            kept = [f"{name}: {value}" for name, value in headers if name.lower() != "connection"]
            head = "\r\n".join([line] + kept + ["Connection: close"]).encode("latin-1") + b"\r\n\r\n"
            server_writer.write(head + body)
            await server_writer.drain()
            await self.relay(line, server_reader, rule, writer)
        finally:
            server_writer.close()

    async def relay(self, line, server_reader, rule, writer):
        method, target, _ = line.split(" ", 2)
        head = await server_reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        self.rules.note(method, target, status, rule)
        if rule.get("after_server"):
            await Spoiler({}, writer).write(answer(rule))
            return
        await Spoiler({}, writer).write(head)
        spoiler = Spoiler(rule, writer)
        while data := await server_reader.read(CHUNK):
            await spoiler.pass_on(data)


async def control(rules, reader, writer):
    line, headers = await read_head(reader)
    method, target, _ = line.split(" ", 2)
    length = int(dict((name.lower(), value) for name, value in headers).get("content-length", 0))
    if method == "PUT" and target == "/rules":
        rules.rules = json.loads(await reader.readexactly(length))
        body = b"{}"
    else:
        body = json.dumps(rules.log).encode()
    writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    await writer.drain()
    writer.close()


async def run(args):
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(args.certificate, args.key)
    upstream = ssl.create_default_context(cafile=args.upstream_ca)
    upstream.load_cert_chain(args.client_certificate, args.client_key)
    rules = Rules()
    proxy = Proxy(args.upstream, upstream, rules)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, ssl=serving, limit=MAX_HEAD)
    controller = await asyncio.start_server(lambda r, w: control(rules, r, w), "127.0.0.1", 0)
    ports = [s.sockets[0].getsockname()[1] for s in (server, controller)]
    print(f"listening 127.0.0.1:{ports[0]} {ports[1]}", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


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
