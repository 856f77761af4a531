#pragma once
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

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

struct crdkafka_farewell {
    rd_kafka_t *client;
    sem_t destroyed;
    atomic_int users;
};

static inline void crdkafka_farewell_release(struct crdkafka_farewell *farewell) {
    if (atomic_fetch_sub(&farewell->users, 1) > 1)
        return;
    sem_destroy(&farewell->destroyed);
    free(farewell);
}

static void *crdkafka_farewell_main(void *argument) {
    struct crdkafka_farewell *farewell = (struct crdkafka_farewell *)argument;
    rd_kafka_destroy_flags(farewell->client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    sem_post(&farewell->destroyed);
    crdkafka_farewell_release(farewell);
    return NULL;
}

// Destroys a client and says whether that was done within the time; if not, a thread of its own goes on with it.
//
// 2.0.2 never ends destroying a consumer that had a partition of a topic that was deleted: a barrier in the
// partition's queue holds the partition that holds the queue. 2.16.0 does.
static inline int crdkafka_destroy_within(rd_kafka_t *client, int milliseconds) {
    struct crdkafka_farewell *farewell = (struct crdkafka_farewell *)malloc(sizeof(*farewell));
    pthread_t thread;
    struct timespec end;
    int destroyed;
    if (!farewell)
        abort();
    farewell->client = client;
    atomic_init(&farewell->users, 2);
    sem_init(&farewell->destroyed, 0, 0);
    if (pthread_create(&thread, NULL, crdkafka_farewell_main, farewell) != 0)
        return 0;
    pthread_detach(thread);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += milliseconds / 1000;
    end.tv_nsec += (milliseconds % 1000) * 1000000L;
    if (end.tv_nsec >= 1000000000L) {
        end.tv_sec += 1;
        end.tv_nsec -= 1000000000L;
    }
    destroyed = sem_timedwait(&farewell->destroyed, &end) == 0;
    crdkafka_farewell_release(farewell);
    return destroyed;
}
