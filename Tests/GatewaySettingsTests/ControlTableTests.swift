import Testing

@testable import GatewaySettings

struct ControlTableTests {
    @Test func `the control topic is one of its own, and revocations outlive what is known to live`() {
        let tokens =
            "gate.yaml:1: warning: auth.tokens: holds tokens that do not expire: a revoked one is accepted again after"
        let erasures = """
            gate.yaml:1: warning: control.retention: should be longer than history.retention (1d): what was erased more than \
            10m ago is served again after a start
            """
        let introspection = "introspection: {url: 'https://a/i', client_id: a, client_secret_file: s"
        let rows: [(text: String, lines: [String])] = [
            ("control: {topic: c}", []), ("control: {retention: 1s}", []),
            (
                "kafka: {topics: [a, c]}\ncontrol:\n  topic: c\n",
                [
                    """
                    gate.yaml:3: control.topic: 'c' is also in kafka.topics: the control topic must be a separate topic, without \
                    events
                    """
                ]
            ),
            (
                "control: {topic: '^c'}",
                [
                    """
                    gate.yaml:1: control.topic: '^c' is not the name of a topic: 1 to 249 letters, digits, '.', '_' and '-' are \
                    expected
                    """
                ]
            ),
            ("auth: {tokens: t}", []),
            (
                "{auth: {tokens: t}, control: {topic: c}}",
                ["\(tokens) 1d, unless it was removed from the file"]
            ),
            ("{auth: {\(introspection), cache: 10m}}, control: {topic: c, retention: 10m}}", [erasures]),
            ("{history: {retention: 2h}, control: {topic: c, retention: 2h}}", []),
            ("{auth: {\(introspection), cache: 11m}}, control: {retention: 10m}}", []),
            (
                "{auth: {\(introspection), cache: 11m}}, control: {topic: c, retention: 10m}}",
                [
                    """
                    gate.yaml:1: warning: control.retention: must be longer than any token lives: with \
                    auth.introspection.cache they live 11m, and a revocation counts for 10m
                    """, erasures,
                ]
            ),
        ]
        for (text, lines) in rows { #expect(load(text).lines == lines, "\(text)") }
    }
}
