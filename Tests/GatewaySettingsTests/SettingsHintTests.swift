import GatewaySettings
import Testing

/// What people write who come from somewhere else, or begin: each with the line that says how it is written here.
@Suite struct SettingsHintTests {
    static let rows: [(text: String, lines: [String])] = [
        ("listen:\n", ["gate.yaml:1: listen: has no value: a list of addresses is expected"]),
        ("listen: ''\n", ["gate.yaml:1: listen: is empty: a list of addresses is expected"]),
        (
            "kafka: {topics: 'a, b'}\n",
            ["gate.yaml:1: kafka.topics: 'a, b' is one value: write several as a list, [first, second]"]
        ),
        (
            "auth: {jwt: {issuer: a}}\n",
            [
                "gate.yaml:1: auth.jwt[0]: keys is missing: the name of a file with keys is expected, or keys_url"
            ]
        ),
        (
            "auth:\n  tickets: {lifetime: 10s}\n",
            [
                """
                gate.yaml:2: auth.tickets.lifetime: is of no use without auth.tickets.secret_file, which names the file with \
                the secret: there are no tickets
                """
            ]
        ),
        (
            "loops: '${LOOPS}'\n",
            [
                """
                gate.yaml:1: warning: loops: holds ${…}, and variables are not filled in: set LIVEGATE_LOOPS in the \
                environment instead
                """,
                "gate.yaml:1: loops: '${LOOPS}' is not a whole number from 0 to 1024",
            ]
        ),
        (
            "kafka:\n    brokers: x\n  topics: [y]\n",
            [
                """
                gate.yaml:3: kafka.topics: not YAML: did not find expected key: the line begins in column 3, and the keys \
                above it are kafka in column 1, brokers in column 5
                """
            ]
        ),
    ]

    @Test(arguments: rows.indices) func `what cannot work as it is written comes with what would`(row: Int) {
        let outcome = load(Self.rows[row].text)
        #expect(outcome.lines == Self.rows[row].lines)
        #expect(outcome.settings == nil)
    }
}
