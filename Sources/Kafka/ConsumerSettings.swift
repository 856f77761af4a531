/// What a consumer is made of.
package struct ConsumerSettings: Sendable {
    /// `host:port`, several by comma.
    package var brokers: String
    /// Read whole: every partition of each.
    package var topics: [String]
    /// Properties of librdkafka as the operator gave them. Those in `ReservedProperties` are refused.
    package var properties: [(String, String)]

    /// How far back reading begins; nil: at the end.
    package var retention: Duration?

    package init(
        brokers: String, topics: [String], properties: [(String, String)] = [], retention: Duration? = nil
    ) {
        self.retention = retention
        self.brokers = brokers
        self.topics = topics
        self.properties = properties
    }

    /// Each topic once, as ``PartitionName`` numbers them: in the order of their bytes, which is the same on every node.
    package var orderedTopics: [String] {
        var ordered: [String] = []
        for name in topics.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        where ordered.last?.utf8.elementsEqual(name.utf8) != true {
            ordered.append(name)
        }
        return ordered
    }

    /// Defaults that the operator may change, where librdkafka's own do not suit a gateway.
    ///
    /// The limits of the local queue stay as they are: 64 MiB (`queued.max.messages.kbytes`) and one fetch beyond it, for all
    /// partitions together. Low limits make 2.0.2 four times slower: a full queue delays a partition for a second.
    static let defaults: [(String, String)] = [
        ("client.id", "livegate"),
        // For a silent broker. The default, 60 s, would leave phones without updates for a minute. A broker answers an idle fetch
        // within fetch.wait.max.ms, 0.5 s.
        ("socket.timeout.ms", "10000"),
        ("socket.keepalive.enable", "true"),
        // With the default, 10 s, events would wait for that long after a broker is back.
        ("reconnect.backoff.max.ms", "1000"),
        ("socket.nagle.disable", "true"),
        // A record that was damaged in transit must not become another account's record.
        ("check.crcs", "true"),
    ]

    /// What `ReservedProperties` keeps. The group is never joined; librdkafka wants a name before it assigns anything.
    static let promises: [(String, String)] = [
        ("group.id", "livegate"),
        ("enable.auto.commit", "false"),
        ("enable.auto.offset.store", "false"),
        ("auto.offset.reset", "error"),
        ("isolation.level", "read_committed"),
        ("enable.partition.eof", "true"),
        ("allow.auto.create.topics", "false"),
    ]

    /// Everything librdkafka is given, the later ones winning.
    func allProperties() throws(KafkaError) -> [(String, String)] {
        for (name, _) in properties {
            if let reason = ReservedProperties.reason(against: name) {
                throw .settings(property: name, reason: "cannot be set: \(reason)")
            }
        }
        return Self.defaults + properties + Self.promises + [("bootstrap.servers", brokers)]
    }
}

/// The properties of librdkafka that the settings may not change, each with the promise that rests on it: one table.
package enum ReservedProperties {
    /// Why `name` is refused, or nil if it may be set.
    package static func reason(against name: String) -> String? {
        reasons.first { $0.name == name }?.reason
    }

    private static let brokers = "is set by kafka.brokers"
    private static let noGroup = "every node reads every partition by itself, without a consumer group"
    private static let noCommit = "nothing is ever committed: positions belong to the cursors of clients"

    package static let reasons: [(name: String, reason: String)] = [
        ("bootstrap.servers", brokers),
        ("metadata.broker.list", brokers),
        ("group.id", noGroup),
        ("group.instance.id", noGroup),
        ("group.protocol", noGroup),
        ("group.remote.assignor", noGroup),
        ("partition.assignment.strategy", noGroup),
        ("enable.auto.commit", noCommit),
        ("auto.commit.enable", noCommit),
        ("auto.commit.interval.ms", noCommit),
        ("enable.auto.offset.store", noCommit),
        ("offset.store.method", noCommit),
        ("offset.store.path", noCommit),
        ("offset.store.sync.interval.ms", noCommit),
        ("auto.offset.reset", "a lost position must be noticed, not skipped silently"),
        ("isolation.level", "records of aborted transactions must never reach a client"),
        ("enable.partition.eof", "readiness is known by reaching the end of each partition"),
        ("allow.auto.create.topics", "the gateway never makes a topic"),
        ("topic.blacklist", "it would hide topics that kafka.topics names"),
        ("log.queue", "the library's lines go through the gateway's own log"),
        ("plugin.library.paths", "it would load foreign code into the process"),
        ("test.mock.num.brokers", "it would replace the brokers by an embedded one"),
        ("test.mock.broker.rtt", "it would replace the brokers by an embedded one"),
    ]
}
