import KafkaLogs

/// One thing of which the operator is notified: a constant sentence and its facts.
///
/// The same cause may come many times a second. The caller shows at most one line in 10 s for each `key`, and needs no
/// limit for `.debug`.
package struct KafkaNotice: Sendable, Equatable {
    package enum Level: Int, Sendable, Comparable {
        case debug, info, notice, warning, error

        package static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    /// The names of facts, so that the log's keys are known in advance.
    package enum Fact: String, Sendable, CaseIterable {
        case broker, topic, partition, offset, position, setting, reason, facility, count
    }

    package var cause: KafkaCause
    /// In the order in which a line shows them.
    package var facts: [(name: Fact, value: String)]
    /// Overrides the level of the cause; only the library's own lines use it.
    var ownLevel: Level?

    init(_ cause: KafkaCause, _ facts: [(name: Fact, value: String)] = [], level: Level? = nil) {
        self.cause = cause
        self.facts = facts
        self.ownLevel = level
    }

    package var level: Level { ownLevel ?? cause.level }
    package var sentence: StaticString { cause.sentence }

    /// The key of the rate limit: the cause, and the broker or topic that it concerns.
    package var key: String {
        let subject = facts.first { $0.name == .broker || $0.name == .topic || $0.name == .facility }
        return subject.map { "kafka.\(cause.rawValue) \($0.value)" } ?? "kafka.\(cause.rawValue)"
    }

    /// The outage whose start the notice reports: of all brokers, or of a topic, by its name. Nil for all other causes.
    package var begunOutage: String? {
        switch cause {
        case .topicMissing, .topicGone, .topicForbidden, .topicUnreadable: self[.topic]
        default: cause.isConnectionTrouble ? Self.brokers : nil
        }
    }

    /// The outage whose end the notice reports.
    package var endedOutage: String? {
        switch cause {
        case .recovered: Self.brokers
        case .topicFound: self[.topic]
        default: nil
        }
    }

    /// No topic has an empty name.
    private static let brokers = ""

    package subscript(_ name: Fact) -> String? {
        facts.first { $0.name == name }?.value
    }

    package static func == (a: KafkaNotice, b: KafkaNotice) -> Bool {
        a.cause == b.cause && a.level == b.level && a.facts.count == b.facts.count
            && zip(a.facts, b.facts).allSatisfy { $0.name == $1.name && $0.value == $1.value }
    }
}

extension KafkaNotice: CustomStringConvertible {
    package var description: String {
        facts.reduce("\(level): \(sentence)") { $0 + " \($1.name.rawValue)=\($1.value)" }
    }
}

extension KafkaNotice {
    init(_ notice: LogNotice) {
        switch notice {
        case .topicMissing(let topic): self.init(.topicMissing, [(.topic, topic)])
        case .topicForbidden(let topic): self.init(.topicForbidden, [(.topic, topic)])
        case .topicUnreadable(let topic): self.init(.topicUnreadable, [(.topic, topic)])
        case .topicGone(let topic): self.init(.topicGone, [(.topic, topic)])
        case .topicFound(let topic, let count): self.init(.topicFound, [(.topic, topic), (.count, String(count))])
        case .topicRecreated(let topic): self.init(.topicRecreated, [(.topic, topic)])
        case .partitionsAdded(let topic, let count):
            self.init(.partitionsAdded, [(.topic, topic), (.count, String(count))])
        case .partitionWithoutLeader(let topic, let number):
            self.init(.partitionWithoutLeader, [(.topic, topic), (.partition, String(number))])
        case .positionOutOfRange(let topic, let number, let offset):
            self.init(
                .positionOutOfRange, [(.topic, topic), (.partition, String(number)), (.offset, String(offset))])
        case .batchUnreadable(let topic, let number, let offset):
            self.init(.batchUnreadable, [(.topic, topic), (.partition, String(number)), (.offset, String(offset))])
        case .recordRepeated(let topic, let number, let offset, let position):
            self.init(.recordRepeated, Self.below(topic, number, offset, position))
        case .recordsPassedOver(let topic, let number, let offset, let position):
            self.init(.recordsPassedOver, Self.below(topic, number, offset, position))
        case .partitionTrouble(let topic, let number, let reason):
            self.init(
                .partitionTrouble, [(.topic, topic), (.partition, String(number)), (.reason, reason)])
        case .metadataTrouble(let reason): self.init(.library, [(.facility, "metadata"), (.reason, reason)])
        case .brokersDisagree: self.init(.brokersDisagree)
        }
    }

    private static func below(
        _ topic: String, _ number: Int32, _ offset: Int64, _ position: Int64
    ) -> [(name: Fact, value: String)] {
        [(.topic, topic), (.partition, String(number)), (.offset, String(offset)), (.position, String(position))]
    }
}
