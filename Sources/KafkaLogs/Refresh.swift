/// A metadata refresh in progress: which step it is at, and what it has found so far.
struct Refresh {
    enum Step: Equatable {
        case metadata
        /// At the start, or where an answer would remove something: the answer of this broker itself.
        case secondMetadata(broker: Int32?)
        case topicIDs([TopicIDQuestion])
        case logEnds([PartitionName])
        case witnesses([Int])
        case floors([Int])
        /// Of partitions whose position the broker refused, or of which a new leader has to show where it begins.
        case logStarts([Int])
        case handovers([Int])
        case lastRecords([Int])
        case outOfRangeLogStarts([Int])
        /// Once more, for topics with logs that are not those for which the same leaders reported the id.
        case brokenTopicIDs([TopicIDQuestion])
        case openingLogStarts([PartitionName])
        case windowStarts([PartitionName])
        case firstRecords([PartitionName])
        /// At this distance, in offsets, before the start.
        case recordsBefore([PartitionName], distance: Int64)
        /// Behind batches that cannot be read.
        case recordsBehind([RecordQuestion])
    }

    /// An opened partition that is checked, as it was when the refresh began.
    struct Check {
        let name: PartitionName
        let incarnation: Int
        let anchor: LogAnchor
        let refused: Int64?
        var end: Int64
        var questions: (floor: Int64?, witness: Int64?) = (nil, nil)
        var answers: LogCheck.Answers
        var verdict = LogCheck.Verdict.open
        /// The leader has the record that was read last from another.
        var isHandoverKept = false
        /// Its log begins where the former leader's log did, or behind that, so that nothing can be missing before our start.
        var isStartKept = false
        /// What was found where the last record was read.
        var found: RecordAnswer?
    }

    /// How many leaders a refresh asks at most about topics that an answer lacks.
    static let maximumLeadersAsked = 8

    var step = Step.metadata
    let began: Moment
    /// What was read when it began: the answers can prove only that.
    let anchors: [[LogAnchor]]
    /// Of the first answer, by topic; empty if there was none.
    var metadata: [TopicMetadata] = []
    /// How many additional answers were requested from brokers at the start.
    var secondAnswers = 0
    /// Brokers that are still to be asked for their metadata, and topics that wait for it.
    var leadersToAsk: [Int32] = []
    var doubtful: Set<Int> = []
    /// The id that each broker reported for each topic of which it leads a partition, by topic and broker.
    var topicIDs: [Int: [Int32: TopicID]] = [:]
    /// Topics whose present id a leader reported now. The logs of that leader are known, and nothing is inferred.
    var identified: Set<Int> = []
    /// Whether the leaders of broken logs were asked for ids once more.
    var hasAskedBroken = false
    /// Topics without an id here for which leaders report different ones: none of their logs is opened.
    var disputed: Set<Int> = []
    /// Ids that were first reported while logs were read already. They become the topics' ids once these logs have held.
    var firstIDs: [Int: TopicID] = [:]
    var ends: [PartitionName: Int64] = [:]
    var checks: [Check] = []
    var openings: [PartitionName: OpeningAnswers] = [:]
    /// When the questions were sent whose answers the checks use as proof; wall clock.
    var checksBegan: Int64 = 0
    var openingsBegan: Int64 = 0
    /// When the checks, or the openings, have to be over; monotonic.
    var deadline: Int64 = 0
    /// When the first record behind an unreadable batch was requested; monotonic.
    var searchBegan: Int64?

    init(began: Moment, anchors: [[LogAnchor]]) {
        self.began = began
        self.anchors = anchors
    }
}

/// What has been answered about a partition that is to be opened.
struct OpeningAnswers {
    let origin: Origin
    let end: Int64
    var logStart: Int64
    /// Nil without a window, or where reading begins at the log start.
    var windowStart: OffsetAnswer?
    /// Whether reading begins at the log start because the leader refuses to report where the window begins.
    var isWindowRefused = false
    var first: RecordAnswer?
    /// What is before the start, as far as it was requested.
    var before: RecordAnswer?
}

extension LogTracker {
    /// The time limit for metadata and the ends of all partitions together: a broker that has not answered then is silent.
    static let metadataPatience: Int64 = 2_000
    /// The time limit for one broker's metadata, after which it counts as silent.
    static let metadataTimeout: Int64 = 1_500
    /// The time limit for checking the logs. With the interval of the refreshes it stays below `AnswerWatch.longestSilence`.
    static let checkTimeout: Int64 = 1_000
    /// The time limit for finding where reading begins.
    static let openingTimeout: Int64 = 2_000
    /// The shortest timeout of any question.
    static let shortestTimeout: Int64 = 100

    /// Begins a refresh, and returns what to ask first.
    package mutating func beginRefresh(_ now: Moment) -> Probe {
        wantsRefresh = false
        refresh = Refresh(began: now, anchors: topics.map { $0.partitions.map(\.anchor) })
        return Probe(question: .metadata(from: nil), timeout: Self.metadataTimeout)
    }

    /// Handles the answer to the last probe, and returns what to ask next; nil when the refresh is over.
    package mutating func receive(_ answer: ProbeAnswer, _ now: Moment) -> Probe? {
        guard let step = refresh?.step else { preconditionFailure("an answer without a refresh") }
        switch (step, answer) {
        case (.metadata, .metadata(let answer)):
            return adopt(answer, now)
        case (.metadata, .noMetadata(let reason)):
            notices.append(.metadataTrouble(reason: reason))
            // The leaders may answer nevertheless. They are assumed to be the former ones.
            return askLogEnds(now)
        case (.secondMetadata(let broker), .metadata(let answer)):
            return adoptSecond(answer, of: broker, now)
        case (.secondMetadata, .noMetadata): return askSecondMetadata(now)
        case (.topicIDs(let questions), .topicIDs(let answers)):
            identify(questions, answers, now)
            return askLogEnds(now)
        case (.logEnds(let names), .offsets(let answers)): return receiveLogEnds(names, answers, now)
        case (.witnesses(let checks), .offsets(let answers)):
            for (index, answer) in zip(checks, answers) { refresh?.checks[index].answers.witness = answer }
            return askFloors(now)
        case (.floors(let checks), .offsets(let answers)):
            for (index, answer) in zip(checks, answers) { refresh?.checks[index].answers.floor = answer }
            return checkLogs(now)
        case (.logStarts(let checks), .offsets(let answers)): return receiveLogStarts(of: checks, answers, now)
        case (.handovers(let checks), .records(let answers)): return receiveHandovers(checks, answers, now)
        case (.lastRecords(let checks), .records(let answers)): return receiveLastRecords(checks, answers, now)
        case (.outOfRangeLogStarts(let checks), .offsets(let answers)):
            settle(checks, logStarts: answers.map(\.offset))
            return concludeChecks(now)
        case (.brokenTopicIDs(let questions), .topicIDs(let answers)):
            identifyBroken(questions, answers, now)
            return concludeChecks(now)
        case (.openingLogStarts(let names), .offsets(let answers)): return receiveLogStarts(names, answers, now)
        case (.windowStarts(let names), .offsets(let answers)): return receiveWindowStarts(names, answers, now)
        case (.firstRecords(let names), .records(let answers)):
            for (name, answer) in zip(names, answers) { refresh?.openings[name]?.first = answer }
            return askRecordsBefore(1, now)
        case (.recordsBefore(let names, let distance), .records(let answers)):
            for (name, answer) in zip(names, answers) { refresh?.openings[name]?.before = answer }
            return askRecordsBefore(distance + 1, now)
        case (.recordsBehind(let questions), .records(let answers)): return receiveBehind(questions, answers, now)
        default: preconditionFailure("an answer to something that was not asked: \(step)")
        }
    }

    func timeLeft(_ now: Moment) -> Int64 { (refresh?.deadline ?? 0) - now.monotonic }

    mutating func ask(_ step: Refresh.Step, _ question: Probe.Question, timeout: Int64) -> Probe {
        refresh?.step = step
        return Probe(question: question, timeout: max(timeout, Self.shortestTimeout))
    }

    // MARK: - Ends

    /// Asks the leaders for the ends of their partitions.
    ///
    /// In a healthy cluster this proves that each leader answers. Metadata does not prove that, since any broker reports it.
    mutating func askLogEnds(_ now: Moment) -> Probe? {
        let names = allPartitions.filter { self[$0]?.leader != nil }
        guard !names.isEmpty, let began = refresh?.began.monotonic else { return finish(now) }
        return ask(
            .logEnds(names), .offsets(names, .logEnd), timeout: Self.metadataPatience - (now.monotonic - began))
    }

    private mutating func receiveLogEnds(
        _ names: [PartitionName], _ answers: [OffsetAnswer], _ now: Moment
    ) -> Probe? {
        guard let began = refresh?.began else { return nil }
        var gone: Set<Int> = []
        for (name, answer) in zip(names, answers) {
            let (topic, number) = (Int(name.topic), Int(name.number))
            guard number < topics[topic].partitions.count else { continue }
            switch answer {
            case .offset(let end) where end <= Self.maximumOffset:
                refresh?.ends[name] = end
                noteEnd(end, topic, number, asked: began.monotonic, now)
                topics[topic].partitions[number].endMoment = began.wall
            case .unknownPartition where topics[topic].partitions[number].opening != nil: gone.insert(topic)
            case .unknownPartition, .offset, .refused, .silent, .end:
                topics[topic].partitions[number].watch.fallSilent(at: now.monotonic)
            }
        }
        for topic in gone { leaderLacks(topic, now) }
        guard refresh?.metadata.isEmpty == false else { return finish(now) }
        return beginChecks(now)
    }

    private mutating func noteEnd(_ end: Int64, _ topic: Int, _ number: Int, asked: Int64, _ now: Moment) {
        topics[topic].partitions[number].watch.answer(at: now.monotonic)
        topics[topic].partitions[number].end = end
        topics[topic].partitions[number].endAsked = UInt64(max(1, asked))
        guard topics[topic].partitions[number].opening != nil else { return }
        if end > topics[topic].partitions[number].next {
            topics[topic].partitions[number].watch.fallBehind(at: now.monotonic)
            noteStandstill(name(topic, number), now)
        } else {
            topics[topic].partitions[number].watch.moveOn()
        }
        tryRight(name(topic, number), now)
        change(name(topic, number))
    }

    /// The only questions left are what is behind batches that cannot be read.
    mutating func finish(_ now: Moment) -> Probe? {
        if let probe = askBehind(now) { return probe }
        unloaded = topics.reduce(0) { $0 + $1.partitions.count { !$0.isLoaded } }
        refresh = nil
        return nil
    }
}
