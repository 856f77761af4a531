"""A TLS socket that one thread may read while another one writes."""

import ssl
import threading


class SecureSocket:
    """Python's own SSLSocket must not be used so: OpenSSL's state is one for both directions, and where a session ticket
    of TLS 1.3 arrives while a request is written, the request is lost now and then. Everything but reading and writing is
    the plain socket's."""

    def __init__(self, plain, context, name):
        self.plain, self.lock = plain, threading.Lock()
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.session = context.wrap_bio(self.incoming, self.outgoing, server_hostname=name)
        self._until_done(self.session.do_handshake)

    def _until_done(self, action, *arguments):
        """Calls it with the lock, and again after each read that it needs, which is made without."""
        while True:
            with self.lock:
                try:
                    return action(*arguments)
                except ssl.SSLWantReadError:
                    pass
                finally:
                    self.plain.sendall(self.outgoing.read())
            data = self.plain.recv(65536)
            with self.lock:
                if data:
                    self.incoming.write(data)
                else:
                    self.incoming.write_eof()

    def recv(self, size):
        try:
            return self._until_done(self.session.read, size)
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    def sendall(self, *records):
        """Each is a record of its own; all leave together."""
        for record in records[:-1]:
            with self.lock:
                self.session.write(record)
        self._until_done(self.session.write, records[-1])

    def __getattr__(self, name):
        return getattr(self.plain, name)
