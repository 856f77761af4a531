import KafkaLogs

/// A partition as cursors name it; its topic is an index in the list of topics, sorted by their bytes.
package typealias PartitionName = KafkaLogs.PartitionName
