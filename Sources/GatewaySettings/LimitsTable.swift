package struct HistoryTable: SettingTable {
    package let retention = Setting(
        "history.retention", .duration(milliseconds: 1_000...31_536_000_000), default: "24h",
        """
        How far back clients can resume, by the records' time stamps. Must be longer than max_timestamp_delay. At start the \
        node reads this much of each partition before it is ready.
        """)
    package let maximumEventsPerAccount = Setting(
        "history.max_events_per_account", .integer(1...1_000_000), default: "1000",
        "Events of an account that are kept to resume from. A client that is further behind gets a resync.")
    package let maximumLogBytes = Setting(
        "history.max_log_bytes", .size(4096...1_099_511_627_776), default: "256MiB",
        "Bytes of the events kept of all accounts. Above it, events of the accounts idle for longest are removed first."
    )
    package let maximumTimestampDelay = Setting(
        "history.max_timestamp_delay", .duration(milliseconds: 1...31_536_000_000), default: "1h",
        """
        How far the time stamp of a record may lag behind those of the records before it. A longer lag can cost a client \
        an event that it missed.
        """)
    package let epoch = Setting(
        "history.epoch", .integer(0...4_294_967_295), default: "1",
        "A changed number makes all cursors invalid: every client resyncs. Must be the same on every node.")

    package init() {}
}

package struct LimitsTable: SettingTable {
    package static let effect: SettingEffect? = .atOnce

    package let maximumConnections = Setting(
        "limits.max_connections", .integer(0...10_000_000), default: "0",
        """
        WebSockets, event streams and waiting /sync/v1 of the node. More are refused with 503. 0: as many as descriptors \
        allow (ulimit -n), less those that the node has open when it is ready, 128 that are reserved for it, and a 32nd of the \
        rest for clients that connect and disconnect.
        """)
    package let maximumConnectionsPerAccount = Setting(
        "limits.max_connections_per_account", .integer(0...10_000_000), default: "0",
        "The same for one account. More are refused with 429. 0: no limit.")
    package let maximumConnectionsPerSubject = Setting(
        "limits.max_connections_per_subject", .integer(0...10_000_000), default: "100",
        """
        The same for one user, by account and sub of the token; a token without sub is not counted. More are refused with 429. \
        0: no limit.
        """)
    package let maximumConnectionsPerAddress = Setting(
        "limits.max_connections_per_address", .integer(0...10_000_000), default: "0",
        """
        Connections from one address, IPv6 by /64: each until its first answer, then as a stream or a wait. More are refused \
        with 429; before TLS they are closed without an answer. Whole offices and mobile networks share one address. 0: no \
        limit.
        """)
    package let maximumHandshakesPerSecond = Setting(
        "limits.max_handshakes_per_second", .integer(0...1_000_000), default: "0",
        """
        First requests of connections that the node accepts in a second, with bursts of up to as many. More are refused with \
        503; before TLS they are closed without an answer. 0: no limit.
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
        "Bytes of a message from a client. More closes the connection with 1009.")
    package let maximumFragments = Setting(
        "limits.max_fragments", .integer(1...1_000_000), default: "512",
        "Fragments of a message from a client, empty ones counted. More closes the connection with 1008.")
    package let maximumControlFramesPerSecond = Setting(
        "limits.max_control_frames_per_second", .integer(1...1_000_000), default: "100",
        "Control frames of a client in a second. More closes the connection with 1008.")
    package let maximumMessagesPerSecond = Setting(
        "limits.max_messages_per_second", .integer(1...1_000_000), default: "100",
        "Frames of a client's messages in a second, fragments counted one by one. More closes the connection with 4429."
    )
    package let maximumInboundBytesPerSecond = Setting(
        "limits.max_inbound_bytes_per_second", .size(1...1_073_741_824), default: "64KiB",
        "Bytes of a client's frames in a second, headers and control frames included. More closes the connection with 4429."
    )
    package let maximumRequestsPerConnection = Setting(
        "limits.max_requests_per_connection", .integer(1...1_000_000_000), default: "1000",
        "Requests that a connection may make, one after the other. The answer to the last one ends it.")
    package let maximumConnectionAge = Setting(
        "limits.max_connection_age", .durationOrNone(milliseconds: 1_000...31_536_000_000), default: "0",
        """
        How long a connection may last, times a random factor from 0.9 to 1.1. Then it is closed with 1012, and the client \
        reconnects, possibly to another node. 0: no limit.
        """)
    package let maximumPendingBytes = Setting(
        "limits.max_pending_bytes", .size(1024...1_073_741_824), default: "64KiB",
        """
        Bytes handed to a client's socket before it has accepted any of them. Above it the client is behind, and continues \
        from its account's log once they are sent.
        """)
    package let maximumLag = Setting(
        "limits.max_lag", .duration(milliseconds: 10...3_600_000), default: "30s",
        "How long a client that does not read fast enough may stay behind. Longer closes the connection with 4409.")
    package let pingInterval = Setting(
        "limits.ping_interval", .duration(milliseconds: 10...3_600_000), default: "25s",
        "About how often a client is pinged. Event streams get a comment line instead.")
    package let pongTimeout = Setting(
        "limits.pong_timeout", .duration(milliseconds: 10...3_600_000), default: "10s",
        "The longest wait for a pong. Longer closes the connection with 4408.")
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
