// Tests: IssuerSettings.swift, SettingsProblem.swift

import GatewaySettings
import Testing

@Suite struct SettingsRefusalTests {
    static let rows: [(text: String, lines: [String])] = [
        ("lisen: []\n", ["gate.yaml:1: lisen: no such key: did you mean 'listen'?"]),
        (
            "kafka:\n  broker: x\n  topic: y\n",
            [
                "gate.yaml:2: kafka.broker: no such key: did you mean 'brokers'?",
                "gate.yaml:3: kafka.topic: no such key: did you mean 'topics'?",
            ]
        ),
        ("brokers: x\n", ["gate.yaml:1: brokers: no such key: did you mean 'kafka.brokers'?"]),
        ("log:\n  max_headers: 5\n", ["gate.yaml:2: log.max_headers: no such key: did you mean 'limits.max_headers'?"]),
        ("loops: 1\nloops: 2\n", ["gate.yaml:2: loops: duplicate key, first in line 1"]),
        ("loops: '1'\n", ["gate.yaml:1: loops: '1' is not a whole number from 0 to 1024"]),
        ("loops: 1025\n", ["gate.yaml:1: loops: '1025' is not a whole number from 0 to 1024"]),
        ("loops: -1\n", ["gate.yaml:1: loops: '-1' is not a whole number from 0 to 1024"]),
        ("loops:\n", ["gate.yaml:1: loops: has no value: a whole number from 0 to 1024 is expected"]),
        ("loops: [1]\n", ["gate.yaml:1: loops: is a list: a whole number from 0 to 1024 is expected"]),
        (
            "limits: 5\n",
            [
                """
                gate.yaml:1: limits: is not a map: a map with max_connections, max_connections_per_account, \
                max_connections_per_subject, max_connections_per_address, max_handshakes_per_second, max_header_bytes, \
                max_headers, handshake_timeout, max_message_bytes, max_fragments, max_control_frames_per_second, max_messages_per_second, \
                max_inbound_bytes_per_second, max_requests_per_connection, max_connection_age, max_pending_bytes, \
                max_lag, ping_interval, pong_timeout, max_wait, max_sync_events, changed_interval is expected
                """
            ]
        ),
        (
            "auth: {origins: ['https://App.example.com', 'https://a', 'https://a/', 'http://[0:0::1]', 5]}\n",
            [
                """
                gate.yaml:1: auth.origins[0]: 'https://App.example.com' has capital letters: browsers send an origin in \
                lower case
                """,
                """
                gate.yaml:1: auth.origins[2]: 'https://a/' has a slash behind the host: an origin has no path and no slash \
                at its end
                """,
                """
                gate.yaml:1: auth.origins[3]: 'http://[0:0::1]' has a host that no browser sends: a name, an IPv4 address \
                or an IPv6 address in brackets is expected
                """,
                "gate.yaml:1: auth.origins[4]: '5' is not text: put it into quotes",
            ]
        ),
        (
            "auth: {cookie: 'a b', origins: ['http://[::1]:8']}\n",
            ["gate.yaml:1: auth.cookie: 'a b' is not the name of a cookie: letters, digits, - and _ are expected"]
        ),
        (
            "auth: {cookie: session}\n",
            [
                """
                gate.yaml:1: auth.cookie: needs auth.origins: without it any page could connect with its visitors' cookies
                """
            ]
        ),
        ("- listen\n", ["gate.yaml:1: is a list: a map of settings is expected"]),
        (
            "admin: ':9080'\n",
            [
                """
                gate.yaml:1: admin: :9080 can be reached from other machines: set admin_token_file, or an address on loopback \
                or a Unix socket
                """
            ]
        ),
        (
            "admin_hosts: ['Gate.internal']\n",
            [
                """
                gate.yaml:1: admin_hosts[0]: 'Gate.internal' is not the name of a host, in lower case and without a port
                """
            ]
        ),
        ("listen: []\n", ["gate.yaml:1: listen: is empty: a list of addresses is expected"]),
        (
            "kafka: {brokers: [a, b]}\n",
            [
                "gate.yaml:1: kafka.brokers: is a list: one text with brokers, HOST:PORT, several by comma is expected"
            ]
        ),
        (
            "kafka: {brokers: 'a,,b'}\n",
            [
                "gate.yaml:1: kafka.brokers: 'a,,b' names no broker between two commas or at its end"
            ]
        ),
        (
            "kafka: {brokers: 'a:0'}\n",
            [
                "gate.yaml:1: kafka.brokers: 'a:0' has a port that is not a number from 1 to 65535"
            ]
        ),
        ("kafka: {topics: [a, 5, a]}\n", ["gate.yaml:1: kafka.topics[1]: '5' is not text: put it into quotes"]),
        ("kafka:\n  topics:\n    - a\n    - a\n", ["gate.yaml:4: kafka.topics[1]: duplicate topic 'a'"]),
        (
            "kafka: {topics: ['^a']}\n",
            [
                """
                gate.yaml:1: kafka.topics[0]: '^a' is not the name of a topic: 1 to 249 letters, digits, '.', '_' and '-' are \
                expected
                """
            ]
        ),
        ("websocket: {deflate: yes}\n", ["gate.yaml:1: websocket.deflate: 'yes' is not true or false"]),
        ("websocket: {deflate: 'true'}\n", ["gate.yaml:1: websocket.deflate: 'true' is not true or false"]),
        (
            "log: {level: warn}\n",
            [
                """
                gate.yaml:1: log.level: 'warn' is not one of trace, debug, info, notice, warning, error, critical: did you mean \
                'warning'?
                """
            ]
        ),
        (
            "limits: {max_message_bytes: 4KB}\n",
            [
                """
                gate.yaml:1: limits.max_message_bytes: '4KB' is not a size from 1 to 64MiB (bytes, or with KiB, MiB, GiB)
                """
            ]
        ),
        (
            "limits: {handshake_timeout: 10}\n",
            [
                """
                gate.yaml:1: limits.handshake_timeout: '10' is not a duration from 10ms to 10m (as 250ms, 30s, 5m, 24h, 7d)
                """
            ]
        ),
        (
            "kafka: {broker_grace: ever}\n",
            [
                """
                gate.yaml:1: kafka.broker_grace: 'ever' is not a duration from 1ms to 7d (as 250ms, 30s, 5m, 24h, 7d)
                """
            ]
        ),
        (
            "limits: {max_connection_age: 999ms}\n",
            [
                """
                gate.yaml:1: limits.max_connection_age: '999ms' is not a duration from 1s to 365d \
                (as 250ms, 30s, 5m, 24h, 7d)
                """
            ]
        ),
        (
            "limits: {max_lag: never}\n",
            ["gate.yaml:1: limits.max_lag: 'never' is not a duration from 10ms to 1h (as 250ms, 30s, 5m, 24h, 7d)"]
        ),
        (
            "history:\n  max_timestamp_delay: 2h\n  retention: 2h\n",
            [
                "gate.yaml:3: history.retention: must be longer than history.max_timestamp_delay, 2h: '2h' is not"
            ]
        ),
        ("history: {epoch: -1}\n", ["gate.yaml:1: history.epoch: '-1' is not a whole number from 0 to 4294967295"]),
        ("tls: {certificate: a.pem}\n", ["gate.yaml:1: tls.key: is missing: a certificate needs its key"]),
        ("tls: {key: a.pem}\n", ["gate.yaml:1: tls.certificate: is missing: a key needs its certificate"]),
        (
            "events:\n  preset: rial\n",
            [
                """
                gate.yaml:2: events.preset: 'rial' is not one of rails, pagerduty-webhook-v3, debezium, debezium-flat, \
                debezium-outbox, cloudevents: did you mean 'rails'?
                """
            ]
        ),
        (
            "auth:\n  jwt:\n    - {issuer: a, keys: k}\n    - {issuer: a, keys: k}\n",
            [
                "gate.yaml:4: auth.jwt[1].issuer: duplicate issuer 'a': put its keys into one file"
            ]
        ),
        (
            "auth:\n  jwt:\n    - isuer: a\n      keys: [k]\n",
            [
                "gate.yaml:3: auth.jwt[0].isuer: no such key: did you mean 'issuer'?",
                "gate.yaml:4: auth.jwt[0].keys: is a list: the name of a file is expected",
            ]
        ),
        (
            "auth: {jwt: [{issuer: a}]}\n",
            [
                "gate.yaml:1: auth.jwt[0]: keys is missing: the name of a file with keys is expected, or keys_url"
            ]
        ),
        (
            "auth: {jwt: [{issuer: a, keys: k, keys_url: 'https://a/k'}, {issuer: b, keys: k, keys_ca: c}]}\n",
            [
                "gate.yaml:1: auth.jwt[0]: keys_url is one too many: the keys are in a file already",
                "gate.yaml:1: auth.jwt[1]: keys_ca is of no use: nothing is fetched without keys_url",
            ]
        ),
        (
            "auth: {jwt: [{issuer: a, keys_url: 'http://id.example.com/k'}]}\n",
            [
                """
                gate.yaml:1: auth.jwt[0].keys_url: is http: only https is asked, and http on this machine (localhost, \
                127.0.0.1, [::1])
                """
            ]
        ),
        (
            "auth: {jwt: [{issuer: a, keys_url: 'https://a/k', keys_refresh: 1h, keys_max_age: 1h}]}\n",
            ["gate.yaml:1: auth.jwt[0]: keys_max_age is too short: it must be longer than keys_refresh"]
        ),
        (
            "auth: {jwt: [{issuer: a, keys: k, algorithms: [none]}]}\n",
            [
                """
                gate.yaml:1: auth.jwt[0].algorithms[0]: 'none' is not one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, \
                ES384, ES512, HS256, HS384, HS512: did you mean 'RS256'?
                """
            ]
        ),
        (
            "auth: {introspection: {url: 'http://id.example.com/i', cache: 0s, timeout: 2}}\n",
            [
                """
                gate.yaml:1: auth.introspection.url: is http: only https is asked, and http on this machine (localhost, \
                127.0.0.1, [::1])
                """,
                """
                gate.yaml:1: auth.introspection.cache: '0s' is not a duration from 1s to 1d (as 250ms, 30s, 5m, 24h, 7d)
                """,
                """
                gate.yaml:1: auth.introspection.timeout: '2' is not a duration from 10ms to 1m (as 250ms, 30s, 5m, 24h, 7d)
                """,
            ]
        ),
        (
            "auth: {anonymous: \"a\\nb\"}\n",
            [
                "gate.yaml:1: auth.anonymous: is not an account of at most 255 bytes without control characters"
            ]
        ),
        (
            "a: &x 1\n",
            [
                "gate.yaml:1: a: an anchor (&): anchors and aliases are not read, write it out",
                "gate.yaml:1: a: no such key: did you mean 'tls'?",
            ]
        ),
        ("log:\n\tlevel: info\n", ["gate.yaml:2: log.level: a tab as indentation: YAML allows only spaces"]),
    ]

    @Test(arguments: rows.indices) func `a wrong setting is told with file, line, key and what would be right`(row: Int)
    {
        let outcome = load(Self.rows[row].text)
        #expect(outcome.lines == Self.rows[row].lines)
        #expect(outcome.settings == nil)
    }

    @Test func `every problem is told, and none hides another`() {
        let outcome = load(
            """
            listen: [nowhere]
            lops: 1
            kafka: {topics: []}
            events: {account: nowhere, id: [/a, nowhere], rename: {a: ''}}
            limits: {max_headers: 0, max_fragments: none}
            """, [("LIVEGATE_LOOPS", "many"), ("LIVEGATE_AUTH_JWT", "[")], [("log-level", ["loud"])])
        #expect(
            outcome.problems.map(\.key) == [
                "listen[0]", "lops", "kafka.topics", "events.account", "events.id", "events.rename.a",
                "limits.max_headers", "limits.max_fragments", "auth.jwt", "loops", "log.level",
            ])
    }

    @Test func `variables and flags are named where they are wrong`() {
        let outcome = load("", [("LIVEGATE_LOOPS", "x"), ("LIVEGATE_EVENTS_RENAME", "{a: 1}")], [("admin", ["x"])])
        #expect(
            outcome.lines == [
                "LIVEGATE_LOOPS: loops: 'x' is not a whole number from 0 to 1024",
                "LIVEGATE_EVENTS_RENAME: events.rename.a: '1' is not text: put it into quotes",
                """
                --admin: admin: 'x' is not an address (127.0.0.1:8080, [::1]:8080, :8080 or unix:/path): ADDRESS:PORT, \
                :PORT or unix:PATH is expected
                """,
            ])
    }

    @Test func `a variable that means nothing is a warning`() {
        let outcome = load("", [("LIVEGATE_KAFKA_BROKER", "x"), ("LIVEGATE_", "x"), ("OTHER", "x")])
        #expect(
            outcome.lines == [
                "LIVEGATE_KAFKA_BROKER: warning: means nothing: did you mean LIVEGATE_KAFKA_BROKERS?",
                "LIVEGATE_: warning: means nothing: did you mean LIVEGATE_TLS?",
            ])
        #expect(outcome.settings != nil)
    }

    @Test(arguments: [("", false, false), ("true", true, true), ("false", false, true), ("1", false, false)])
    func `memory may be dumped where the variable says true alone`(_ value: String, _ isAllowed: Bool, _ isKnown: Bool)
    {
        #expect(SettingsEnvironment([(name: "LIVEGATE_ALLOW_DUMPS", value: value)]).allowsDumps == isAllowed)
        let why = "is neither true nor false: memory is neither dumped nor read by others"
        #expect(
            load("", [("LIVEGATE_ALLOW_DUMPS", value)]).lines
                == (isKnown ? [] : ["LIVEGATE_ALLOW_DUMPS: warning: \(why)"]))
        #expect(!SettingsEnvironment([]).allowsDumps)
    }

    @Test func `the value of a property of librdkafka stands in no problem`() {
        let outcome = load("kafka: {settings: {sasl.password: {geheim: geheim}}}")
        #expect(outcome.settings == nil && !outcome.lines.joined().contains("geheim"))
    }

    @Test func `control characters of a file cannot forge a line`() {
        let outcome = load("\"a\\nb\\e[31m\": 1\n")
        #expect(outcome.lines == ["gate.yaml:1: a\\nb\\u{1b}[31m: no such key: did you mean 'admin'?"])
    }
}
