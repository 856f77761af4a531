// Tests: LetGoByEntity.swift, History+Reading.swift, History+Resuming.swift

import TestHarness
import Testing

@testable import LiveUpdates

/// Filtered clients beside a plain list of all events that ever came: each is given everything that it wanted, or refused
/// because something was let go that it wanted, or that counts for all.
struct LetGoModelTests {
    @Test(arguments: 0..<400) func `a filtered client is given everything, or refused with a reason`(seed: Int) throws {
        var run = ModelRun(seed: UInt64(seed))
        for _ in 0..<300 { try run.step() }
        #expect(run.served > 0)
    }
}

private struct ModelRun {
    private struct Event {
        let sequence: UInt64
        let partition: PartitionName
        let offset: Int64
        let entity: String
        var isHeld = true
        /// It went while the log had been full since it was last empty: it is kept by entity.
        var isApart = false
    }

    /// A client with one filter: a cursor, or where a stream of it stands.
    private struct Client {
        let entities: EntityFilter?
        var cursor: [UInt8]
        /// Everything up to here was given or passed over.
        var sequence: UInt64
    }

    private static let account = TestHistory.account
    private static let partitions = [TestHistory.first, TestHistory.second]

    private let seed: UInt64
    private var numbers: SeededGenerator
    private let node: TestHistory
    private let maximumEvents: Int
    private let entities: [String]
    private var events: [Event] = []
    private var next: [Int64] = [0, 0]
    private var isFull = false
    private var clients: [Client] = []
    private(set) var served = 0

    init(seed: UInt64) {
        self.seed = seed
        numbers = SeededGenerator(seed: seed)
        let most = 1 + numbers.below(12)
        maximumEvents = most
        entities = (0..<(numbers.isOne(in: 2) ? 4 : 40)).map { "e\($0)" }
        node = TestHistory {
            $0.maximumEventsPerAccount = most
            $0.retentionMilliseconds = 10_000
            $0.maximumTimestampDelayMilliseconds = 1_000
        }
        for partition in Self.partitions { node.openWhole(partition, born: node.now - TestHistory.hour) }
        node.history.retain(Self.account)
    }

    mutating func step() throws {
        switch numbers.below(12) {
        case 0..<7: append()
        case 7: pass()
        case 8: begin()
        default: try poll()
        }
    }

    // MARK: - What comes, and what goes

    private mutating func append() {
        let index = numbers.below(2)
        // The last ones are rare: whoever wants them is away while others go by.
        let entity = entities[min(numbers.below(entities.count + 3), numbers.below(entities.count))]
        let stamp = numbers.isOne(in: 5) ? -1 : node.now - Int64(numbers.below(3_000))
        if events.count(where: \.isHeld) == maximumEvents { isFull = true }
        next[index] += Int64(numbers.below(2))
        let sequence = node.take(next[index], in: Self.partitions[index], at: stamp, entity: entity)
        events.append(
            Event(sequence: sequence, partition: Self.partitions[index], offset: next[index], entity: entity))
        next[index] += 1
        noteWhatWent()
    }

    private mutating func pass() {
        node.now += Int64(numbers.below(numbers.isOne(in: 10) ? 12_000 : 1_500))
        node.history.sweep(now: node.now)
        noteWhatWent()
    }

    private mutating func noteWhatWent() {
        var held: Set<UInt64> = []
        for part in node.history.logs[Self.account]?.parts ?? [] {
            var walk = PartitionLog.Walk(part)
            while let entry = walk.next() { held.insert(entry.mark.sequence) }
        }
        for index in events.indices where events[index].isHeld && !held.contains(events[index].sequence) {
            events[index].isHeld = false
            events[index].isApart = isFull
        }
        guard held.isEmpty else { return }
        isFull = false
        for index in events.indices { events[index].isApart = false }
    }

    // MARK: - Clients

    private mutating func begin() {
        let names = (0...numbers.below(3)).map { _ in entities[numbers.below(entities.count)] }
        let client = Client(
            entities: numbers.isOne(in: 6) ? nil : EntityFilter(names), cursor: node.fresh(),
            sequence: node.history.lastSequence)
        if clients.count < 8 { clients.append(client) } else { clients[numbers.below(8)] = client }
    }

    private mutating func poll() throws {
        guard let index = clients.indices.randomElement(using: &numbers) else { return }
        var client = clients[index]
        var position = StreamPosition(sequence: client.sequence)
        let isStream = numbers.isOne(in: 2)
        if !isStream {
            let cursor = try #require(Cursor(client.cursor))
            switch node.resume(client.cursor, entities: client.entities) {
            case .accepted(let accepted, _): position = accepted
            case .refused(.expired): return judge(client, cursor.positions)
            case let other: return fail("\(other)")
            }
        }
        let limit = 1 + numbers.below(4)
        while true {
            let answer = node.history.read(
                account: Self.account, from: position, limit: limit, entities: client.entities, now: node.now,
                withCursors: true)
            guard case .page(let page, let rest, let isComplete) = answer else {
                return judge(client, position.resume?.positions)
            }
            let upTo = isComplete ? node.history.lastSequence : page.last?.sequence ?? 0
            let wanted = events.filter {
                $0.sequence > client.sequence && $0.sequence <= upTo && isWanted($0, client.entities)
            }
            guard page.map(\.sequence) == wanted.map(\.sequence) else {
                return fail("given \(page.map(\.sequence)), not \(wanted.map(\.sequence)), after \(client.sequence)")
            }
            served += 1
            client.sequence = upTo
            // A stream has no cursor: the next one is of the page's end.
            client.cursor = isComplete ? node.fresh() : page.last?.at ?? []
            clients[index] = client
            if isComplete || numbers.isOne(in: 4) { return }
            position = rest
            // A stream's position is its own: cursors of the others go with it.
            if numbers.isOne(in: 2) { append() }
        }
    }

    private func isWanted(_ event: Event, _ entities: EntityFilter?) -> Bool {
        entities?.passes(event.entity) ?? true
    }

    /// Whether a refusal has a reason: positions of a cursor, or the sequence of a stream.
    private func judge(_ client: Client, _ positions: [Cursor.Position]?) {
        for partition in Self.partitions {
            let gone = events.filter { event in
                guard event.partition == partition, !event.isHeld else { return false }
                guard let positions else { return event.sequence > client.sequence }
                return event.offset >= positions.first { $0.partition == partition }?.offset ?? .min
            }
            if gone.contains(where: { isWanted($0, client.entities) || !$0.isApart }) { return }
            if Set(gone.map(\.entity)).count > LetGoByEntity.maximumEntities { return }
        }
        fail("refused after \(client.sequence) although nothing went that was wanted")
    }

    private func fail(_ text: String) { Issue.record("seed \(seed), \(events.count) events: \(text)") }
}
