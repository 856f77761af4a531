import Kafka
import Reactor

/// Why a gateway does not start, or stops by itself.
package enum GatewayError: Error, Sendable, CustomStringConvertible {
    /// An address to listen on is in use, or not ours.
    case listen(ReactorError)
    /// librdkafka refuses its settings.
    case kafka(KafkaError)
    /// librdkafka reports an error that it cannot survive.
    case kafkaFatal(String)
    /// A value in the settings cannot be used after all: for instance a file that was removed between `check` and the start.
    case settings(String)
    /// The operating system refuses what every process needs.
    case system(ReactorError)

    package var description: String {
        switch self {
        case .listen(let error), .system(let error): "\(error)"
        case .kafka(let error): "\(error)"
        case .kafkaFatal(let reason): "librdkafka cannot go on: \(reason)"
        case .settings(let problem): problem
        }
    }
}
