import KafkaLogs

/// A partition as cursors name it; its topic is an index in the list of topics, sorted by their bytes.
package typealias PartitionName = KafkaLogs.PartitionName

/// What is known of the log of one partition: one value, handed over as a whole by whoever watches the log.
package typealias LogFacts = KafkaLogs.LogFacts
