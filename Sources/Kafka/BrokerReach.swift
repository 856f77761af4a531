/// Whether Kafka can be reached, and what of its trouble is worth telling. No I/O.
struct BrokerReach {
    /// Something came from a broker since the last notices were taken.
    var heard = false
    /// When all brokers were first said to be down with nothing heard since.
    private(set) var downSince: ContinuousClock.Instant?
    /// When all brokers being down was told last.
    private var outageToldAt: ContinuousClock.Instant?
    /// Trouble was told since something was heard last.
    private var hasToldTrouble = false
    /// Why no broker answers, as far as it was said: librdkafka says most things once, and an outage goes on.
    private var reason: String?
    /// A broker has answered once: it speaks what we speak.
    private var hasSpoken = false
    /// Guesses wait until the trouble has lasted.
    private var guesses: [KafkaNotice] = []

    /// Sorts what librdkafka said into what the operator is told now.
    mutating func sort(
        _ notices: [KafkaNotice], allBrokersDown: Bool, at now: ContinuousClock.Instant
    ) -> [KafkaNotice] {
        hasSpoken = hasSpoken || heard
        // From then on a connection that ends too soon was cut: on its way, or by a broker that goes or comes.
        let notices = hasSpoken ? notices.map(\.withoutGuess) : notices
        if hasSpoken { guesses = [] }
        var told = notices.filter { !$0.cause.isGuess }
        for guess in notices where guess.cause.isGuess {
            guesses.removeAll { $0.key == guess.key }
            guesses.append(guess)
        }
        let trouble = told.contains { $0.cause.isConnectionTrouble }
        if let last = notices.last(where: { $0.cause.isConnectionTrouble }) { reason = Self.reason(of: last) }
        if trouble || allBrokersDown {
            if downSince == nil, allBrokersDown { downSince = now }
            hasToldTrouble = hasToldTrouble || trouble
        } else if heard {
            // Of several brokers one may stay down: that others answer is then no news.
            if hasToldTrouble, downSince != nil { told.append(KafkaNotice(.recovered)) }
            hasToldTrouble = false
            downSince = nil
            outageToldAt = nil
            reason = nil
        }
        heard = false
        if let downSince, now - downSince >= Consumer.outageDebounce {
            told += guesses
            guesses = []
            if outageToldAt.map({ now - $0 >= Consumer.outageReminder }) ?? true {
                outageToldAt = now
                told.append(KafkaNotice(.allBrokersDown, reason.map { [(.reason, $0)] } ?? []))
            }
            hasToldTrouble = true
        }
        return told
    }

    private static func reason(of trouble: KafkaNotice) -> String? {
        guard let reason = trouble[.reason] else { return nil }
        return trouble[.broker].map { "\($0): \(reason)" } ?? reason
    }
}

extension KafkaNotice {
    /// What is certain of it.
    fileprivate var withoutGuess: KafkaNotice { cause.isGuess ? KafkaNotice(.connectionLost, facts) : self }
}
