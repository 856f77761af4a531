import Archive
import Kafka
import KafkaLogs
import LiveUpdates
import Logging
import Reactor

/// Reads for the archive what live reading does not give: where partitions go on, and records that are no longer held.
///
/// On a loop of its own, since all of it waits for brokers. Its client exists only while there is something to read.
final class BehindReader {
    /// The client is closed when there was no call for so long.
    static let idleMilliseconds: UInt64 = 30_000
    /// How long one call may wait for records.
    static let readMilliseconds: Int64 = 1_000

    struct Work: Sendable {
        var questions: [ArchiveFeed.Question] = []
        var behind: [ArchiveFeed.Behind] = []
        /// What is stamped before is not kept; since 1970, in ms.
        var keptFrom: Int64 = 0
        /// Whether the broker is the one within librdkafka, which cannot search by time.
        var isEmbedded = false

        var isEmpty: Bool { questions.isEmpty && behind.isEmpty }
    }

    struct Answer: Sendable {
        struct Found: Sendable {
            let question: ArchiveFeed.Question
            let resolution: ArchiveFeed.Resolution
        }

        var found: [Found] = []
        /// A partition whose leader has not answered for long where it goes on.
        var open: PartitionName?
        var runs: [RecordRun] = []
        /// Parts whose logs are other ones than those that were read.
        var lostLogs: [ArchiveFeed.Behind] = []
        var records = 0
        /// Why nothing could be read at all.
        var failure: String?
    }

    private let settings: ConsumerSettings
    private let mapper: EventMapper
    private let loop: EventLoop
    private var reader: RangeReader?
    private var usedAt: UInt64 = 0
    private var turns = BehindTurns()
    /// How often the record at the same offset could not be read.
    private var unreadable: [PartitionName: (offset: Int64, count: Int)] = [:]

    init(_ settings: ConsumerSettings, _ mapping: EventMapping, loop: EventLoop) {
        self.settings = settings
        self.loop = loop
        mapper = EventMapper(mapping)
    }

    /// Blocks until there is something, or nothing arrived for a while.
    func work(_ work: Work) -> Answer {
        var answer = Answer()
        do throws(KafkaError) {
            let reader = try client()
            usedAt = loop.now
            ask(work, reader, &answer)
            if !work.behind.isEmpty { read(work.behind, reader, &answer) }
            loop.schedule(afterMilliseconds: Self.idleMilliseconds) { [weak self] in self?.rest() }
        } catch {
            answer.failure = "\(error)"
        }
        return answer
    }

    private static var now: UInt64 { EventLoop.microseconds / 1_000 }

    private func client() throws(KafkaError) -> RangeReader {
        if let reader { return reader }
        let made = try RangeReader(settings)
        reader = made
        return made
    }

    /// Closes the client where it was not used for a while.
    private func rest() {
        guard loop.now >= usedAt + Self.idleMilliseconds else { return }
        reader = nil
    }

    // MARK: - Where partitions go on

    /// Asks leaders until one does not answer. The next call asks the others first.
    private func ask(_ work: Work, _ reader: RangeReader, _ answer: inout Answer) {
        let questions = Dictionary(work.questions.map { ($0.partition, $0) }) { first, _ in first }
        for name in turns.order(Array(questions.keys), now: Self.now) {
            guard let question = questions[name] else { continue }
            if let resolution = resolve(question, work, reader) {
                answer.found.append(Answer.Found(question: question, resolution: resolution))
            }
            if turns.isSilent(name) { break }
        }
        answer.open = questions.keys.filter { turns.isSilentForLong($0) }.min()
    }

    /// Nil: it is not known yet.
    private func resolve(
        _ question: ArchiveFeed.Question, _ work: Work, _ reader: RangeReader
    ) -> ArchiveFeed.Resolution? {
        let name = question.partition
        var search = BehindSearch(question, keptFrom: work.keptFrom, isEmbedded: work.isEmbedded)
        while let asked = search.question {
            switch asked {
            case .bounds: search.receive(bounds: reader.bounds(of: name)?.range, &turns, now: Self.now)
            case .record(let offset):
                search.receive(record: record(of: name, at: offset, reader), &turns, now: Self.now)
            case .first(let time): search.receive(first: reader.first(of: name, since: time), &turns, now: Self.now)
            }
        }
        return search.resolution
    }

    /// Which record is exactly there.
    private func record(of name: PartitionName, at offset: Int64, _ reader: RangeReader) -> LogSearch.Answer {
        var found: LogSearch.Answer?
        let outcome = reader.read(
            [.init(name, at: offset)], maximumRecords: 1, milliseconds: Self.readMilliseconds
        ) { record in found = record.offset == offset ? .record(stamp: record.timestamp ?? -1) : .absent }
        if let found { return found }
        // There was no record: aborted, compacted, a marker, or deleted meanwhile.
        return outcome.first == .read(next: offset) ? .silent : .absent
    }

    // MARK: - What was read too long ago

    private func read(_ behind: [ArchiveFeed.Behind], _ reader: RangeReader, _ answer: inout Answer) {
        var recorder = RunRecorder()
        for part in behind {
            // What live reading has not reached, it has to read itself, to notice that a log is cut back there.
            recorder.begin(
                part.partition, at: part.range.lowerBound, upTo: part.range.upperBound, generation: part.generation)
        }
        let now = WallClock.milliseconds
        let starts = behind.map { RangeReader.Start($0.partition, at: $0.range.lowerBound) }
        let outcomes = reader.read(starts, milliseconds: Self.readMilliseconds) { record in
            answer.records += 1
            switch mapper.read(record) {
            case .event(let event):
                recorder.add(
                    event, and: mapper.left, record.partitionName, offset: record.offset, stamp: record.timestamp ?? -1,
                    now: now)
            case .skip:
                recorder.skip(record.partitionName, offset: record.offset, stamp: record.timestamp ?? -1)
            }
        }
        for (part, outcome) in zip(behind, outcomes) {
            switch outcome {
            case .read(let next): turns.read(part, to: next, &recorder)
            case .outOfRange:
                guard let bounds = reader.bounds(of: part.partition) else { continue }
                if turns.isLost(part, outOf: bounds.range, &recorder, now: Self.now) { answer.lostLogs.append(part) }
            case .unreadable: pass(part, reader, &recorder)
            }
        }
        answer.runs = recorder.take().runs()
    }

    /// A record that fails twice is left out, and reported as missing.
    private func pass(_ part: ArchiveFeed.Behind, _ reader: RangeReader, _ recorder: inout RunRecorder) {
        let (name, offset) = (part.partition, part.range.lowerBound)
        let known = unreadable[name]
        let count = known?.offset == offset ? (known?.count ?? 0) + 1 : 1
        unreadable[name] = (offset, count)
        guard count >= 2, let bounds = reader.bounds(of: name) else { return }
        unreadable[name] = nil
        var search = OffsetSearch(position: offset, isUnreadable: true)
        while let question = search.question(end: bounds.end) {
            var found: Int64?
            let outcome = reader.read(
                [.init(name, at: question)], maximumRecords: 1, milliseconds: Self.readMilliseconds
            ) { found = $0.offset }
            switch (found, outcome.first) {
            case (let offset?, _):
                search.add(.record(RecordMark(offset: offset, timestamp: -1, check: 0)), at: question)
            case (nil, .read(let next)?) where next > question || next >= bounds.end:
                search.add(.end(at: next), at: question)
            case (nil, .unreadable?): search.add(.unreadable, at: question)
            default: search.add(.silent, at: question)
            }
        }
        recorder.lose(name)
        recorder.move(name, to: max(offset + 1, min(search.readable ?? bounds.end, bounds.end)))
    }
}

@available(*, unavailable)
extension BehindReader: Sendable {}
