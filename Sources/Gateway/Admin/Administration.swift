import GatewaySettings
import HTTP
import KafkaLogs
import LiveUpdates
import Logging
import Reactor
import Synchronization

/// What a node as a whole does when it is asked to.
struct NodeControl: Sendable {
    /// Drains the node within the window; nil: that of the settings.
    let drain: @Sendable (_ window: Duration?) async -> Void
    /// Cancels the drain. False: it is too late.
    let undrain: @Sendable () async -> Bool
}

/// Holds what the rows of the administration need for their answers. Any thread may use it; data of a loop is asked for there.
package final class Administration: Sendable, AdminSite {
    let readiness: NodeReadiness
    let logger: Logger
    private let control: NodeControl
    let loop: EventLoop
    let connectionLoops: [LoopBound<ConnectionLoop>]
    let requests: LoopBound<IngestRequests>
    let quota: ConnectionQuota
    let startedMilliseconds = WallClock.milliseconds
    /// What is counted elsewhere; from any thread.
    private let others: @Sendable () -> OtherCounts
    private let held: Mutex<Rules>
    private let known: Mutex<Known>
    private let watch: LoopBound<NodeWatch>

    /// The settings that it follows, and what they name.
    struct Rules: Sendable {
        var gate: AdminGate
        /// A request with its body has this long.
        var requestMilliseconds: UInt64
        /// Of the clients' listeners, in seconds since 1970.
        var certificateEnd: Int64?
    }

    /// The last answers. If a loop does not answer now, its last answer replaces a new one, so that no counter goes back.
    private struct Known {
        var loops: [LoopReport?]
        var ingest: IngestReport?
        var partitions: [PartitionState] = []
        var partitionsOrder: UInt64 = 0
        var lags: [PartitionName: PartitionLag] = [:]
    }

    /// Only on the administration's loop. Begins to watch the loops with ``begin()``.
    init(
        loop: EventLoop, connectionLoops: [LoopBound<ConnectionLoop>], requests: LoopBound<IngestRequests>,
        quota: ConnectionQuota,
        rules: Rules,
        readiness: NodeReadiness, control: NodeControl, others: @escaping @Sendable () -> OtherCounts, logger: Logger
    ) {
        self.loop = loop
        self.connectionLoops = connectionLoops
        self.requests = requests
        self.quota = quota
        self.readiness = readiness
        self.logger = logger
        self.control = control
        self.others = others
        held = Mutex(rules)
        known = Mutex(Known(loops: Array(repeating: nil, count: connectionLoops.count)))
        let watched = connectionLoops.map { (name: "loop \($0.loop.label)", loop: $0.loop) }
        watch = LoopBound(
            NodeWatch(loop: loop, watched: watched + [("ingest", requests.loop)], readiness: readiness), loop: loop)
    }

    /// Only on the loop.
    func begin() { watch.value.start(self) }

    /// Watches another loop too. Any thread.
    func watch(_ name: String, _ watched: EventLoop) {
        loop.execute { [watch] in watch.value.add(name, watched) }
    }

    /// Read for each request.
    private var rules: Rules { held.withLock { $0 } }

    var requestMilliseconds: UInt64 { rules.requestMilliseconds }

    /// Settings and what they name were read again. A request that has begun keeps the time that it had.
    func adopt(_ rules: Rules) { held.withLock { $0 = rules } }

    var date: String { HTTPDate.text(secondsSince1970: Int(WallClock.milliseconds / 1000)) }

    /// Only on the loop.
    func reply(to request: AdminRequest) throws(AdminRefusal) -> AdminReply {
        let (row, request) = try rules.gate.admit(request, rows: AdminRows.all)
        let audit = AdminAudit(request)
        switch row.answering {
        case .atOnce(let make):
            do throws(AdminRefusal) {
                let answer = try make(self, request)
                self.audit(audit, status: answer.status)
                return .now(answer)
            } catch {
                self.audit(audit, status: error.answer.status)
                throw error
            }
        case .later(let make):
            return .later { () async throws(AdminRefusal) in
                do throws(AdminRefusal) {
                    let answer = try await make(self, request)
                    self.audit(audit, status: answer.status)
                    return answer
                } catch {
                    self.audit(audit, status: error.answer.status)
                    throw error
                }
            }
        }
    }

    // MARK: - Rows that ask no other loop

    /// Only on the loop. Asks no broker, and no other loop.
    func livez() -> AdminAnswer {
        if let stuck = watch.value.stuck { return AdminAnswer(503, stuck) }
        return AdminAnswer(200, "ok")
    }

    /// Only on the loop.
    func readyz(_ request: AdminRequest) -> AdminAnswer {
        let verdict = readiness.verdict(now: loop.now)
        let status = verdict == .ready ? 200 : 503
        guard request.parameters["verbose"] == .absent else {
            let lines = readiness.lines(now: loop.now).map { part, why in
                why.map { "[-]\(part.rawValue) \($0)" } ?? "[+]\(part.rawValue) ok"
            }
            return AdminAnswer(status, lines.joined(separator: "\n"))
        }
        return switch verdict {
        case .ready: AdminAnswer(status, "ready")
        case .draining: AdminAnswer(status, "draining")
        case .notReady(let part, let why): AdminAnswer(status, "\(part.rawValue): \(why)")
        }
    }

    func setLogLevel(_ request: AdminRequest) throws(AdminRefusal) -> AdminAnswer {
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0D, 0x0A]
        let word = request.body.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed()
        guard let level = LogLevel(name: String(decoding: Array(word), as: UTF8.self)) else {
            throw .badParameter("The body is none of \(LogLevel.allCases.map(\.name).joined(separator: ", ")).")
        }
        // Logged under the old level or under the new one, whichever lets the line through.
        if level <= logger.level { logger.setLevel(level) }
        logger.notice("log level set", [.text: .text(level.name)])
        logger.setLevel(level)
        return AdminAnswer(200, level.name)
    }

    // MARK: - Rows that concern the whole node

    func drain(_ request: AdminRequest) async throws(AdminRefusal) -> AdminAnswer {
        var window: Duration?
        if let text = try request.text("window") {
            window = LifecycleTable.time(text)
            guard window != nil else {
                throw .badParameter("window is not \(LifecycleTable.expectedTime): '\(text)'.")
            }
        }
        await control.drain(window)
        return AdminAnswer(202, "draining")
    }

    func undrain() async throws(AdminRefusal) -> AdminAnswer {
        guard await control.undrain() else { throw .conflict("The node is stopping: this cannot be cancelled.") }
        return AdminAnswer(200, "clients are let in")
    }

    // MARK: - What is known of the node

    func history() async -> LoadHistory {
        await watch.ask(within: Self.questionMilliseconds) { $0.history } ?? LoadHistory()
    }

    /// Asks all loops at once.
    ///
    /// - Parameter whole: whether the process's own use is asked for too, which reads a folder as long as the list of its
    ///   descriptors.
    func report(whole: Bool) async -> NodeReport {
        async let ingest = askIngest()
        async let loops = askLoops()
        var report = NodeReport()
        for loop in await loops { report.loops = report.loops + loop }
        report.ingest = await ingest
        report.lags = lags(report.ingest?.topics ?? [])
        let verdict = readiness.verdict(now: EventLoop.microseconds / 1000)
        (report.isReady, report.isDraining) = (verdict == .ready, verdict == .draining)
        report.readsControl = readiness.readsControl
        report.startedMilliseconds = startedMilliseconds
        report.usage = whole ? ProcessUsage.now() : nil
        report.certificateEnd = rules.certificateEnd
        report.droppedLines = logger.dropped
        report.others = others()
        return report
    }

    private func askLoops() async -> [LoopReport] {
        await withTaskGroup(of: Void.self) { group in
            for (index, connections) in connectionLoops.enumerated() {
                group.addTask { [self] in
                    let answer = await connections.ask(within: Self.questionMilliseconds) { $0.report }
                    if let answer { known.withLock { $0.loops[index] = answer } }
                }
            }
        }
        return known.withLock { known in known.loops.map { $0 ?? LoopReport() } }
    }

    private func askIngest() async -> IngestReport? {
        let answer = await requests.ask(within: Self.questionMilliseconds) { $0.report }
        if let answer, let report = answer {
            known.withLock { $0.ingest = report }
            await askPartitions(report.partitions)
        }
        return known.withLock { $0.ingest }
    }

    /// In slices, however many there are.
    private func askPartitions(_ count: Int) async {
        var states: [(state: PartitionState, order: UInt64)] = []
        while states.count < count {
            let first = states.count
            let answer = await requests.ask(within: Self.questionMilliseconds) { $0.partitions(from: first) }
            guard let answer, !answer.states.isEmpty else { return }
            states += answer.states.map { ($0, answer.order) }
        }
        let now = EventLoop.microseconds / 1000
        known.withLock { known in
            // A report that was made at the same time may have had a newer answer.
            let order = states.last?.order ?? 0
            let isNewest = order > known.partitionsOrder
            var lags = isNewest ? [:] : known.lags
            for (state, order) in states {
                var lag = known.lags[state.partition] ?? PartitionLag()
                lag.note(position: state.position, end: state.end, now: now, order: order)
                lags[state.partition] = lag
            }
            known.lags = lags
            if isNewest { (known.partitions, known.partitionsOrder) = (states.map(\.state), order) }
        }
    }

    private func lags(_ topics: [String]) -> [NodeReport.Lag] {
        let now = EventLoop.microseconds / 1000
        return known.withLock { known in
            known.partitions.compactMap { state in
                guard Int(state.partition.topic) < topics.count, let lag = known.lags[state.partition] else {
                    return nil
                }
                return NodeReport.Lag(
                    topic: topics[Int(state.partition.topic)], number: state.partition.number, records: lag.records,
                    seconds: Double(lag.milliseconds(now: now)) / 1000, state: state)
            }
        }
    }
}
