import CRdKafka

/// For a producer made with `transactional.id`. All of it blocks.
extension Producer {
    package func beginTransactions(within milliseconds: Int32 = 20_000) throws(KafkaError) {
        try unsafe check("init transactions", rd_kafka_init_transactions(pointer, milliseconds))
    }

    package func beginTransaction() throws(KafkaError) {
        try unsafe check("begin transaction", rd_kafka_begin_transaction(pointer))
    }

    package func commitTransaction(within milliseconds: Int32 = 20_000) throws(KafkaError) {
        try unsafe check("commit transaction", rd_kafka_commit_transaction(pointer, milliseconds))
    }

    package func abortTransaction(within milliseconds: Int32 = 20_000) throws(KafkaError) {
        try unsafe check("abort transaction", rd_kafka_abort_transaction(pointer, milliseconds))
    }

    private func check(_ what: String, _ failure: OpaquePointer?) throws(KafkaError) {
        guard let failure = unsafe failure else { return }
        defer { unsafe rd_kafka_error_destroy(failure) }
        throw .request(
            what: what, code: (unsafe rd_kafka_error_code(failure)).symbol,
            reason: unsafe String(cString: rd_kafka_error_string(failure)))
    }
}
