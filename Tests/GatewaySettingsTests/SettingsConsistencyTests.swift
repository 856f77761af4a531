import GatewaySettings
import Testing

/// Settings that are right by themselves and wrong together.
struct SettingsConsistencyTests {
    @Test func `the log has to reach further back than time stamps may lag`() {
        let delay = "history.max_timestamp_delay"
        let rows: [(text: String, lines: [String])] = [
            ("history: {retention: 3600001ms}", []),
            (
                "history: {retention: 60m}",
                ["gate.yaml:1: history.retention: must be longer than \(delay), 1h: '1h' is not"]
            ),
            (
                "history: {max_timestamp_delay: 24h}",
                ["gate.yaml:1: \(delay): must be shorter than history.retention, 1d: '1d' is not"]
            ),
            ("history: {max_timestamp_delay: 86399999ms}", []),
            (
                "history: {retention: 1, max_timestamp_delay: 30d}",
                [
                    """
                    gate.yaml:1: history.retention: '1' is not a duration from 1s to 365d (as 250ms, 30s, 5m, 24h, 7d)
                    """
                ]
            ),
        ]
        for (text, lines) in rows { #expect(load(text).lines == lines) }
    }

    @Test func `an administration that others reach needs a token`() {
        let rows: [(String, Bool)] = [
            ("127.0.0.1:9080", false), ("127.255.0.1:9080", false), ("'[::1]:9080'", false), ("unix:/a", false),
            ("128.0.0.1:9080", true), ("126.255.255.255:9080", true), ("0.0.0.0:9080", true), ("':9080'", true),
            ("'[::]:9080'", true), ("'[::2]:9080'", true), ("'[1::1]:9080'", true),
        ]
        for (address, isRefused) in rows {
            #expect((load("admin: \(address)\n").settings == nil) == isRefused, "\(address)")
            #expect(load("admin: \(address)\nadmin_token_file: token\n").settings != nil, "\(address)")
        }
    }

    @Test func `two listeners on one address are refused`() {
        let rows: [(String, String, Bool)] = [
            ("127.0.0.1:8080", "127.0.0.1:8080", true), ("127.0.0.1:8080", "127.0.0.1:8081", false),
            ("127.0.0.1:8080", "127.0.0.2:8080", false), (":8080", "127.0.0.1:8080", true),
            ("127.0.0.1:8080", ":8080", true), (":8080", "'[::]:8080'", true), (":8080", "'[::1]:8080'", true),
            ("0.0.0.0:8080", "127.0.0.1:8080", true), ("'[::]:8080'", "'[::1]:8080'", true),
            ("'[::]:8080'", "127.0.0.1:8080", false), ("'[::]:8080'", "0.0.0.0:8080", false), (":0", ":0", false),
            ("127.0.0.1:0", "127.0.0.1:0", false), ("unix:/a", "unix:/a", true), ("unix:/a", "unix:/b", false),
            ("unix:/a", ":8080", false), ("'[::1]:8080'", "'[0:0::1]:8080'", true),
        ]
        for (first, second, isRefused) in rows {
            let outcome = load("listen:\n  - \(first)\n  - \(second)\n")
            #expect((outcome.settings == nil) == isRefused, "\(first) \(second)")
            if isRefused { #expect(outcome.lines.first?.hasPrefix("gate.yaml:3: listen[1]: ") == true) }
        }
        #expect(
            load("listen: [':9080']").lines.first?.contains("127.0.0.1:9080 is the address of listen[0], :9080, too")
                == true)
    }
}
