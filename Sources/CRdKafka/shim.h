#pragma once
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

// rd_kafka_producev is variadic, which Swift cannot call. Headers may be NULL; on success librdkafka owns them.
// Value and key are copied before it returns. A NULL value is a tombstone.
static inline rd_kafka_resp_err_t
crdkafka_produce(rd_kafka_t *client, const char *topic, int32_t partition, int64_t timestamp_ms, const void *key,
                 size_t key_length, const void *value, size_t value_length, rd_kafka_headers_t *headers) {
    return rd_kafka_producev(client, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
                             RD_KAFKA_V_TIMESTAMP(timestamp_ms), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                             RD_KAFKA_V_KEY((void *)key, key_length), RD_KAFKA_V_VALUE((void *)value, value_length),
                             RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
}
