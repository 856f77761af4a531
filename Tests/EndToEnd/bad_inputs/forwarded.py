"""Who the client is, as headers say (RFC 7239, `X-Forwarded-For`): a false name is at worst the peer's own."""

from bad_inputs import Row
from bad_inputs.upgrades import upgrade


def row(name, peer, *values, source="RFC 7239 §6"):
    """From 127.0.0.1, which is trusted beside 10.0.0.0/8."""
    return Row(name, f"101 as {peer}", source, upgrade(*(b"Forwarded: " + value for value in values)))


OWN = "127.0.0.1"
ROWS = [
    row("a client that puts somebody else before itself", "203.0.113.7", b"for=198.51.100.1, for=203.0.113.7", source="RFC 7239 §8.1"),
    row("a client that puts somebody else into a field before", "203.0.113.7", b"for=198.51.100.1", b"for=203.0.113.7",
        source="RFC 7239 §8.1"),
    row("a quote that does not end before the balancer's word", "203.0.113.7", b'for="198.51.100.1, for=203.0.113.7'),
    row("a comma in a quoted name before the balancer's word", "203.0.113.7", b'for="a, for=198.51.100.1", for=203.0.113.7'),
    row("a backslash at the end of what the client wrote", "203.0.113.7", b'for="\\", for=203.0.113.7'),
    row("only addresses that are trusted", "10.0.0.1", b"for=10.0.0.1, for=10.0.0.2", source="own rule"),
    row("an obfuscated name", OWN, b"for=198.51.100.1, for=_hidden", source="RFC 7239 §6.3"),
    row("unknown", OWN, b"for=198.51.100.1, for=unknown", source="RFC 7239 §6.2"),
    row("an element without for", OWN, b"for=198.51.100.1, proto=https", source="RFC 7239 §4"),
    row("two for in one element", OWN, b"for=203.0.113.7;for=198.51.100.1", source="RFC 7239 §4"),
    row("a number that begins with 0", OWN, b"for=203.0.0113.7"),
    row("an address in decimal", OWN, b"for=3405803783"),
    row("an IPv6 address with a zone", OWN, b'for="[fe80::1%eth0]"'),
    row("an IPv6 address in a bracket that does not end", OWN, b'for="[2001:db8::1"'),
    row("a port of 65536", OWN, b'for="203.0.113.7:65536"'),
    row("an IPv4 address inside an IPv6 address", "203.0.113.7", b'for="[::ffff:203.0.113.7]"', source="own rule"),
    row("markup", OWN, b'for="<script>alert(1)</script>"'),
    row("a terminal's escape as far as it is let through", OWN, b'for="\xc2\x9b31m"'),
    row("2,000 empty elements", OWN, b"," * 2000, source="RFC 9110 §5.6.1.2"),
    row("500 trusted addresses behind one that is not", "198.51.100.1", b"for=198.51.100.1" + b", for=10.0.0.1" * 500),
    row("X-Forwarded-For, where Forwarded counts", OWN),
]
ROWS[-1] = Row(ROWS[-1].name, ROWS[-1].answer, "own rule", upgrade(b"X-Forwarded-For: 198.51.100.1"))
