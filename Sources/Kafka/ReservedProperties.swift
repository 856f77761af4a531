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
