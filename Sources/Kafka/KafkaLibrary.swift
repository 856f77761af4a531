import CRdKafka

/// The librdkafka that this process runs with, which need not be the one it was built against.
package enum KafkaLibrary {
    /// For people: `2.0.2`.
    package static var version: String {
        unsafe String(cString: rd_kafka_version_str())
    }

    /// For comparison: `0xMMmmrrpp`, major, minor, revision and pre-release (`ff` is a release).
    package static var versionNumber: Int32 { rd_kafka_version() }

    /// Whether it reports topic ids: from 2.3.0 on. Found in the library at run time, so that the same program runs with each.
    package static let canAskTopicIDs = crdkafka_can_describe_topics() != 0

    /// The first release whose SCRAM logins Apache Kafka 4 accepts.
    ///
    /// Earlier ones repeat the client's nonce, which Kafka 3 let pass (librdkafka pull request 4895).
    static let firstVersionWithStrictSCRAM: Int32 = 0x0206_01ff

    /// Whether SASL SCRAM with these settings works with Kafka 3 alone: a warning of `check` and of the start.
    package static func warnsAboutSCRAM(_ properties: [(String, String)]) -> Bool {
        warnsAboutSCRAM(properties, version: versionNumber)
    }

    static func warnsAboutSCRAM(_ properties: [(String, String)], version: Int32) -> Bool {
        guard version < firstVersionWithStrictSCRAM else { return false }
        return properties.contains { name, value in
            (name == "sasl.mechanism" || name == "sasl.mechanisms") && value.uppercased().hasPrefix("SCRAM-")
        }
    }
}

extension rd_kafka_resp_err_t {
    /// Whether librdkafka could not make records of what the broker sent. All other errors of a partition come from the broker or
    /// from the connection to it, and librdkafka requests the same records again.
    var isUnreadableBatch: Bool {
        switch self {
        case RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE,
            RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, RD_KAFKA_RESP_ERR__RESOLVE, RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED,
            RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, RD_KAFKA_RESP_ERR__FATAL,
            RD_KAFKA_RESP_ERR__DESTROY:
            false
        // The broker's word for what it has no other for.
        case RD_KAFKA_RESP_ERR_UNKNOWN: false
        case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE: true
        default: rawValue < 0
        }
    }
}

/// Why a client could not be made or a request not be carried out.
package enum KafkaError: Error, Equatable {
    /// librdkafka refuses a property or a combination of them.
    case settings(property: String, reason: String)
    /// librdkafka cannot make a client; mostly a file that cannot be read or properties that do not fit together.
    case client(reason: String)
    /// A request failed; `code` is librdkafka's name of the error, such as `_TIMED_OUT`.
    case request(what: String, code: String, reason: String)
}

extension KafkaError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .settings(let property, let reason):
            "kafka.settings: \(property): \(reason)"
        case .client(let reason):
            "kafka: no client with these settings: \(reason)"
        case .request(let what, let code, let reason):
            "kafka: \(what) failed: \(reason) (\(code))"
        }
    }
}
