import CRdKafka

/// librdkafka's configuration object, until a client is made from it.
@safe
struct ClientConfiguration: ~Copyable {
    private let pointer: OpaquePointer

    init() {
        unsafe pointer = rd_kafka_conf_new()
    }

    deinit {
        unsafe rd_kafka_conf_destroy(pointer)
    }

    /// librdkafka's text about a refused value may quote the value, so it is not used for properties that may be secret.
    mutating func set(_ name: String, _ value: String) throws(KafkaError) {
        let capacity = 512  // librdkafka's own messages are below 300 bytes.
        var text = [CChar](repeating: 0, count: capacity)
        let answer = unsafe rd_kafka_conf_set(pointer, name, value, &text, capacity)
        switch answer {
        case RD_KAFKA_CONF_OK:
            return
        case RD_KAFKA_CONF_UNKNOWN:
            throw .settings(property: name, reason: "librdkafka \(KafkaLibrary.version) knows no such property")
        default:
            let secret = SecretProperties.mayBeSecret(name)
            throw .settings(property: name, reason: secret ? "the value is not valid" : string(from: text))
        }
    }

    mutating func set(_ properties: [(String, String)]) throws(KafkaError) {
        for (name, value) in properties {
            try set(name, value)
        }
    }

    /// Sends what librdkafka's threads report to `notices`. The caller keeps `notices` alive as long as the client.
    mutating func send(to notices: borrowing CallbackContext) {
        unsafe rd_kafka_conf_set_opaque(pointer, notices.pointer)
        unsafe rd_kafka_conf_set_error_cb(pointer, errorCallback)
        unsafe rd_kafka_conf_set_log_cb(pointer, logCallback)
    }

    mutating func reportDeliveries() {
        unsafe rd_kafka_conf_set_dr_msg_cb(pointer, deliveryCallback)
    }

    /// Makes the client. The client then owns the configuration.
    consuming func makeClient(_ type: rd_kafka_type_t) throws(KafkaError) -> OpaquePointer {
        let pointer = unsafe self.pointer
        discard self
        let capacity = 512
        var text = [CChar](repeating: 0, count: capacity)
        guard let client = unsafe rd_kafka_new(type, pointer, &text, capacity) else {
            unsafe rd_kafka_conf_destroy(pointer)  // It stays ours when librdkafka refuses it.
            throw .client(reason: string(from: text))
        }
        return unsafe client
    }
}

/// Properties whose values are never shown.
enum SecretProperties {
    static func mayBeSecret(_ name: String) -> Bool {
        ["password", "secret", "pem", "jaas", "token", "oauthbearer.config", "username", "assertion"]
            .contains { name.contains($0) }
    }
}

/// The text up to the NUL that C put there.
func string(from text: [CChar]) -> String {
    String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
