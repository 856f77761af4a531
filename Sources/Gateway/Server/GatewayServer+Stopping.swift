import Logging
import Reactor
import WebSocket

/// Going out of service, and the end: carries out what ``NodeLifecycle`` decides.
extension GatewayServer {
    /// SIGTERM: a drain at whose end the node has stopped; the second time, the end without waiting for clients.
    package func terminate() { receive(.terminate) }

    /// The end without a drain: all clients are closed with 1001 at once.
    package func interrupt() { receive(.interrupt) }

    /// Puts the node out of service without ending it: readiness reports that, requests are refused, and connected clients are
    /// closed within the window, by default that of the settings. Listeners stay open. The second time, and when the end has
    /// begun, it changes nothing.
    package func drain(window: Duration? = nil) {
        let window = window ?? parts.settings.lifecycle.drainWindow
        receive(.drain(windowMilliseconds: window.milliseconds))
    }

    /// Cancels a drain: clients are admitted again, and all that were not closed yet stay. False where the end has begun, which
    /// cannot be cancelled.
    package func undrain() -> Bool { receive(.undrain) }

    /// Returns when everything has ended: at once, if it has already.
    package func stopped() async {
        guard !hasEnded else { return }
        await withCheckedContinuation { whenStopped.append($0) }
    }

    /// The steps of each input begin at once and in their order, and no loop is waited for. A loop that is stuck delays neither
    /// the others nor the next signal.
    @discardableResult
    private func receive(_ input: NodeLifecycle.Input) -> Bool {
        lifecycle.times = NodeLifecycle.Times(parts.settings.lifecycle)
        let before = lifecycle.state
        guard let steps = lifecycle.receive(input) else { return false }
        report(input, from: before)
        for step in steps { begin(step) }
        return true
    }

    private func begin(_ step: NodeLifecycle.Step) {
        switch step {
        case .reportDraining(let isDraining): readiness.setDraining(isDraining)
        case .refuseRequests(let isRefusing): readiness.setRefusing(isRefusing)
        case .closeListeners: closeListeners()
        case .spread(let windowMilliseconds): spreadCloses(windowMilliseconds)
        case .cancelDrain:
            spreads += 1
            onLoops { $0.cancelDrain() }
        case .closeAll(let closeNotice):
            spreads += 1
            turnsAskedAt = Self.now
            turns = loops.map { loop in
                let turn = Reply<Bool>()
                loop.execute { turn.give(true) }
                return turn
            }
            onLoops { $0.closeAll(closeNotice) }
        case .wait(let milliseconds): wait(milliseconds)
        case .stop: Task { await stop() }
        }
    }

    private func onLoops(_ work: @escaping @Sendable (ConnectionLoop) -> Void) {
        for connections in connectionLoops { connections.loop.execute { work(connections.value) } }
    }

    private func wait(_ milliseconds: UInt64) {
        timer?.cancel()
        let isHurried = lifecycle.state == .hurried
        let step = isHurried ? Self.hurriedStepMilliseconds : milliseconds
        let latest = Self.now + milliseconds + (isHurried ? Self.starvedMilliseconds : 0)
        timer = Task {
            var left = milliseconds
            repeat {
                // A cancelled timer has no effect.
                let part = min(left, step)
                guard (try? await Task.sleep(for: .milliseconds(part))) != nil, !Task.isCancelled else { return }
                left -= part
            } while left > 0 && Self.now < latest
            receive(.timePassed)
        }
    }

    /// Near the end, time counts in steps of so much, and only while this actor gets its turns. On a machine that gives the
    /// process no time the loops have none either, and the closes that they owe all clients are not sent.
    private static let hurriedStepMilliseconds: UInt64 = 50
    /// So much later at the most: a node that is ordered to end has two seconds, whatever the machine does.
    private static let starvedMilliseconds: UInt64 = 300

    // MARK: - Listeners and connections

    /// Closes them one after the other: what one of them accepts for another one's loop is accepted there. If a loop does not
    /// turn, its listener is not waited for.
    private func closeListeners() {
        guard closing == nil else { return }
        closing = Task {
            for listener in listeners {
                let closed = Reply<Bool>()
                listener.loop.execute { listener.value.closeAfterQueue { closed.give(true) } }
                _ = await closed.value(within: Self.loopMilliseconds)
            }
            Task {
                await waitForConnections()
                receive(.empty)
            }
        }
    }

    /// Waits until every connection of every loop has ended. The end of the loops ends them at the latest.
    private func waitForConnections() async {
        await withTaskGroup(of: Void.self) { group in
            for connections in connectionLoops {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        connections.loop.execute { connections.value.whenEmpty { continuation.resume() } }
                    }
                }
            }
        }
    }

    /// Counts the clients once no new ones arrive, and assigns the moments at which they end.
    private func spreadCloses(_ windowMilliseconds: UInt64) {
        spreads += 1
        let (number, beganAt) = (spreads, Self.now)
        Task {
            await closing?.value
            guard number == spreads else { return }
            let replies = connectionLoops.map { connections in
                let count = Reply<Int>()
                connections.loop.execute { connections.value.gatherForDrain { count.give($0) } }
                return count
            }
            var counts: [Int?] = []
            for reply in replies { counts.append(await reply.value(within: Self.loopMilliseconds)) }
            // The remaining clients may have left meanwhile, and the node has ended.
            guard number == spreads, lifecycle.state != .stopped else { return }
            let passed = Self.now - beganAt
            let rest = DrainSchedule.rest(ofWindow: windowMilliseconds, after: passed)
            if lifecycle.state == .window, passed + rest > windowMilliseconds {
                wait(rest + NodeLifecycle.lastRequestsMilliseconds)
            }
            deal(counts, rest)
        }
    }

    /// If a loop has not counted its clients, they are closed with all that are left then. That is a second behind the window
    /// where the node ends, and never in a drain that was asked for without an end.
    private func deal(_ counts: [Int?], _ windowMilliseconds: UInt64) {
        let count = counts.reduce(0) { $0 + ($1 ?? 0) }
        logger.notice(
            "connections are closed", [.connections: .number(count), .windowMilliseconds: .number(windowMilliseconds)])
        var generator = SpreadGenerator()
        let schedule = DrainSchedule(
            begin: Self.now, windowMilliseconds: windowMilliseconds, count: count,
            retryMilliseconds: lifecycle.times.retry, using: &generator)
        let slots = DrainSchedule.deal(counts.map { $0 ?? 0 }, using: &generator)
        for (index, connections) in connectionLoops.enumerated() where counts[index] != nil {
            connections.loop.execute { [slots = slots[index]] in connections.value.beginDrain(schedule, slots: slots) }
        }
    }

    /// Monotonic, in milliseconds, as the loops count it.
    private static var now: UInt64 { EventLoop.microseconds / 1000 }

    // MARK: - The end

    /// Waits for the loops that turn, and ends without the others.
    private func stop() async {
        timer?.cancel()
        let totals = connectionLoops.map { $0.ask { $0.totals } }
        let read = requests?.ask { $0.close() }
        let lookup = tokenLookup?.ask { $0.close() }
        let revoked = control?.ask { $0.stop() }
        // It answers to the last, so that monitoring sees the end of the node. Connections end with their loop.
        let closed = adminListener?.ask { $0.close() }
        var counters = LoopCounters()
        for (connections, total) in zip(connectionLoops, totals) {
            counters = counters + (await total.value(within: patience(with: connections.loop)) ?? LoopCounters())
        }
        var ingested: IngestCounters?
        if let read, let requests { ingested = await read.value(within: patience(with: requests.loop)) ?? nil }
        await closeArchive()
        if let lookup, let tokenLookup { _ = await lookup.value(within: patience(with: tokenLookup.loop)) }
        if let revoked, let control { _ = await revoked.value(within: patience(with: control.loop)) }
        if let closed, let adminListener { _ = await closed.value(within: patience(with: adminListener.loop)) }
        report(counters, ingested ?? IngestCounters())
        await stopLoops()
        hasEnded = true
        for continuation in whenStopped { continuation.resume() }
        whenStopped = []
    }

    /// Waits until nothing runs on any loop that turns: the process may end then.
    private func stopLoops() async {
        let ends = loops.map { loop in
            let end = Reply<Bool>()
            loop.stop { end.give(true) }
            return end
        }
        var stuck: [String] = []
        for (loop, end) in zip(loops, ends) {
            if await end.value(within: patience(with: loop)) == nil { stuck.append(loop.label) }
        }
        guard !stuck.isEmpty else { return }
        logger.error(
            "event loops unresponsive; exiting without them; report it, with the lines before this one",
            [.loops: .text(stuck.joined(separator: " "))])
    }

    /// The time that a loop has for its present work.
    private func patience(with loop: EventLoop) -> UInt64 {
        guard let index = loops.firstIndex(where: { $0 === loop }), index < turns.count else {
            return Self.unaskedLoopMilliseconds
        }
        guard !turns[index].isGiven else { return Self.turningLoopMilliseconds }
        return NodeLifecycle.patience(askedAt: turnsAskedAt, now: Self.now)
    }

    /// A loop with work for thousands of connections needs a part of it.
    private static let loopMilliseconds: UInt64 = 2_000
    /// Where all had left before the order to close, it is unknown whether the loops turn.
    private static let unaskedLoopMilliseconds: UInt64 = 5_000
    /// Long enough for anything that ends on it.
    private static let turningLoopMilliseconds: UInt64 = 10_000
}
