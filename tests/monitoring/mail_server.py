#!/usr/bin/python3
"""usage: mail_server.py ADDRESS PORT FOLDER

A mail server for tests, which keeps what is sent to it. As a program it writes each mail to a file FOLDER/N.txt: its
recipients in the first line, then its text.
"""
import email
import pathlib
import socketserver
import sys
import threading


def text_of(mail):
    """The texts of all parts of a mail, decoded."""
    parts = [part for part in email.message_from_bytes(mail).walk() if not part.is_multipart()]
    return "\n".join(part.get_payload(decode=True).decode() for part in parts)


class _Handler(socketserver.StreamRequestHandler):
    def say(self, words):
        self.wfile.write(words.encode() + b"\r\n")

    def handle(self):
        self.say("220 mail.test ESMTP")
        recipients = []
        for line in iter(self.rfile.readline, b""):
            verb = line.decode().strip().upper()
            if verb.startswith("RCPT TO:"):
                recipients.append(line.decode().strip()[8:].strip(" <>"))
            if verb == "DATA":
                self.say("354 go on")
                self.server.keep(recipients, text_of(b"".join(iter(self.rfile.readline, b".\r\n"))))
                recipients = []
            if verb == "QUIT":
                self.say("221 bye")
                return
            self.say("250 mail.test" if verb.startswith("EHLO") else "250 OK")


class MailServer(socketserver.ThreadingTCPServer):
    """Keeps the mails that are sent to it: (recipients, text). It knows as much of RFC 5321 as a client needs."""
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address="127.0.0.1", port=0):
        super().__init__((address, port), _Handler)
        self.mails = []
        self.address = f"{address}:{self.server_address[1]}"

    def start(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def keep(self, recipients, text):
        self.mails.append((recipients, text))

    def mentioning(self, word):
        return [mail for mail in list(self.mails) if word in mail[1]]


class _Folder(MailServer):
    def __init__(self, address, port, folder):
        super().__init__(address, port)
        self.folder, self.lock = folder, threading.Lock()

    def keep(self, recipients, text):
        with self.lock:
            super().keep(recipients, text)
            part = self.folder / "part"
            part.write_text("\n".join([", ".join(recipients), text]))
            part.rename(self.folder / f"{len(self.mails)}.txt")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    _Folder(sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])).serve_forever()
