/// Whether Kafka can be reached, and what of its trouble is worth a notice. No I/O.
struct BrokerReach {
    /// Something came from a broker since the last notices were taken.
    var hasAnswered = false
    /// When all brokers were first said to be down with no answer since.
    private(set) var downSince: ContinuousClock.Instant?
    /// When the operator was last notified that all brokers are down.
    private var outageNotifiedAt: ContinuousClock.Instant?
    /// The operator was notified of trouble since the last answer.
    private var hasNotifiedTrouble = false
    /// Why no broker answers, as far as it was said: librdkafka says most things once, and an outage goes on.
    private var trouble: KafkaNotice?
    /// A broker has answered once: it speaks what we speak.
    private var hasSpoken = false
    /// Guesses wait until the trouble has lasted.
    private var guesses: [KafkaNotice] = []

    /// Sorts what librdkafka said into what the operator is notified of now.
    mutating func sort(
        _ notices: [KafkaNotice], allBrokersDown: Bool, at now: ContinuousClock.Instant
    ) -> [KafkaNotice] {
        hasSpoken = hasSpoken || hasAnswered
        // From then on a connection that ends too soon was cut: on its way, or by a broker that goes or comes.
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
            // What answered since has ended that outage, of which one cut connection may have been all: this is another.
            if allBrokersDown, downSince == nil || hasAnswered { downSince = now }
            hasNotifiedTrouble = hasNotifiedTrouble || isTroubled
        } else if hasAnswered {
            // Of several brokers one may stay down: that others answer is then no news.
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

    /// Why no broker answers, in the words of the log; nil where nothing was said of it.
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
    /// What is certain of it.
    fileprivate var withoutGuess: KafkaNotice { cause.isGuess ? KafkaNotice(.connectionLost, facts) : self }
}
