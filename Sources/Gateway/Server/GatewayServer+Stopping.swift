import Logging
import Reactor
import WebSocket

/// Going out of service, and the end: what ``NodeLifecycle`` decides is done here.
extension GatewayServer {
    /// SIGTERM: a drain at whose end the node has stopped; the second time, the end without waiting for anybody.
    package func terminate() async { await receive(.terminate) }

    /// The end without a drain: everybody is closed with 1001 at once.
    package func interrupt() async { await receive(.interrupt) }

    /// Takes the node out of service without ending it: readiness says so, requests are refused, and those who are
    /// connected are closed within the window, by default that of the settings. Listeners stay open. The second time, and
    /// when the end has begun, it changes nothing.
    package func drain(window: Duration? = nil) async {
        let window = window ?? parts.settings.lifecycle.drainWindow
        await receive(.drain(windowMilliseconds: window.milliseconds))
    }

    /// Takes a drain back: clients are let in, and whoever was not closed yet stays. False where the end has begun, which
    /// nothing takes back.
    package func undrain() async -> Bool { await receive(.undrain) }

    /// Returns when everything has ended: at once, if it has already.
    package func stopped() async {
        guard !hasEnded else { return }
        await withCheckedContinuation { whenStopped.append($0) }
    }

    /// Steps of one input are done before those of the next, whoever comes meanwhile.
    @discardableResult
    private func receive(_ input: NodeLifecycle.Input) async -> Bool {
        lifecycle.times = NodeLifecycle.Times(parts.settings.lifecycle)
        let before = lifecycle.state
        guard let next = lifecycle.receive(input) else { return false }
        report(input, from: before)
        steps += next
        guard !isRunningSteps else { return true }
        isRunningSteps = true
        while !steps.isEmpty { await run(steps.removeFirst()) }
        isRunningSteps = false
        return true
    }

    private func run(_ step: NodeLifecycle.Step) async {
        switch step {
        case .reportDraining(let isDraining): readiness.setDraining(isDraining)
        case .refuseRequests(let isRefusing): readiness.setRefusing(isRefusing)
        case .closeListeners: await closeListeners()
        case .spread(let windowMilliseconds): await spreadCloses(windowMilliseconds)
        case .keepTheRest: for connections in connectionLoops { await connections.perform { $0.keepTheRest() } }
        case .closeAll(let farewell):
            for connections in connectionLoops { await connections.perform { $0.closeAll(farewell) } }
        case .wait(let milliseconds): wait(milliseconds)
        case .stop: await stop()
        }
    }

    private func wait(_ milliseconds: UInt64) {
        timer?.cancel()
        timer = Task {
            // Cancelled, it has lost its reason.
            guard (try? await Task.sleep(for: .milliseconds(milliseconds))) != nil, !Task.isCancelled else { return }
            await receive(.timePassed)
        }
    }

    // MARK: - Listeners and connections

    /// One after the other: what one of them accepts for another one's loop is accepted there.
    private func closeListeners() async {
        guard !hasClosedListeners else { return }
        hasClosedListeners = true
        for listener in listeners {
            await withCheckedContinuation { continuation in
                listener.loop.execute { listener.value.closeAfterQueue { continuation.resume() } }
            }
        }
        Task {
            await waitForConnections()
            await receive(.empty)
        }
    }

    /// Until every connection of every loop has ended. The end of the loops ends them at the latest.
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

    /// Counts who is there, and deals out the moments at which they end.
    private func spreadCloses(_ windowMilliseconds: UInt64) async {
        var counts: [Int] = []
        for connections in connectionLoops {
            let count = await withCheckedContinuation { continuation in
                connections.loop.execute { connections.value.gatherForDrain { continuation.resume(returning: $0) } }
            }
            counts.append(count)
        }
        guard let first = connectionLoops.first else { return }
        let begin = await first.perform { $0.eventLoop.now }
        let count = counts.reduce(0, +)
        logger.notice(
            "connections are closed", [.connections: .number(count), .windowMilliseconds: .number(windowMilliseconds)])
        var generator = SpreadGenerator()
        let schedule = DrainSchedule(
            begin: begin, windowMilliseconds: windowMilliseconds, count: count,
            retryMilliseconds: lifecycle.times.retry, using: &generator)
        let slots = DrainSchedule.deal(counts, using: &generator)
        for (connections, slots) in zip(connectionLoops, slots) {
            await connections.perform { $0.beginDrain(schedule, slots: slots) }
        }
    }

    // MARK: - The end

    private func stop() async {
        timer?.cancel()
        var counters = LoopCounters()
        for connections in connectionLoops { counters = counters + (await connections.perform { $0.totals }) }
        let read = await desk?.loop.perform { [desk] in desk?.value.close() }
        await judgingDesk?.loop.perform { [judgingDesk] in judgingDesk?.value.close() }
        await closeAdministration()
        report(counters, (read ?? nil) ?? IngestCounters())
        await stopLoops()
        hasEnded = true
        for continuation in whenStopped { continuation.resume() }
        whenStopped = []
    }

    /// Until nothing runs on any loop: the process may end then.
    private func stopLoops() async {
        await withTaskGroup(of: Void.self) { group in
            for loop in loops { group.addTask { await loop.stopped() } }
        }
    }
}

extension LoopBound where Value == ConnectionLoop {
    /// Does something on the loop, and waits for its result.
    fileprivate func perform<Result: Sendable>(
        _ work: @escaping @Sendable (ConnectionLoop) -> Result
    ) async -> Result {
        await loop.perform { work(value) }
    }
}
