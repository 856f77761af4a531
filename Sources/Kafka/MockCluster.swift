import CRdKafka

/// A broker inside the process, speaking the real protocol on a loopback port: for the demo and for tests.
///
/// It is librdkafka's own: no TLS, no SASL, no deletion; at most 5 MiB or 100,000 batches a partition, of which the
/// oldest go. Give its consumers `fetch.wait.max.ms=10`: it answers an empty fetch after the whole of that time.
@safe
package final class MockCluster {
    private let client: ClientHandle
    private let cluster: OpaquePointer

    package init(brokers: Int = 1) throws(KafkaError) {
        client = try ClientHandle(RD_KAFKA_PRODUCER, [("client.id", "livegate-broker")])
        guard let cluster = unsafe rd_kafka_mock_cluster_new(client.pointer, Int32(brokers)) else {
            throw .client(reason: "no embedded broker: the loopback address gives no port")
        }
        unsafe self.cluster = cluster
        // Apache Kafka does the same. Otherwise the second of two answers waits until the first is acknowledged, 40 ms later. An
        // event would be that late at each check of the log ends, every two seconds.
        for address in bootstrap.split(separator: ",") {
            if let port = in_port_t(address.drop { $0 != ":" }.dropFirst()) { crdkafka_answer_at_once(port) }
        }
    }

    deinit {
        unsafe rd_kafka_mock_cluster_destroy(cluster)
    }

    /// `127.0.0.1:PORT`, several by comma.
    package var bootstrap: String {
        unsafe String(cString: rd_kafka_mock_cluster_bootstraps(cluster))
    }

    package func createTopic(_ name: String, partitions: Int = 1) throws(KafkaError) {
        try check("create topic \(name)", unsafe rd_kafka_mock_topic_create(cluster, name, Int32(partitions), 1))
    }

    /// Makes metadata answer with this error for the topic. Nil removes the error.
    package func setError(_ code: rd_kafka_resp_err_t?, topic: String) {
        unsafe rd_kafka_mock_topic_set_error(cluster, topic, code ?? RD_KAFKA_RESP_ERR_NO_ERROR)
    }

    /// Moves a partition to the broker, from 1; nil leaves it without a leader.
    package func setLeader(_ broker: Int?, topic: String, partition: Int) throws(KafkaError) {
        let code = unsafe rd_kafka_mock_partition_set_leader(
            cluster, topic, Int32(partition), broker.map { Int32($0) } ?? -1)
        try check("set leader of \(topic)", code)
    }

    /// Cuts the broker's connections and refuses new ones, or all brokers' if nil.
    package func setDown(_ broker: Int? = nil) throws(KafkaError) {
        try check("shut down", unsafe rd_kafka_mock_broker_set_down(cluster, broker.map { Int32($0) } ?? -1))
    }

    package func setUp(_ broker: Int? = nil) throws(KafkaError) {
        try check("bring up", unsafe rd_kafka_mock_broker_set_up(cluster, broker.map { Int32($0) } ?? -1))
    }

    /// Makes the next requests of a kind (Fetch is 1, ListOffsets 2, Metadata 3) fail with these errors.
    package func pushErrors(_ codes: [rd_kafka_resp_err_t], request: Int16) {
        unsafe rd_kafka_mock_push_request_errors_array(cluster, request, codes.count, codes)
    }

    /// Removes the errors that were pushed.
    package func clearErrors(request: Int16) {
        unsafe rd_kafka_mock_clear_request_errors(cluster, request)
    }

    private func check(_ what: String, _ code: rd_kafka_resp_err_t) throws(KafkaError) {
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
        throw .request(what: what, code: code.symbol, reason: code.sentence)
    }
}

@available(*, unavailable)
extension MockCluster: Sendable {}
