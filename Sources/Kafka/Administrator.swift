import CRdKafka

/// Creates, extends and deletes topics: for the bench and tests. The gateway itself never does. Every call blocks.
package final class Administrator {
    /// The timeout of one request to the cluster, in milliseconds.
    static let timeoutMilliseconds: Int32 = 20_000

    let client: ClientHandle

    package init(brokers: String, _ properties: [(String, String)] = []) throws(KafkaError) {
        client = try ClientHandle(
            RD_KAFKA_PRODUCER, [("client.id", "livegate-admin")] + properties + [("bootstrap.servers", brokers)])
    }

    /// `replicas` are the nodes that hold each partition, the one that leads it first; if empty, the cluster chooses
    /// `replication` of them.
    package func createTopic(
        _ name: String, partitions: Int = 1, replication: Int = 1, replicas: [Int32] = [],
        settings: [(String, String)] = []
    ) throws(KafkaError) {
        var text = [CChar](repeating: 0, count: 512)
        let copies = replicas.isEmpty ? Int32(replication) : -1
        var topic = unsafe rd_kafka_NewTopic_new(name, Int32(partitions), copies, &text, text.count)
        guard unsafe topic != nil else {
            throw .request(what: "create topic \(name)", code: "_INVALID_ARG", reason: string(from: text))
        }
        defer { unsafe rd_kafka_NewTopic_destroy(topic) }
        var nodes = replicas
        for partition in 0..<Int32(replicas.isEmpty ? 0 : partitions) {
            unsafe rd_kafka_NewTopic_set_replica_assignment(topic, partition, &nodes, nodes.count, &text, text.count)
        }
        for (name, value) in settings { unsafe rd_kafka_NewTopic_set_config(topic, name, value) }
        try unsafe request("create topic \(name)") { options, queue in
            unsafe rd_kafka_CreateTopics(client.pointer, &topic, 1, options, queue)
        }
    }

    package func growTopic(_ name: String, to partitions: Int) throws(KafkaError) {
        var text = [CChar](repeating: 0, count: 512)
        var change = unsafe rd_kafka_NewPartitions_new(name, partitions, &text, text.count)
        guard unsafe change != nil else {
            throw .request(what: "grow topic \(name)", code: "_INVALID_ARG", reason: string(from: text))
        }
        defer { unsafe rd_kafka_NewPartitions_destroy(change) }
        try unsafe request("grow topic \(name)") { options, queue in
            unsafe rd_kafka_CreatePartitions(client.pointer, &change, 1, options, queue)
        }
    }

    package func deleteTopic(_ name: String) throws(KafkaError) {
        var topic = unsafe rd_kafka_DeleteTopic_new(name)
        defer { unsafe rd_kafka_DeleteTopic_destroy(topic) }
        try unsafe request("delete topic \(name)") { options, queue in
            unsafe rd_kafka_DeleteTopics(client.pointer, &topic, 1, options, queue)
        }
    }

    /// Sends a request and waits for its answer.
    func request(
        _ what: String, _ send: (_ options: OpaquePointer?, _ queue: OpaquePointer?) -> Void
    ) throws(KafkaError) {
        let options = unsafe rd_kafka_AdminOptions_new(client.pointer, RD_KAFKA_ADMIN_OP_ANY)
        defer { unsafe rd_kafka_AdminOptions_destroy(options) }
        var text = [CChar](repeating: 0, count: 512)
        _ = unsafe rd_kafka_AdminOptions_set_operation_timeout(options, Self.timeoutMilliseconds, &text, text.count)
        let queue = unsafe rd_kafka_queue_new(client.pointer)
        defer { unsafe rd_kafka_queue_destroy(queue) }
        unsafe send(options, queue)
        guard let event = unsafe rd_kafka_queue_poll(queue, Self.timeoutMilliseconds + 1_000) else {
            throw .request(what: what, code: "_TIMED_OUT", reason: "no answer")
        }
        defer { unsafe rd_kafka_event_destroy(event) }
        let code = unsafe rd_kafka_event_error(event)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            throw .request(
                what: what, code: code.symbol, reason: unsafe String(cString: rd_kafka_event_error_string(event)))
        }
        if let (code, reason) = unsafe topicFailure(in: event) {
            throw .request(what: what, code: code.symbol, reason: reason)
        }
    }

    /// The first topic of the answer that failed.
    private func topicFailure(in event: OpaquePointer) -> (rd_kafka_resp_err_t, String)? {
        var count = 0
        let results: UnsafeMutablePointer<OpaquePointer?>? =
            switch unsafe rd_kafka_event_type(event) {
            case RD_KAFKA_EVENT_CREATETOPICS_RESULT: unsafe rd_kafka_CreateTopics_result_topics(event, &count)
            case RD_KAFKA_EVENT_CREATEPARTITIONS_RESULT: unsafe rd_kafka_CreatePartitions_result_topics(event, &count)
            case RD_KAFKA_EVENT_DELETETOPICS_RESULT: unsafe rd_kafka_DeleteTopics_result_topics(event, &count)
            default: nil
            }
        for index in 0..<count {
            let code = unsafe rd_kafka_topic_result_error(results?[index])
            guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { continue }
            let reason = unsafe rd_kafka_topic_result_error_string(results?[index])
            return (code, unsafe reason.map { unsafe String(cString: $0) } ?? code.sentence)
        }
        return nil
    }
}

@available(*, unavailable)
extension Administrator: Sendable {}

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

    /// Removes what `grant` allowed.
    package func revoke(_ right: Right, topic: String, from principal: String) throws(KafkaError) {
        var text = [CChar](repeating: 0, count: 512)
        var filter = unsafe rd_kafka_AclBindingFilter_new(
            RD_KAFKA_RESOURCE_TOPIC, topic, RD_KAFKA_RESOURCE_PATTERN_LITERAL, principal, "*", right.operation,
            RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, &text, text.count)
        guard unsafe filter != nil else {
            throw .request(what: "revoke on \(topic)", code: "_INVALID_ARG", reason: string(from: text))
        }
        defer { unsafe rd_kafka_AclBinding_destroy(filter) }
        try unsafe request("revoke on \(topic)") { options, queue in
            unsafe rd_kafka_DeleteAcls(client.pointer, &filter, 1, options, queue)
        }
    }
}
