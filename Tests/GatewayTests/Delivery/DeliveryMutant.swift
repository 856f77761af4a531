import LiveUpdates

@testable import Gateway

/// A rule of delivery that is left out or turned round: a simulation that does not find it is blind.
enum DeliveryMutant: CaseIterable {
    // What a loop is sent of ingest's messages.
    /// Every fourth message of events never arrives.
    case losesWake
    /// Of two messages in a mailbox the second comes first.
    case passesOverMessage
    /// Answers come before the events that ingest has sent before them, or behind those that it has sent since.
    case answersEarly, answersLate
    /// The events of one account go to the groups of another.
    case givesToAnother
    /// One account is not told of a reset; or all are told that it came one event later.
    case forgetsReset, resetsTooFar
    /// A page that was let go counts as one without events.
    case hidesLoss
    /// The first page is said to be the last one.
    case catchesUpEarly
    /// An answer says that one event more is in it, or came before it.
    case joinsTooFar, readsTooFar

    // What clients and loops do.
    /// Who has left stays subscribed.
    case keepsMember
    /// A stream leaves its group behind a reset, and its client hears nothing more.
    case leavesGroup
    /// A stream is not told that its bytes have left, or that the time has come that it waits for.
    case forgetsDrained, neverWakes
    /// The loop goes over no connections, and forgets the reset.
    case skipsWalk
    /// Polls that are owed events have no turns.
    case answersNoPoll

    /// What arrives in the place of a message; `number` counts those that loops were sent.
    func change(_ message: FanOutMessage, _ number: Int) -> FanOutMessage? {
        switch (self, message) {
        case (.losesWake, .events): number % 4 == 3 ? nil : message
        case (.givesToAnother, .events(let batch, let sequence)):
            .events(
                batch.map { AccountEvents(account: DeliveryNode.account(1), events: $0.events) }, sequence: sequence)
        case (.forgetsReset, .reset(let why, let sequence, let cursors)):
            .reset(why, sequence: sequence, cursors: cursors.filter { $0.key != DeliveryNode.account(0) })
        case (.resetsTooFar, .reset(let why, let sequence, let cursors)):
            .reset(why, sequence: sequence + 1, cursors: cursors)
        case (_, .joined(let id, let answer)):
            .joined(
                id, JoinAnswer(outcome: change(answer.outcome), sequence: change(answer.sequence), fresh: answer.fresh))
        case (_, .page(let id, let page)): .page(id, change(page))
        default: message
        }
    }

    private func change(_ outcome: JoinAnswer.Outcome) -> JoinAnswer.Outcome {
        guard case .resumed(let page, let floors) = outcome else { return outcome }
        return .resumed(change(page), floors: floors)
    }

    private func change(_ page: PageAnswer) -> PageAnswer {
        var answer = page.answer
        switch (self, answer) {
        case (.hidesLoss, .lost):
            answer = .page(events: [], position: StreamPosition(sequence: page.sequence), isComplete: true)
        case (.catchesUpEarly, .page(let events, let position, _)):
            answer = .page(events: events, position: position, isComplete: true)
        default: break
        }
        return PageAnswer(answer: answer, sequence: change(page.sequence), fresh: page.fresh, reach: page.reach)
    }

    private func change(_ sequence: UInt64) -> UInt64 { self == .joinsTooFar ? sequence + 1 : sequence }

    /// What a client asks for.
    func change(_ request: ReadRequest) -> ReadRequest {
        guard self == .readsTooFar, request.position.isLive else { return request }
        let position = StreamPosition(sequence: request.position.sequence + 1)
        return ReadRequest(position: position, page: request.page, waits: request.waits)
    }

    /// Which message of a mailbox is handled next.
    func next(of messages: [FanOutMessage]) -> Int {
        guard messages.count > 1 else { return 0 }
        switch self {
        case .passesOverMessage: return 1
        case .answersEarly: return messages.firstIndex(where: \.isAnswer) ?? 0
        case .answersLate: return messages.firstIndex { !$0.isAnswer } ?? 0
        default: return 0
        }
    }
}

extension FanOutMessage {
    fileprivate var isAnswer: Bool {
        switch self {
        case .joined, .page, .fresh, .snapshotCursor: true
        case .events, .reset, .source, .archive, .read: false
        }
    }
}
