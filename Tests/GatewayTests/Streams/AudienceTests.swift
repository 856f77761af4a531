// Tests: LoopFanOut.swift

import LiveUpdates
import TestHarness
import Testing

@testable import Gateway

/// Many subscribers of one account, with many filters, that come and go.
struct AudienceTests {
    /// One client, and what it should have been given.
    private struct Member {
        let rig: MemberRig
        let entities: EntityFilter?
        var expected: [String] = []
    }

    private final class MemberRig {
        let port = RecordingPort(.webSocket)
        let stream: LiveStream<RecordingPort>

        init(_ target: String, _ fanOut: LoopFanOut<RecordingPort>) throws {
            let parameters = try LiveParameters.parse(requestHead(target), isEventStream: false)
            stream = LiveStream(
                parameters, form: StreamForm(parameters, .webSocket), account: StreamRig.account, port: port,
                fanOut: fanOut)
            stream.begin(since: nil)
            stream.joined(JoinAnswer(outcome: .now, sequence: 0, fresh: .none), now: 0)
            _ = port.takeSaid()
        }
    }

    private static let entities = (0..<40).map { "e\($0)" }

    private static func event(_ sequence: UInt64, _ entity: String) -> LoggedEvent {
        LoggedEvent(
            event: ThinEvent(entity: entity, id: "\(sequence)", type: "t"),
            partition: PartitionName(topic: 0, number: 0), offset: Int64(sequence), timestamp: 1, sequence: sequence,
            at: [])
    }

    @Test(arguments: 1...5) func `each gets what its filter passes, in order, whoever comes and goes`(seed: UInt64)
        throws
    {
        var random = SeededGenerator(seed: seed)
        let fanOut = LoopFanOut<RecordingPort>(policy: StreamPolicy(), topics: ["t"])
        var members: [Member] = []
        var sequence: UInt64 = 0
        for _ in 0..<400 {
            switch random.below(4) {
            case 0:
                let names = (0..<random.below(5)).map { _ in Self.entities[random.below(40)] }
                let target = names.isEmpty ? "/live/v1" : "/live/v1?ent=\(names.joined(separator: ","))"
                members.append(Member(rig: try MemberRig(target, fanOut), entities: EntityFilter(names)))
            case 1 where !members.isEmpty:
                let gone = members.remove(at: random.below(members.count))
                #expect(gone.rig.port.takeSaid() == gone.expected)
                gone.rig.stream.end()
            default:
                let batch = (0..<(1 + random.below(6))).map { _ in
                    sequence += 1
                    return Self.event(sequence, Self.entities[random.below(40)])
                }
                for index in members.indices {
                    let passing = batch.filter { members[index].entities?.passes($0.event.entity) ?? true }
                    members[index].expected += passing.map {
                        #"{"ent":"\#($0.event.entity)","id":"\#($0.sequence)","type":"t"}"#
                    }
                }
                let passed = AccountEvents(account: StreamRig.account, events: batch)
                _ = fanOut.deliver([passed], sequence: sequence, now: 0)
            }
        }
        #expect(members.contains { !$0.expected.isEmpty })
        for member in members {
            #expect(member.rig.port.takeSaid() == member.expected)
            member.rig.stream.end()
        }
        // Everybody has gone: nothing is kept, and nothing is counted.
        let last = AccountEvents(account: StreamRig.account, events: [Self.event(sequence + 1, "e1")])
        #expect(fanOut.deliver([last], sequence: sequence + 1, now: 0) == 0)
    }

    /// With a reset that is still to be handled, one that has not taken all of what it was given falls behind.
    @Test(arguments: [false, true], [0, 10]) func `a read mark is told once, whatever its stream does meanwhile`(
        isReset: Bool, pendingBytes: Int
    ) throws {
        let fanOut = LoopFanOut<RecordingPort>(policy: StreamPolicy(), topics: ["t"])
        let rigs = try ["/live/v1?with=at", "/live/v1?with=at&ent=e1", "/live/v1?with=at"].map {
            try MemberRig($0, fanOut)
        }
        for rig in rigs.dropLast() { rig.port.person = "ann" }
        for rig in rigs { rig.port.pendingBytes = pendingBytes }
        if isReset {
            fanOut.reset(.expired, sequence: 0, cursors: [StreamRig.account: CursorText(bytes: Array("c".utf8))])
        }
        let upTo = ArchiveID(stamp: 1, topic: 0, partition: 0, offset: 0, check: 0)
        fanOut.read(ReadNotice(account: StreamRig.account, person: "ann", thing: nil, upTo: upTo), now: 0)
        for (rig, expected) in zip(rigs, [1, 1, 0]) {
            let said = rig.port.takeSaid().filter { $0.contains("\"read\"") }.count
            #expect(said + (rig.stream.owedControls?.reads.count ?? 0) == expected)
            rig.stream.end()
        }
    }

    @Test func `messages are counted that pass, and those alone`() throws {
        let fanOut = LoopFanOut<RecordingPort>(policy: StreamPolicy(), topics: ["t"])
        let rigs = try ["/live/v1", "/live/v1?ent=e1", "/live/v1?ent=e1,e2", "/live/v1?ent=e3"].map {
            try MemberRig($0, fanOut)
        }
        let events = AccountEvents(account: StreamRig.account, events: [Self.event(1, "e1"), Self.event(2, "e2")])
        #expect(fanOut.deliver([events], sequence: 2, now: 0) == 2 + 1 + 2)
        #expect(rigs.map { $0.port.takeSaid().count } == [2, 1, 2, 0])
    }

    @Test func `an event is encoded once for all filters that it passes`() {
        let encoder = FormEncoder(ids: ArchiveIDs(topics: ["t"]))
        encoder.begin((1...3).map { Self.event($0, "e\($0)") }, of: StreamRig.account)
        let form = StreamForm()
        let alone = encoder.some([1], form)
        #expect(alone == encoder.messages([Self.event(2, "e2")], of: StreamRig.account, form))
        let events = [Self.event(1, "e1"), Self.event(3, "e3")]
        #expect(encoder.some([0, 2], form) == encoder.messages(events, of: StreamRig.account, form))
        #expect(encoder.some([0, 1, 2], form) == encoder.all(form))
    }

    @Test func `what one client alone is given is not deflated`() {
        let encoder = FormEncoder(ids: ArchiveIDs(topics: ["t"]))
        let events = [Self.event(1, "e1"), Self.event(2, "e2")]
        let deflated = StreamForm(carrier: .deflated, withAt: true)
        let page = encoder.page(events, of: StreamRig.account, deflated)
        #expect(page == encoder.page(events, of: StreamRig.account, StreamForm(withAt: true)))
        #expect(page != encoder.messages(events, of: StreamRig.account, deflated))
    }
}
