#pragma once
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <dirent.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

// Sets TCP_NODELAY on this process's socket that listens on the port, and so on each that it accepts.
static inline void crdkafka_answer_at_once(in_port_t port) {
    DIR *folder = opendir("/dev/fd");
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        int descriptor = atoi(entry->d_name), yes = 1, listens = 0;
        struct sockaddr_in address;
        socklen_t length = sizeof address, listens_length = sizeof listens;
        if (getsockname(descriptor, (struct sockaddr *)&address, &length) == 0 && address.sin_family == AF_INET &&
            ntohs(address.sin_port) == port &&
            getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_length) == 0 && listens) {
            setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        }
    }
    closedir(folder);
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

// Topic ids (KIP-516) are reported by rd_kafka_DescribeTopics from librdkafka 2.3.0 on. It is looked up when the program runs:
// the headers that it is built with need not know it.
static inline void *crdkafka_symbol(const char *name) { return dlsym((void *)0, name); }

// The entry points that questions about topics need.
typedef struct {
    void *(*of_names)(const char **, size_t);
    void (*destroy)(void *);
    void (*describe)(rd_kafka_t *, const void *, const rd_kafka_AdminOptions_t *, rd_kafka_queue_t *);
    const void *(*result)(rd_kafka_event_t *);
    const void **(*topics)(const void *, size_t *);
} crdkafka_describing;

static inline crdkafka_describing crdkafka_describing_symbols(void) {
    crdkafka_describing found = {
        (void *(*)(const char **, size_t))crdkafka_symbol("rd_kafka_TopicCollection_of_topic_names"),
        (void (*)(void *))crdkafka_symbol("rd_kafka_TopicCollection_destroy"),
        (void (*)(rd_kafka_t *, const void *, const rd_kafka_AdminOptions_t *, rd_kafka_queue_t *))crdkafka_symbol(
            "rd_kafka_DescribeTopics"),
        (const void *(*)(rd_kafka_event_t *))crdkafka_symbol("rd_kafka_event_DescribeTopics_result"),
        (const void **(*)(const void *, size_t *))crdkafka_symbol("rd_kafka_DescribeTopics_result_topics"),
    };
    return found;
}

static inline int crdkafka_can_describe_topics(void) {
    return rd_kafka_version() >= 0x020300ff && crdkafka_symbol("rd_kafka_DescribeTopics") != NULL
           && crdkafka_symbol("rd_kafka_TopicCollection_of_topic_names") != NULL
           && crdkafka_symbol("rd_kafka_TopicDescription_topic_id") != NULL;
}

// Asks one broker; the answer comes to the queue. Returns 0 if nothing was asked.
static inline int
crdkafka_describe_topics(rd_kafka_t *client, rd_kafka_queue_t *queue, int32_t broker, const char **names, size_t count,
                         int timeout_ms) {
    char text[128];
    crdkafka_describing symbols = crdkafka_describing_symbols();
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_ANY);
    void *topics = symbols.of_names(names, count);
    int is_asked = rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, text, sizeof(text)) == 0
                   && rd_kafka_AdminOptions_set_broker(options, broker, text, sizeof(text)) == 0;
    rd_kafka_AdminOptions_set_opaque(options, (void *)(intptr_t)broker);
    if (is_asked)
        symbols.describe(client, topics, options, queue);
    symbols.destroy(topics);
    rd_kafka_AdminOptions_destroy(options);
    return is_asked;
}

// The broker that an event of the queue is of; -1 if it is none of those.
static inline int32_t crdkafka_described_broker(rd_kafka_event_t *event) {
    const int described = 0x100000; // RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT
    return rd_kafka_event_type(event) == described ? (int32_t)(intptr_t)rd_kafka_event_opaque(event) : -1;
}

// The id of a topic in the event, or why there is none. The halves are 0 where the broker has none.
static inline rd_kafka_resp_err_t
crdkafka_described_topic(rd_kafka_event_t *event, const char *name, int64_t *high, int64_t *low) {
    crdkafka_describing symbols = crdkafka_describing_symbols();
    const char *(*name_of)(const void *) =
        (const char *(*)(const void *))crdkafka_symbol("rd_kafka_TopicDescription_name");
    const rd_kafka_error_t *(*error_of)(const void *) =
        (const rd_kafka_error_t *(*)(const void *))crdkafka_symbol("rd_kafka_TopicDescription_error");
    const void *(*id_of)(const void *) =
        (const void *(*)(const void *))crdkafka_symbol("rd_kafka_TopicDescription_topic_id");
    int64_t (*high_of)(const void *) =
        (int64_t (*)(const void *))crdkafka_symbol("rd_kafka_Uuid_most_significant_bits");
    int64_t (*low_of)(const void *) =
        (int64_t (*)(const void *))crdkafka_symbol("rd_kafka_Uuid_least_significant_bits");
    size_t count = 0;
    const void **topics;
    if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return rd_kafka_event_error(event);
    topics = symbols.topics(symbols.result(event), &count);
    for (size_t index = 0; index < count; index++) {
        if (strcmp(name_of(topics[index]), name) != 0)
            continue;
        const rd_kafka_error_t *error = error_of(topics[index]);
        rd_kafka_resp_err_t code = error ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR_NO_ERROR;
        const void *id = code == RD_KAFKA_RESP_ERR_NO_ERROR ? id_of(topics[index]) : NULL;
        *high = id ? high_of(id) : 0;
        *low = id ? low_of(id) : 0;
        return code;
    }
    return RD_KAFKA_RESP_ERR__NOENT;
}

// Whether the login may do an operation on a topic: 1, or 0; -1 where the library (before 2.3.0) or the broker does not say.
static inline int crdkafka_is_allowed(rd_kafka_t *client, const char *name, int operation, int timeout_ms) {
    char text[128];
    int answer = -1;
    size_t topics_count = 0, count = 0;
    crdkafka_describing symbols = crdkafka_describing_symbols();
    void *(*include)(rd_kafka_AdminOptions_t *, int) = (void *(*)(rd_kafka_AdminOptions_t *, int))crdkafka_symbol(
        "rd_kafka_AdminOptions_set_include_authorized_operations");
    const rd_kafka_AclOperation_t *(*operations_of)(const void *, size_t *) =
        (const rd_kafka_AclOperation_t *(*)(const void *, size_t *))crdkafka_symbol(
            "rd_kafka_TopicDescription_authorized_operations");
    if (!crdkafka_can_describe_topics() || include == NULL || operations_of == NULL)
        return -1;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_ANY);
    void *topics = symbols.of_names(&name, 1);
    rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, text, sizeof(text));
    rd_kafka_error_t *problem = include(options, 1);
    if (problem == NULL) {
        symbols.describe(client, topics, options, queue);
        rd_kafka_event_t *event = rd_kafka_queue_poll(queue, timeout_ms);
        if (event != NULL && rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR) {
            const void **found = symbols.topics(symbols.result(event), &topics_count);
            const rd_kafka_AclOperation_t *operations =
                topics_count == 1 ? operations_of(found[0], &count) : NULL;
            if (operations != NULL)
                answer = 0;
            for (size_t index = 0; operations != NULL && index < count; index++)
                if ((int)operations[index] == operation)
                    answer = 1;
        }
        if (event != NULL)
            rd_kafka_event_destroy(event);
    } else {
        rd_kafka_error_destroy(problem);
    }
    symbols.destroy(topics);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_queue_destroy(queue);
    return answer;
}
