"""Those who begin and do not go on, at a node whose `handshake_timeout` is short."""

from bad_inputs import Row
from bad_inputs.http_requests import request
from bad_inputs.tokens_of_clients import bearer

TIMEOUT = "408 `timeout`"
SLOW = "RFC 9110 §15.5.9"
ROWS = [
    Row("not a byte", "closed", SLOW, b""),
    Row("half a request line", TIMEOUT, SLOW, b"GET /sync"),
    Row("a request without its last line", TIMEOUT, SLOW, request()[:-2]),
    Row("a request without its last byte", TIMEOUT, SLOW, request()[:-1]),
    Row("an empty line", TIMEOUT, SLOW, b"\r\n"),
    Row("a token about which the server of tokens is silent", "503 `not_ready`", "own rule",
        lambda stage: bearer(stage.silent)),
]
