import Testing

@testable import Gateway
@testable import LiveUpdates

/// Thousands of polls that wait for one event: what is done at once, who has a turn when, and what each is answered.
struct PollLineTests {
    private final class Rig {
        let port = RecordingPort(nil)
        let poll: Poll<RecordingPort>

        init(
            _ account: String, _ fanOut: LoopFanOut<RecordingPort>, floor: Int64? = nil, asks: String = ""
        ) throws {
            let parameters = try SyncParameters.parse(
                requestHead("/sync/v1?since=c3&wait=50\(asks)"),
                SyncLimits(maximumEvents: 500, maximumWaitMilliseconds: 55_000))
            poll = Poll(
                parameters, account: Account(account), port: port,
                fanOut: fanOut)
            poll.begin()
            let nothing = PageAnswer(
                answer: .page(events: [], position: StreamPosition(sequence: fanOut.sequence), isComplete: true),
                sequence: fanOut.sequence, fresh: CursorText(bytes: Array("c3".utf8)))
            let floors = floor.map { [PartitionFloor(partition: StreamRig.event(1).partition, offset: $0)] } ?? []
            poll.joined(
                JoinAnswer(outcome: .resumed(nothing, floors: floors), sequence: fanOut.sequence, fresh: .none), now: 0)
            _ = port.takeSaid()
        }

        /// The ids of the events that it was answered with, the reason of a refusal, or nothing.
        var answer: String {
            let said = port.takeSaid().filter { !$0.hasPrefix("unsubscribe") && !$0.hasPrefix("wake") }
            guard let first = said.first else { return "" }
            guard said.count == 1 else { return "\(said)" }
            guard first.hasPrefix("200") else { return first }
            return first.split(separator: #""id":""#).dropFirst().map { String($0.prefix { $0 != "\"" }) }
                .joined(separator: ",")
        }
    }

    private func deliver(_ fanOut: LoopFanOut<RecordingPort>, _ events: [(account: String, number: UInt64)]) -> Int {
        let batch = events.map { AccountEvents(account: Account($0.account), events: [StreamRig.event($0.number)]) }
        return fanOut.deliver(batch, sequence: events[events.count - 1].number, now: 0)
    }

    @Test func `an event that thousands wait for is owed at once and answered one by one`() throws {
        let fanOut = LoopFanOut<RecordingPort>(policy: StreamPolicy(), topics: ["t"])
        let crowd = try (0..<5_000).map { _ in try Rig("A", fanOut) }
        #expect(deliver(fanOut, [("A", 4)]) == 5_000)
        #expect(crowd.allSatisfy { !$0.port.hasEnded })
        for answered in 1...5_000 {
            #expect(fanOut.answerNext() == (answered < 5_000))
            if answered % 1_000 == 0 { #expect(crowd.count { $0.port.hasEnded } == answered) }
        }
        #expect(crowd.allSatisfy { $0.answer == "4" })
    }

    @Test func `who asks for ids and who does not wait in one line, and each gets its own answer`() throws {
        let fanOut = LoopFanOut<RecordingPort>(policy: StreamPolicy(), topics: ["t"])
        let rigs = try (0..<6).map { try Rig("PACC1", fanOut, asks: $0 % 2 == 0 ? "&with=aid" : "") }
        #expect(deliver(fanOut, [("PACC1", 4)]) == 6)
        while fanOut.answerNext() {}
        for (index, rig) in rigs.enumerated() {
            let answers = rig.port.takeSaid().filter { $0.hasPrefix("200") }
            #expect(answers.count == 1)
            let aid = ",\"aid\":\"\(StreamRig.aid(4))\""
            #expect(answers.allSatisfy { $0.contains(aid) == (index % 2 == 0) && $0.contains("\"id\":\"4\"") })
        }
    }

    @Test func `another account's event comes in between, and its poll is answered next`() throws {
        let fanOut = LoopFanOut<RecordingPort>(policy: StreamPolicy(), topics: ["t"])
        let crowd = try (0..<1_000).map { _ in try Rig("A", fanOut) }
        let other = try Rig("B", fanOut)
        _ = deliver(fanOut, [("A", 4)])
        for _ in 0..<10 { _ = fanOut.answerNext() }
        _ = deliver(fanOut, [("B", 5)])
        for _ in 0..<2 { _ = fanOut.answerNext() }
        #expect(other.answer == "5")
        #expect(crowd.count { $0.port.hasEnded } == 11)
        // However many of others come and go, the crowd has every second turn at least.
        for number in UInt64(6)..<200 {
            let another = try Rig("B", fanOut)
            _ = deliver(fanOut, [("B", number)])
            for _ in 0..<2 { _ = fanOut.answerNext() }
            #expect(another.answer == "\(number)")
        }
        #expect(crowd.count { $0.port.hasEnded } >= 11 + 190)
    }

    @Test func `each gets the first event that came after it, however late its turn is`() throws {
        let fanOut = LoopFanOut<RecordingPort>(policy: StreamPolicy(), topics: ["t"])
        var lines: [[Rig]] = []
        for number in UInt64(4)..<8 {
            lines.append(try (0..<50).map { _ in try Rig("A", fanOut) })
            #expect(deliver(fanOut, [("A", number)]) == 50)
            for _ in 0..<5 { _ = fanOut.answerNext() }
        }
        // Some of them leave in between, the first of a line and the last.
        for line in lines {
            line[0].poll.end()
            line[49].poll.end()
        }
        while fanOut.answerNext() {}
        for (line, number) in zip(lines, 4...) {
            #expect(line[1..<45].allSatisfy { $0.answer == "\(number)" })
            #expect(line.allSatisfy { $0.port.hasEnded })
        }
    }

    @Test func `a line that waits long lets all those go that were closed behind it`() {
        let owed = PollLine<RecordingPort>.Owed(events: [], resets: 0)
        var first: PollLine<RecordingPort>? = PollLine()
        var last = first!
        for _ in 0..<200_000 { last = last.close(with: owed) }
        let middle = first!.next!.next!
        weak let end = last
        last = PollLine()
        first = nil
        // Whoever holds a line holds those behind it.
        #expect(end != nil && middle.next != nil)
        withExtendedLifetime(middle) {}
    }

    @Test func `all clients may leave before the turn comes`() throws {
        let fanOut = LoopFanOut<RecordingPort>(policy: StreamPolicy(), topics: ["t"])
        let crowd = try (0..<100).map { _ in try Rig("A", fanOut) }
        _ = deliver(fanOut, [("A", 4)])
        for rig in crowd { rig.poll.end() }
        #expect(fanOut.owesAnswers)
        while fanOut.answerNext() {}
        #expect(!fanOut.owesAnswers)
        #expect(crowd.allSatisfy { $0.answer == "" })
        #expect(deliver(fanOut, [("A", 5)]) == 0)
    }

    @Test func `whoever had the event from another node waits on, also when nobody else does`() throws {
        let fanOut = LoopFanOut<RecordingPort>(policy: StreamPolicy(), topics: ["t"])
        let rig = try Rig("A", fanOut, floor: 5)
        let other = try Rig("A", fanOut)
        _ = deliver(fanOut, [("A", 4)])
        while fanOut.answerNext() {}
        #expect((rig.answer, other.answer) == ("", "4"))
        #expect(deliver(fanOut, [("A", 5)]) == 1)
        while fanOut.answerNext() {}
        #expect(rig.answer == "5")
    }

    @Test func `whoever had the event from another node is owed the next one, though that came before its turn`() throws
    {
        let fanOut = LoopFanOut<RecordingPort>(policy: StreamPolicy(), topics: ["t"])
        let rig = try Rig("A", fanOut, floor: 6)
        for number in UInt64(4)..<9 { _ = deliver(fanOut, [("A", number)]) }
        while fanOut.answerNext() {}
        #expect(rig.answer == "6")
        // Nobody is left: nothing is kept for anybody.
        #expect(!fanOut.owesAnswers && deliver(fanOut, [("A", 9)]) == 0)
    }

    @Test func `the answer of a line is encoded once, however many lines have their turns between`() throws {
        let owed = PollLine<RecordingPort>.Owed(events: [StreamRig.event(4)], resets: 0)
        let line = PollLine<RecordingPort>()
        _ = line.close(with: owed)
        let encoder = FormEncoder(ids: ArchiveIDs(topics: ["t"]))
        func body(_ limit: Int, withAid: Bool) -> [UInt8] {
            line.body(owed, of: Account("A"), limit, withAid: withAid, encoder)
        }
        let bodies = (0..<2).map { _ in body(500, withAid: true) }
        let addresses = bodies.map { body in
            unsafe body.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        }
        #expect(addresses[0] == addresses[1])
        #expect(body(1, withAid: true) == bodies[0] && body(1, withAid: false) != bodies[0])
    }

    @Test func `a reset that came before the event is the answer, also when another one follows`() throws {
        let fanOut = LoopFanOut<RecordingPort>(policy: StreamPolicy(), topics: ["t"])
        let rig = try Rig("A", fanOut)
        fanOut.reset(.epoch, sequence: 4, cursors: [Account("A"): CursorText(bytes: Array("r1".utf8))])
        _ = deliver(fanOut, [("A", 5)])
        fanOut.reset(.epoch, sequence: 6, cursors: [Account("A"): CursorText(bytes: Array("r2".utf8))])
        while fanOut.answerNext() {}
        #expect(rig.answer == "410 epoch r2")
    }

    @Test func `resets of other accounts are nothing to a poll`() throws {
        let fanOut = LoopFanOut<RecordingPort>(policy: StreamPolicy(), topics: ["t"])
        let rig = try Rig("A", fanOut)
        for number in UInt64(4)..<8 {
            fanOut.reset(.epoch, sequence: number, cursors: [Account("B\(number)"): CursorText(bytes: [0x78])])
            if number == 5 { rig.poll.answerIfDue() }
        }
        _ = deliver(fanOut, [("A", 9)])
        fanOut.reset(.epoch, sequence: 10, cursors: [Account("B"): CursorText(bytes: [0x78])])
        while fanOut.answerNext() {}
        #expect(rig.answer == "9")
    }

    @Test func `a reset that came before the event is the answer`() throws {
        let fanOut = LoopFanOut<RecordingPort>(policy: StreamPolicy(), topics: ["t"])
        let early = try Rig("A", fanOut)
        fanOut.reset(.epoch, sequence: 4, cursors: [Account("A"): CursorText(bytes: Array("r1".utf8))])
        let late = try Rig("A", fanOut)
        _ = deliver(fanOut, [("A", 5)])
        while fanOut.answerNext() {}
        #expect((early.answer, late.answer) == ("410 epoch r1", "5"))
    }
}
