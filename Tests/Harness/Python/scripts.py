"""What scripted servers play for livecat: scripts for `Peer`, each for one connection."""


def serve(connection):
    """A WebSocket that keeps what comes until it is closed."""
    connection.upgrade()
    connection.serve()


def streams(*messages, code=1000, reason=""):
    """A WebSocket that says something and closes."""
    def script(connection):
        connection.upgrade()
        connection.text(*messages)
        connection.close(code, reason)
    return script


def greet(*messages):
    """A WebSocket that says something and closes with 1000."""
    return streams(*messages)


def closes(code, reason=""):
    """A WebSocket that closes at once."""
    return streams(code=code, reason=reason)


def redirect(status, location):
    return lambda connection: connection.refuse(f"{status} Elsewhere", f"Location: {location}", body="moved")


def answers(status, body, *fields):
    """A document, or a refusal in the place of one."""
    return lambda connection: connection.refuse(status, "Content-Type: application/json", *fields, body=body)


def event_stream(*events, ends=True):
    """A chunked stream, an event a chunk, which ends or stays."""
    def script(connection):
        connection.head()
        connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n")
        for text in ("retry: 1500\n\n", *events):
            connection.send(f"{len(text.encode()):x}\r\n{text}\r\n")
        if ends:
            connection.send("0\r\n\r\n")
        else:
            connection.more()
    return script


def tunnel(behind, context=None):
    """A proxy that plays the server behind it itself, over TLS where there is a context."""
    def script(connection):
        connection.head()
        connection.send("HTTP/1.1 200 Connection established\r\n\r\n")
        if context:
            connection.secure(context)
        behind(connection)
    return script
