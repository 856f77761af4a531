import CRdKafka

extension Administrator {
    /// What a grant allows on a topic.
    package enum Right {
        case describe, read, write

        var operation: rd_kafka_AclOperation_t {
            switch self {
            case .describe: RD_KAFKA_ACL_OPERATION_DESCRIBE
            case .read: RD_KAFKA_ACL_OPERATION_READ
            case .write: RD_KAFKA_ACL_OPERATION_WRITE
            }
        }
    }

    /// Allows a right on a topic to a principal such as `User:livegate`, from every host.
    package func grant(_ right: Right, topic: String, to principal: String) throws(KafkaError) {
        var text = [CChar](repeating: 0, count: 512)
        var binding = unsafe rd_kafka_AclBinding_new(
            RD_KAFKA_RESOURCE_TOPIC, topic, RD_KAFKA_RESOURCE_PATTERN_LITERAL, principal, "*", right.operation,
            RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, &text, text.count)
        guard unsafe binding != nil else {
            throw .request(what: "grant on \(topic)", code: "_INVALID_ARG", reason: string(from: text))
        }
        defer { unsafe rd_kafka_AclBinding_destroy(binding) }
        try unsafe request("grant on \(topic)") { options, queue in
            unsafe rd_kafka_CreateAcls(client.pointer, &binding, 1, options, queue)
        }
    }
}
