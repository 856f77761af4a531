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
