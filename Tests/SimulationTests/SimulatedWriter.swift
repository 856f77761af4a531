import Archive
import KafkaLogs
import LiveUpdates
import ScriptedBroker

/// A node's writer of the archive: the real recorder, feed and searches, over a broker that is scripted.
struct SimulatedWriter {
    private struct Reading {
        let parts: [ArchiveFeed.Behind]
        var recorder = RunRecorder()
        /// What became of each; nil: it was not read yet.
        var lost: [ArchiveFeed.Behind] = []
        var isRead = false
    }

    private var recorder = RunRecorder()
    /// On their way to the writer.
    private var intake: [RecordBuffer] = []
    private var dropped = DroppedRecords()
    private(set) var feed = ArchiveFeed(topics: ["t"])
    private var claimedPartitions = 0
    private var askingTurns = BehindTurns()
    private var readingTurns = BehindTurns()
    /// Those that are not asked to the end, and those that are.
    private var searches: [BehindSearch]?
    private var found: [BehindSearch] = []
    private var reading: Reading?
    /// What the store has not answered yet, and in which session.
    private(set) var flight: (batch: ArchiveBatch, session: Int)?
    private let mutant: RuleMutant?

    init(_ mutant: RuleMutant?) { self.mutant = mutant }

    // MARK: - What the node reads

    mutating func note(_ change: LogChange) {
        switch change {
        case .facts(let name, let facts): recorder.note(name, facts)
        case .recreated(let topic): recorder.recreate(topic: topic)
        case .recordsLost(let name, .passedOver): recorder.setBack(name)
        case .recordsLost(let name, _): recorder.lose(name)
        case .found, .vanished, .identified: break
        }
    }

    mutating func note(
        _ record: SimulatedTopic.Record, _ index: Int, _ name: PartitionName, offset: Int64, _ now: Int64
    ) {
        Self.add(record, index, name, offset: offset, now, to: &recorder)
    }

    private static func add(
        _ record: SimulatedTopic.Record, _ index: Int, _ name: PartitionName, offset: Int64, _ now: Int64,
        to recorder: inout RunRecorder
    ) {
        let event = RecordedEvent(
            SimulatedNames.accounts[record.account], SimulatedNames.event(index, entity: record.entity))
        recorder.add(event, name, offset: offset, stamp: record.stamp, now: now)
    }

    func contradicts(_ positions: [PartitionPosition]) -> Bool {
        positions.contains { position in
            position.newest.contains {
                recorder.contradicts(.init(offset: $0.offset, stamp: $0.stamp), position.partition)
            }
        }
    }

    mutating func endWake() {
        guard !recorder.isEmpty else { return }
        let buffer = recorder.take()
        // What follows something that was dropped is dropped too.
        if dropped.isEmpty { intake.append(buffer) } else { dropped.add(buffer) }
    }

    mutating func refreshed(_ topics: [TopicAnswers]) { feed.refreshed(topics) }

    mutating func drop() {
        for buffer in intake { dropped.add(buffer) }
        intake = []
    }

    private mutating func receive(_ wall: Int64, _ now: UInt64) {
        for buffer in intake { feed.receive(buffer, now: now, wallClock: wall) }
        feed.miss(dropped, now: now, wallClock: wall)
        (intake, dropped) = ([], DroppedRecords())
    }

    // MARK: - The store

    mutating func fail() {
        feed.disclaim()
        flight = nil
        claimedPartitions = 0
    }

    mutating func claim(_ store: inout SimulatedStore, _ node: Int, wall: Int64, _ now: UInt64) {
        guard flight == nil else { return }
        receive(wall, now)
        let partitions = feed.partitions
        guard !partitions.isEmpty else { return }
        guard store.trouble != .away else { return fail() }
        if store.isShared || partitions.count != claimedPartitions {
            feed.claim(store.claim(partitions, by: node))
            claimedPartitions = partitions.count
        }
        if store.isShared { feed.release(store.stored, now: now) }
        if feed.findGone(in: store.stored, now: now, wallClock: wall) { claimedPartitions = 0 }
    }

    mutating func begin(_ store: SimulatedStore, _ node: Int, events: Int, wall: Int64, _ now: UInt64) {
        guard flight == nil else { return }
        receive(wall, now)
        guard let batch = feed.nextBatch(maximumEvents: events) else { return }
        flight = (batch, store.sessions[node] ?? 0)
    }

    /// - Parameter isReceived: whether the node is told how it went.
    mutating func commit(
        _ store: inout SimulatedStore, _ node: Int, _ topic: SimulatedTopic, isReceived: Bool = true, _ now: UInt64
    ) {
        guard let flight else { return }
        guard store.trouble == .none, flight.session == store.sessions[node] ?? 0 else { return fail() }
        store.append(flight.batch, topic)
        guard isReceived else { return fail() }
        self.flight = nil
        feed.appended(now: now)
    }

    // MARK: - What is asked of Kafka

    var hasQuestions: Bool { searches != nil || !feed.questions.isEmpty }

    /// Has one answer more; when all are there, they are handed over.
    mutating func ask(_ broker: ScriptedBroker, _ now: UInt64) {
        guard let open = searches else {
            let questions = Dictionary(feed.questions.map { ($0.partition, $0) }) { first, _ in first }
            let names = askingTurns.order(Array(questions.keys), now: now)
            searches =
                names.isEmpty
                ? nil
                : names.compactMap { questions[$0] }.map {
                    BehindSearch($0, keptFrom: 0, isEmbedded: false)
                }
            return
        }
        guard var search = open.first, let question = search.question else { return endAsking() }
        let name = search.partition
        switch question {
        case .bounds: search.receive(bounds: broker.bounds(of: name), &askingTurns, now: now)
        case .record(let offset):
            search.receive(record: broker.record(of: name, at: offset), &askingTurns, now: now)
        case .first(let time):
            search.receive(first: broker.first(of: name, since: time), &askingTurns, now: now)
        }
        searches?[0] = search
        guard search.question == nil else { return }
        if search.resolution != nil { found.append(search) }
        searches?.removeFirst()
        if askingTurns.isSilent(name) || searches?.isEmpty == true { endAsking() }
    }

    private mutating func endAsking() {
        for search in found {
            guard let resolution = search.resolution else { continue }
            feed.resolve(search.asked, mutant?.change(resolution, next: search.asked.next) ?? resolution)
        }
        (searches, found) = (nil, [])
    }

    var hasBehind: Bool { reading != nil || !feed.behind.isEmpty }

    mutating func reread(
        _ broker: ScriptedBroker, _ topic: SimulatedTopic, atMost count: Int, wall: Int64, _ now: UInt64
    ) {
        guard var reading else {
            let parts = feed.behind.sorted { $0.partition < $1.partition }
            self.reading = parts.isEmpty ? nil : Reading(parts: parts)
            return
        }
        guard !reading.isRead else {
            for run in reading.recorder.take().runs() { feed.reread(run) }
            for part in reading.lost { feed.loseLog(part) }
            self.reading = nil
            return
        }
        for part in reading.parts { read(part, &reading, broker, topic, count, wall, now) }
        reading.isRead = true
        self.reading = reading
    }

    private mutating func read(
        _ part: ArchiveFeed.Behind, _ reading: inout Reading, _ broker: ScriptedBroker, _ topic: SimulatedTopic,
        _ count: Int, _ wall: Int64, _ now: UInt64
    ) {
        let name = part.partition
        reading.recorder.begin(
            name, at: part.range.lowerBound, upTo: part.range.upperBound, generation: part.generation)
        // A leader that does not know the partition says nothing.
        guard let bounds = broker.bounds(of: name) else { return }
        guard part.range.lowerBound >= bounds.lowerBound, part.range.lowerBound <= bounds.upperBound else {
            if readingTurns.isLost(part, outOf: bounds, &reading.recorder, now: now) { reading.lost.append(part) }
            return
        }
        var next = part.range.lowerBound
        var left = count
        while left > 0 {
            guard let (offset, record) = broker.log(0, Int(name.number)).first(from: next) else {
                next = bounds.upperBound
                break
            }
            let index = record.payload
            Self.add(topic.records[index], index, name, offset: offset, wall, to: &reading.recorder)
            next = offset + 1
            left -= 1
        }
        readingTurns.read(part, to: next, &reading.recorder)
    }
}

extension ScriptedBroker {
    fileprivate func bounds(of name: PartitionName) -> Range<Int64>? {
        guard case .offset(let start) = offset(of: name, .logStart), case .offset(let end) = offset(of: name, .logEnd)
        else { return nil }
        return start..<end
    }

    fileprivate func first(of name: PartitionName, since time: Int64) -> OffsetAnswer {
        offset(of: name, .times([time]))
    }

    private func offset(of name: PartitionName, _ time: OffsetTime) -> OffsetAnswer {
        let probe = Probe(question: .offsets([name], time), timeout: 0)
        guard case .offsets(let answers) = answer(probe), let answer = answers.first else { return .silent }
        return answer
    }

    fileprivate func record(of name: PartitionName, at offset: Int64) -> LogSearch.Answer {
        guard exists(Int(name.topic)), Int(name.number) < partitions(Int(name.topic)) else { return .silent }
        let log = log(Int(name.topic), Int(name.number))
        guard let found = log.first(from: offset), found.offset == offset else { return .absent }
        return .record(stamp: found.record.timestamp)
    }
}
