import Archive
import GatewaySettings
import Kafka
import KafkaLogs
import LiveUpdates
import Logging
import Reactor

/// Writes into the archive what the node reads: one call of the store at a time, and nothing waits for it.
///
/// An actor beside the loops: a store may need seconds for a call. ``ArchiveFeed`` decides. What it cannot hold, and what no
/// node has written, is read once more.
actor ArchiveFeeder {
    struct Settings: Sendable {
        let store: ArchiveStoreSetting
        let passwordFile: String?
        let keepMilliseconds: Int64
        let kafka: ConsumerSettings
        let mapping: EventMapping
    }

    /// Between the beginnings of two transactions, unless one is full.
    static let batchMilliseconds: UInt64 = 100
    /// The longest time between two passes, in which what is due by time is done.
    static let tickMilliseconds: UInt64 = 250
    /// A store that does not answer for so long is reported.
    static let patienceMilliseconds: UInt64 = 2_000

    let settings: Settings
    let intake: ArchiveIntake
    let access: ArchiveAccess
    let counters: ArchiveCounters
    let readiness: NodeReadiness
    let report: ArchiveReport
    let failure: @Sendable (GatewayError) -> Void
    /// One finds where to go on, the other reads what is behind: neither waits for the other.
    let asker: LoopBound<BehindReader>
    let reader: LoopBound<BehindReader>
    /// Called with marks that other nodes have moved.
    let moved: @Sendable (ReadNotice) -> Void

    var feed: ArchiveFeed
    var store: (any ArchiveStore)?
    var server: String?
    /// The store is not called before this moment; monotonic, in ms.
    var retryAt: UInt64 = 0
    var trouble = StoreTrouble()
    var damage = DamagedFiles()
    var claimsAt: UInt64 = 0
    /// Nil: they are to be claimed at the next chance.
    var claimedPartitions: [ArchivePartition]?
    var batchAt: UInt64 = 0
    var isAsking = false
    var isReading = false
    var erasures = PendingErasures()
    var keeping = ArchiveKeeping()
    var overwriting: Task<Void, Never>?
    /// The error that ended it.
    var overwriteError: ArchiveError?
    /// For stores without a clock of their own.
    var clock = KeepClock(steady: ArchiveFeeder.now)
    /// What is stamped before is not kept; nil: that is not known.
    var keptFrom: Int64?
    private var isStopping = false
    private var running: Task<Void, Never>?
    private var ticking: Task<Void, Never>?

    init(
        _ settings: Settings, intake: ArchiveIntake, access: ArchiveAccess, counters: ArchiveCounters,
        readiness: NodeReadiness, logger: Logger, asker: LoopBound<BehindReader>, reader: LoopBound<BehindReader>,
        moved: @escaping @Sendable (ReadNotice) -> Void, failure: @escaping @Sendable (GatewayError) -> Void
    ) {
        self.settings = settings
        self.intake = intake
        self.access = access
        self.counters = counters
        self.readiness = readiness
        self.asker = asker
        self.reader = reader
        self.moved = moved
        self.failure = failure
        report = ArchiveReport(logger: logger, store: settings.store)
        feed = ArchiveFeed(topics: settings.kafka.orderedTopics)
    }

    static var now: UInt64 { EventLoop.microseconds / 1000 }

    // MARK: - From start to end

    func start() {
        report("the archive is not open yet")
        running = Task { await run() }
        ticking = Task {
            while !Task.isCancelled {
                watch()
                intake.ring()
                try? await Task.sleep(for: .milliseconds(Self.tickMilliseconds))
            }
        }
    }

    /// Stores what is there, as far as the store accepts it, and closes the store. Ingest has ended.
    func stop() async {
        isStopping = true
        intake.ring()
        await running?.value
        ticking?.cancel()
        access.close()
        let closing = store
        // A running call is no error of an open store.
        store = nil
        await closing?.close()
        await overwriting?.value
    }

    private func run() async {
        for await _ in intake.bell {
            await pass()
            if isStopping { break }
        }
    }

    /// Runs also while the store does not answer a call.
    private nonisolated func watch() {
        guard let overdue = counters.overdue(now: Self.now) else { return }
        report("the store has not answered for \(overdue / 1000) s")
        report.slow(milliseconds: overdue, now: Self.now)
    }

    nonisolated func report(_ why: String?) {
        readiness.report(.archive, why)
        access.setTrouble(why)
    }

    /// One pass over all tasks.
    private func pass() async {
        receive()
        guard let server, Self.now >= retryAt else { return }
        // By then all erasures are known that were written while the node was away.
        guard readiness.hasReadControl else { return report("the control topic is not read yet") }
        if store == nil { await open(server) }
        guard store != nil else { return }
        do throws(ArchiveError) {
            if case .corrupt(let why)? = access.takeReport() { throw .corrupt(why) }
            try await erase()
            // Clients must not read what is still to be erased.
            if access.store == nil, let store { access.open(store) }
            try await checkClock()
            try await claim()
            readBehind()
            try await append()
            try await keep()
            counters.setWaitsSince(feed.waitsSince(ofAll: true))
        } catch {
            await fail(error)
        }
    }

    private func receive() {
        let contents = intake.take()
        server = server ?? contents.server
        for buffer in contents.buffers {
            let (wall, steady) = (WallClock.milliseconds, Self.now)
            buffer.eachStamp { clock.note(stamp: $0, wall: wall, steady: steady) }
            feed.receive(buffer, now: steady, wallClock: wall)
        }
        // If there are several at once, they are distinguished by their moments; as a rule there is one.
        for moment in Set(contents.erasures.entries.values.map(\.moment)) { feed.noteErasure(until: moment) }
        feed.miss(contents.dropped, now: Self.now, wallClock: WallClock.milliseconds)
        if let topics = contents.topics { feed.refreshed(topics) }
        var areAllNoted = !contents.hasLostErasures
        for (record, entry) in contents.erasures.entries {
            let isAdded = erasures.add(record, entry)
            areAllNoted = areAllNoted && isAdded
        }
        if !areAllNoted { report.tooManyErasures(now: Self.now) }
        if store == nil || trouble.isTroubled { counters.setWaitsSince(feed.waitsSince(ofAll: true)) }
    }

    // MARK: - The store

    /// Calls the store, and measures how long that lasts.
    func ask<Value>(
        _ body: (any ArchiveStore) async throws(ArchiveError) -> Value
    ) async throws(ArchiveError) -> Value {
        guard let store else { throw .closed }
        counters.beginCall(now: Self.now, patience: Self.patienceMilliseconds)
        defer { counters.endCall() }
        return try await body(store)
    }

    private func claim() async throws(ArchiveError) {
        let partitions = feed.partitions
        guard !partitions.isEmpty else { return }
        let (isShared, isOther) = (settings.store.isShared, partitions != claimedPartitions)
        guard Self.now >= claimsAt || isOther else { return }
        claimsAt = Self.now + (isShared ? 500 : 2_000)
        if isShared || isOther {
            feed.claim(try await ask { store async throws(ArchiveError) in try await store.claim(partitions) })
            claimedPartitions = partitions
        }
        let stored = try await ask { store async throws(ArchiveError) in try await store.positions() }
        if isShared { feed.release(stored, now: Self.now) }
        if feed.findGone(in: stored, now: Self.now, wallClock: WallClock.milliseconds) { claimedPartitions = nil }
    }

    private func append() async throws(ArchiveError) {
        while true {
            let now = Self.now
            let isFull = feed.countReady(upTo: ArchiveFeed.maximumBatchEvents) >= ArchiveFeed.maximumBatchEvents
            guard isFull || isStopping || now >= batchAt + Self.batchMilliseconds else {
                return ring(afterMilliseconds: batchAt + Self.batchMilliseconds - now)
            }
            guard let batch = feed.nextBatch() else { break }
            batchAt = now
            let outcome = try await ask { store async throws(ArchiveError) in try await store.append(batch) }
            feed.appended(now: Self.now)
            recover(hasStored: true)
            if outcome.tooOld > 0 { counters.count { $0.tooOld += outcome.tooOld } }
            if outcome.gaps > 0 {
                counters.count { $0.gaps += outcome.gaps }
                report.gaps(outcome.gaps, batch)
            }
            receive()
            // The erasure is applied before what is stored next.
            if !erasures.isEmpty { return intake.ring() }
        }
        recover(hasStored: false)
    }

    private func ring(afterMilliseconds milliseconds: UInt64) {
        Task { [intake] in
            try? await Task.sleep(for: .milliseconds(milliseconds))
            intake.ring()
        }
    }

    // MARK: - What has to be read once more

    private func readBehind() {
        guard !isStopping else { return }
        var (questions, behind) = (BehindReader.Work(), BehindReader.Work())
        if !isAsking { questions.questions = feed.questions }
        if !isReading { behind.behind = feed.behind }
        isAsking = isAsking || start(questions, asker, isReading: false)
        isReading = isReading || start(behind, reader, isReading: true)
    }

    /// False: there is no work.
    private func start(_ work: BehindReader.Work, _ reader: LoopBound<BehindReader>, isReading: Bool) -> Bool {
        guard !work.isEmpty else { return false }
        var work = work
        // Where it is unknown, all that Kafka has is read: what is too old is dropped as soon as that is known.
        work.keptFrom = max(0, keptFrom ?? 0)
        work.isEmbedded = server?.hasPrefix("mockCluster") == true
        reader.loop.execute { [work] in
            let answer = reader.value.work(work)
            Task { await self.receive(answer, isReading: isReading) }
        }
        return true
    }

    private func receive(_ answer: BehindReader.Answer, isReading: Bool) {
        if isReading { self.isReading = false } else { isAsking = false }
        for found in answer.found { feed.resolve(found.question, found.resolution) }
        if let open = answer.open { report.leaderIsSilent(settings.kafka.orderedTopics, open, now: Self.now) }
        let (wall, steady) = (WallClock.milliseconds, Self.now)
        for run in answer.runs {
            run.eachStamp { clock.note(stamp: $0, wall: wall, steady: steady) }
            feed.reread(run)
        }
        for lost in answer.lostLogs { feed.loseLog(lost) }
        if let failure = answer.failure { report.cannotRead(failure, now: Self.now) }
        // If nothing was read, the next tick asks again.
        if !answer.found.isEmpty || answer.records > 0 { intake.ring() }
    }
}
