/// Tracks whether Kafka can be reached, and decides which of its troubles need a notice. No I/O.
struct BrokerReach {
    /// A broker has answered since the last notices were collected.
    var hasAnswered = false
    /// When librdkafka first reported all brokers as down, with no answer since.
    private(set) var downSince: ContinuousClock.Instant?
    /// When the operator was last notified that all brokers are down.
    private var outageNotifiedAt: ContinuousClock.Instant?
    /// The operator was notified of trouble since the last answer.
    private var hasNotifiedTrouble = false
    /// The last known reason why no broker answers. librdkafka reports most reasons once, although an outage lasts longer.
    private var trouble: KafkaNotice?
    /// A broker has answered at least once, so it uses the protocol that we use.
    private var hasSpoken = false
    /// Guesses that are held back until the trouble has lasted.
    private var guesses: [KafkaNotice] = []

    /// Selects from librdkafka's notices those of which the operator is notified now.
    mutating func sort(
        _ notices: [KafkaNotice], allBrokersDown: Bool, at now: ContinuousClock.Instant
    ) -> [KafkaNotice] {
        hasSpoken = hasSpoken || hasAnswered
        // After that, a connection that ends too early was cut by the network, or by a broker that stops or starts.
        let notices = hasSpoken ? notices.map(\.withoutGuess) : notices
        if hasSpoken { guesses = [] }
        var notified = notices.filter { !$0.cause.isGuess }
        for guess in notices where guess.cause.isGuess {
            guesses.removeAll { $0.key == guess.key }
            guesses.append(guess)
        }
        let isTroubled = notified.contains { $0.cause.isConnectionTrouble }
        if let last = notices.last(where: { $0.cause.isConnectionTrouble }) { trouble = last }
        if isTroubled || allBrokersDown {
            // An answer since then has ended the earlier outage (perhaps only one cut connection). This is a new outage.
            if allBrokersDown, downSince == nil || hasAnswered { downSince = now }
            hasNotifiedTrouble = hasNotifiedTrouble || isTroubled
        } else if hasAnswered {
            // One of several brokers may stay down. That the others answer is then no news.
            if hasNotifiedTrouble, downSince != nil { notified.append(KafkaNotice(.recovered)) }
            hasNotifiedTrouble = false
            downSince = nil
            outageNotifiedAt = nil
            trouble = nil
        }
        hasAnswered = false
        if let downSince, now - downSince >= Consumer.outageDebounce {
            notified += guesses
            guesses = []
            if outageNotifiedAt.map({ now - $0 >= Consumer.outageReminder }) ?? true {
                outageNotifiedAt = now
                notified.append(
                    KafkaNotice(.allBrokersDown, trouble.flatMap(Self.reason).map { [(.reason, $0)] } ?? []))
            }
            hasNotifiedTrouble = true
        }
        return notified
    }

    /// Why no broker answers, in the words of the log. Nil when no reason was reported.
    var explanation: String? {
        guard let trouble else { return nil }
        return Self.reason(of: trouble).map { "\(trouble.sentence) (\($0))" } ?? "\(trouble.sentence)"
    }

    private static func reason(of trouble: KafkaNotice) -> String? {
        guard let reason = trouble[.reason] else { return nil }
        return trouble[.broker].map { "\($0): \(reason)" } ?? reason
    }
}

enum BrokerAddress {
    /// `host:port` as librdkafka reads it: in brackets where the host is an IPv6 address.
    static func text(host: String, port: Int32) -> String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

extension KafkaNotice {
    /// The notice with the certain part only, without the guess.
    fileprivate var withoutGuess: KafkaNotice { cause.isGuess ? KafkaNotice(.connectionLost, facts) : self }
}
