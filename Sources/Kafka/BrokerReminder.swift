import CRdKafka
import KafkaLogs

/// When a client is given the addresses of `kafka.brokers` once more, because nobody answers it. No clock, no I/O.
///
/// librdkafka forgets each broker that a metadata answer lacks, from 2.10.0 on. A cluster whose brokers were all away
/// for longer than their session (KRaft: `broker.session.timeout.ms`) tells of none for a moment when they are back.
/// Then the client has nobody left to ask. It would begin anew with its first addresses, but another answer that was on
/// its way cancels that: it stays without brokers for ever, though they run (librdkafka issue 5301, open with 2.16.0).
/// From outside that looks like an outage, so every outage ends that way. Given its addresses it finds the leaders by
/// itself, and goes on fetching where it stopped.
struct BrokerReminder {
    /// librdkafka's first release that forgets brokers.
    static let firstForgettingVersion: Int32 = 0x020a_00ff
    /// How long nobody has answered before the first reminder: mostly the client comes back by itself within 2 s. In
    /// milliseconds.
    static let patience: Int64 = 5_000
    /// The next reminder comes when the silence has become longer by one part of so many, but after `longestPause` at the
    /// latest, in milliseconds: Kafka is back for so long before this client is. The library keeps each list that it is
    /// given: they are about 2,000 in an outage of a week.
    static let partsOfSilence: Int64 = 10
    static let longestPause: Int64 = 300_000
    /// Lists of a hundred bytes then take 1 MB. Beyond so many of one client they come every `sparingPause` milliseconds.
    static let sparingCount = 10_000
    static let sparingPause: Int64 = 3_600_000

    private(set) var count = 0
    /// Since when nobody answers, and when the last reminder of that silence was due; monotonic milliseconds.
    private var silence: (since: Int64, remindedAt: Int64)?

    /// Another client of the same brokers is answered again: what this one has waited for counts no more, and it is
    /// reminded after the patience.
    mutating func begin(at now: Int64) {
        if silence != nil { silence = (now, now) }
    }

    var isSilent: Bool { silence != nil }

    /// Takes whether anybody answered at `now`, monotonic milliseconds; returns whether a reminder is due.
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

/// The same for a producer, which is answered as long as nothing waits or something of it is acknowledged.
struct ProducerReminder {
    private var reminder = BrokerReminder()
    private var delivered = 0

    /// Takes what waits for the brokers and what they have acknowledged so far, at `now` in monotonic milliseconds; returns
    /// whether a reminder is due.
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
    /// Notes whether anybody answered `client`, and gives it its first addresses where that is due. `role`: which of the
    /// node's clients it is.
    func remind(_ client: ClientHandle, _ role: String, _ reminder: inout BrokerReminder, isAnswered: Bool) {
        let now = Moment.now.monotonic
        guard KafkaLibrary.forgetsBrokers, reminder.note(isAnswered: isAnswered, at: now) else { return }
        _ = unsafe rd_kafka_brokers_add(client.pointer, handle.settings.brokers)
        let reason = "nobody answers the client that \(role): kafka.brokers was given to it again"
        handle.client.notices.post(KafkaNotice(.library, [(.facility, "brokers"), (.reason, reason)], level: .info))
    }
}
