import CRdKafka
import KafkaLogs

/// Decides when a client is given the addresses of `kafka.brokers` again because no broker answers it. No clock, no I/O.
///
/// From 2.10.0 on, librdkafka forgets each broker that a metadata answer lacks. When all brokers of a cluster were away for
/// longer than their session (KRaft: `broker.session.timeout.ms`), they return metadata without any broker for a moment after
/// they start. The client then has no broker to ask. It would restart from its first addresses, but an answer that was already in
/// transit cancels that. It then stays without brokers for ever, although they run (librdkafka issue 5301, open with 2.16.0).
/// From outside this is like an outage, so every outage ends with a reminder. With its addresses the client finds the leaders by
/// itself and continues to fetch where it stopped.
struct BrokerReminder {
    /// librdkafka's first release that forgets brokers.
    static let firstForgettingVersion: Int32 = 0x020a_00ff
    /// How long no broker has answered before the first reminder, in milliseconds. Usually the client reconnects by itself within
    /// 2 s.
    static let patience: Int64 = 5_000
    /// The pause before the next reminder is the silence so far divided by `partsOfSilence`, but at most `longestPause`
    /// milliseconds. Kafka may be back for that long before this client is. The library keeps each list that it is given: about
    /// 2,000 in an outage of a week.
    static let partsOfSilence: Int64 = 10
    static let longestPause: Int64 = 300_000
    /// That many lists of a hundred bytes use 1 MB. After that, a client gets one every `sparingPause` milliseconds.
    static let sparingCount = 10_000
    static let sparingPause: Int64 = 3_600_000

    private(set) var count = 0
    /// Since when no broker answers, and when the last reminder of that silence was due, in monotonic milliseconds.
    private var silence: (since: Int64, remindedAt: Int64)?

    /// Another client of the same brokers is answered again. This client's wait so far no longer counts: it is reminded after
    /// `patience`.
    mutating func begin(at now: Int64) {
        if silence != nil { silence = (now, now) }
    }

    var isSilent: Bool { silence != nil }

    /// Notes whether any broker answered at `now`, in monotonic milliseconds. Returns whether a reminder is due.
    mutating func note(isAnswered: Bool, at now: Int64) -> Bool {
        guard !isAnswered else {
            silence = nil
            return false
        }
        guard let (since, remindedAt) = silence else {
            silence = (now, now)
            return false
        }
        let pause = min(max(Self.patience, (now - since) / Self.partsOfSilence), Self.longestPause)
        guard now - remindedAt >= (count < Self.sparingCount ? pause : Self.sparingPause) else { return false }
        count += 1
        silence = (since, now)
        return true
    }
}

/// The same for a producer. It counts as answered while no record waits, or while brokers acknowledge some of them.
struct ProducerReminder {
    private var reminder = BrokerReminder()
    private var delivered = 0

    /// Notes how many records wait for the brokers and how many they have acknowledged so far, at `now` in monotonic
    /// milliseconds. Returns whether a reminder is due.
    mutating func note(waiting: Int, delivered: Int, at now: Int64) -> Bool {
        let isAnswered = waiting == 0 || delivered != self.delivered
        self.delivered = delivered
        return reminder.note(isAnswered: isAnswered, at: now)
    }
}

extension KafkaLibrary {
    /// Whether it forgets brokers that a metadata answer lacks.
    static var forgetsBrokers: Bool { versionNumber >= BrokerReminder.firstForgettingVersion }
}

extension ProbeClient {
    /// Notes whether any broker answered `client`, and gives it its first addresses again when that is due. `role` names which of
    /// the node's clients it is.
    func remind(_ client: ClientHandle, _ role: String, _ reminder: inout BrokerReminder, isAnswered: Bool) {
        let now = Moment.now.monotonic
        guard KafkaLibrary.forgetsBrokers, reminder.note(isAnswered: isAnswered, at: now) else { return }
        _ = unsafe rd_kafka_brokers_add(client.pointer, handle.settings.brokers)
        let reason = "nobody answers the client that \(role): kafka.brokers was given to it again"
        handle.client.notices.post(KafkaNotice(.library, [(.facility, "brokers"), (.reason, reason)], level: .info))
    }
}
