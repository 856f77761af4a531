package struct HistoryTable: SettingTable {
    package let retention = Setting(
        "history.retention", .duration(milliseconds: 1_000...31_536_000_000), default: "24h",
        """
        How far back clients can resume, by the records' time stamps. Longer than max_timestamp_delay. A start reads that \
        much of each partition before the node is ready.
        """)
    package let maximumEventsPerAccount = Setting(
        "history.max_events_per_account", .integer(1...1_000_000), default: "1000",
        "Events of an account that are kept to resume from. Who is further behind is told to resync.")
    package let maximumLogBytes = Setting(
        "history.max_log_bytes", .size(4096...1_099_511_627_776), default: "256MiB",
        "Bytes of the events kept of all accounts. Over it, the accounts give way first that were idle longest.")
    package let maximumTimestampDelay = Setting(
        "history.max_timestamp_delay", .duration(milliseconds: 1...31_536_000_000), default: "1h",
        """
        How far the time stamp of a record may lag behind those of the records before it. A longer lag can cost a client \
        an event that it missed.
        """)
    package let epoch = Setting(
        "history.epoch", .integer(0...4_294_967_295), default: "1",
        "Another number makes all cursors worthless: every client resyncs. The same on every node.")

    package init() {}
}

package struct LimitsTable: SettingTable {
    package static let effect: SettingEffect? = .atOnce

    package let maximumConnections = Setting(
        "limits.max_connections", .integer(0...10_000_000), default: "0",
        """
        WebSockets, event streams and waiting /sync/v1 of the node. More are refused with 503. 0: as many as descriptors \
        allow (ulimit -n), without those that the node has open when it is ready, 128 that are kept for it, and a 32nd of the \
        rest for those who come and go.
        """)
    package let maximumConnectionsPerAccount = Setting(
        "limits.max_connections_per_account", .integer(0...10_000_000), default: "0",
        "The same of one account. More are refused with 429. 0: no limit.")
    package let maximumConnectionsPerSubject = Setting(
        "limits.max_connections_per_subject", .integer(0...10_000_000), default: "100",
        """
        The same of one user, by account and sub of the token; who has no sub is not counted. More are refused with 429. \
        0: no limit.
        """)
    package let maximumConnectionsPerAddress = Setting(
        "limits.max_connections_per_address", .integer(0...10_000_000), default: "0",
        """
        Connections from one address, IPv6 by /64: each until its first answer, then as a stream or a wait. More are \
        refused with 429, before TLS closed without an answer. Whole offices and mobile networks share one address. 0: no limit.
        """)
    package let maximumHandshakesPerSecond = Setting(
        "limits.max_handshakes_per_second", .integer(0...1_000_000), default: "0",
        """
        First requests of connections that the node takes in a second, a second's worth at once. More are refused with \
        503, before TLS closed without an answer. 0: no limit.
        """)
    package let maximumHeaderBytes = Setting(
        "limits.max_header_bytes", .size(1024...1_048_576), default: "16KiB",
        "Bytes of a request's head. More is refused with 431.")
    package let maximumHeaders = Setting(
        "limits.max_headers", .integer(1...1000), default: "100",
        "Header lines of a request. More is refused with 431.")
    package let handshakeTimeout = Setting(
        "limits.handshake_timeout", .duration(milliseconds: 10...600_000), default: "10s",
        "From the first byte of a connection to the end of its request, TLS included.")
    package let maximumMessageBytes = Setting(
        "limits.max_message_bytes", .size(1...67_108_864), default: "4KiB",
        "Bytes of a message from a client. More is a close with 1009.")
    package let maximumFragments = Setting(
        "limits.max_fragments", .integer(1...1_000_000), default: "512",
        "Fragments of a message from a client, empty ones counted. More is a close with 1008.")
    package let maximumControlFramesPerSecond = Setting(
        "limits.max_control_frames_per_second", .integer(1...1_000_000), default: "100",
        "Control frames of a client in a second. More is a close with 1008.")
    package let maximumMessagesPerSecond = Setting(
        "limits.max_messages_per_second", .integer(1...1_000_000), default: "100",
        "Frames of a client's messages in a second, fragments counted one by one. More is a close with 4429.")
    package let maximumInboundBytesPerSecond = Setting(
        "limits.max_inbound_bytes_per_second", .size(1...1_073_741_824), default: "64KiB",
        "Bytes of a client's frames in a second, headers and control frames with them. More is a close with 4429.")
    package let maximumRequestsPerConnection = Setting(
        "limits.max_requests_per_connection", .integer(1...1_000_000_000), default: "1000",
        "Requests that a connection may make, one after the other. The answer to the last one ends it.")
    package let maximumConnectionAge = Setting(
        "limits.max_connection_age", .durationOrNone(milliseconds: 1_000...31_536_000_000), default: "0",
        """
        How long a connection may last, from 0.9 to 1.1 of it at random: then it is closed with 1012 and comes back, to \
        another node perhaps. 0: as long as it likes.
        """)
    package let maximumPendingBytes = Setting(
        "limits.max_pending_bytes", .size(1024...1_073_741_824), default: "64KiB",
        """
        Bytes handed to a client's socket before it has taken any of them. Beyond, the client is behind, and goes on from \
        its account's log once they have left.
        """)
    package let maximumLag = Setting(
        "limits.max_lag", .duration(milliseconds: 10...3_600_000), default: "30s",
        "How long a client that does not read fast enough may stay behind. Longer is a close with 4409.")
    package let pingInterval = Setting(
        "limits.ping_interval", .duration(milliseconds: 10...3_600_000), default: "25s",
        "How often a client is pinged, give or take a little. Event streams get a comment line instead.")
    package let pongTimeout = Setting(
        "limits.pong_timeout", .duration(milliseconds: 10...3_600_000), default: "10s",
        "How long a pong may take. Longer is a close with 4408.")
    package let maximumWait = Setting(
        "limits.max_wait", .duration(milliseconds: 10...3_600_000), default: "55s",
        "The longest wait of /sync/v1. Keep it below the time after which proxies give up.")
    package let maximumSyncEvents = Setting(
        "limits.max_sync_events", .integer(1...10_000), default: "500", "Events in one answer of /sync/v1.")
    package let changedInterval = Setting(
        "limits.changed_interval", .duration(milliseconds: 10...3_600_000), default: "1s",
        "With mode=changed, the least time between two messages to a client.")

    package init() {}
}
