import LiveState
import Reactor

/// Milliseconds since 1970 that outlive the process and never go back in it.
struct AppClock: Sendable {
    private let start = ContinuousClock.now
    private let epoch = WallClock.milliseconds

    var now: Milliseconds { epoch + Milliseconds((ContinuousClock.now - start) / .milliseconds(1)) }
}

/// What the machine asks of the store, of the server and of the app's API.
extension LiveMachine {
    /// Begins a request; its answer comes back as an input, or as nothing after ``cancel(_:)``.
    private func begin(_ number: Int, _ work: @escaping @Sendable () async -> UpdateMachine.Input) {
        requests[number] = Task { [weak self] in
            let input = await work()
            await self?.ended(number, input)
        }
    }

    private func ended(_ number: Int, _ input: UpdateMachine.Input) {
        guard requests.removeValue(forKey: number) != nil else { return }
        handle(input)
    }

    func cancel(_ number: Int) {
        requests.removeValue(forKey: number)?.cancel()
        snapshot = nil
    }

    func load() {
        let (area, store) = (area, store)
        begin(0) {
            do {
                let stored = try await store.load(area: area.name)
                try await area.restore(from: store)
                return .loaded(stored: stored)
            } catch {
                // What cannot be read is not used.
                return .loaded(stored: nil)
            }
        }
    }

    func requestFinger(_ number: Int) {
        let feed = feed
        begin(number) {
            do {
                switch try await feed.sync(since: nil) {
                case .page(_, let at, _), .resync(_, let at): return .finger(number: number, at: at.text)
                }
            } catch {
                return .fingerFailed(number: number, failure: RequestFailure(error))
            }
        }
    }

    func requestSnapshot(_ number: Int) {
        let (area, announced) = (area, fingerTask)
        requests[number] = Task { [weak self] in
            await announced?.value
            guard !Task.isCancelled else { return }
            do {
                let snapshot = try await area.snapshot()
                await self?.ended(number, snapshot)
            } catch {
                await self?.ended(number, .snapshotFailed(number: number, failure: RequestFailure(error)))
            }
        }
    }

    private func ended(_ number: Int, _ snapshot: Area.Snapshot) {
        guard requests.removeValue(forKey: number) != nil else { return }
        self.snapshot = snapshot
        handle(.snapshot(number: number))
    }

    func poll(_ number: Int, _ since: LiveCursor) {
        let feed = feed
        begin(number) {
            do {
                switch try await feed.sync(since: since) {
                case .page(let lines, let at, let more):
                    let events = lines.map { ThingEvent($0.event) }
                    return .page(number: number, events: events, at: at.text, more: more)
                case .resync(_, let at): return .pageResync(number: number, at: at.text)
                }
            } catch {
                return .pageFailed(number: number, failure: RequestFailure(error))
            }
        }
    }

    func requestToken() {
        let area = area
        // A number that no effect has: there is one such request at a time.
        begin(-1) {
            do {
                try await area.renewToken()
                return .token(isValid: true)
            } catch {
                return RequestFailure(error) == .unauthorized ? .token(isValid: false) : .tokenFailed
            }
        }
    }

    // MARK: Reloads

    /// Begins those whose turn it is.
    func beginReloads() {
        while runningReloads.count < maximumReloads, !waitingReloads.isEmpty {
            let (number, thing, types) = waitingReloads.removeFirst()
            let (area, announced) = (area, fingerTask)
            runningReloads.insert(number)
            requests[number] = Task { [weak self] in
                await announced?.value
                do {
                    let reload = try await area.reload(thing, types: types)
                    await self?.ended(number, thing, reload)
                } catch {
                    await self?.ended(number, thing, error)
                }
            }
        }
    }

    private func ended(_ number: Int, _ thing: Thing, _ reload: LiveReload<Area.Value>) {
        runningReloads.remove(number)
        if requests.removeValue(forKey: number) != nil {
            reloads[thing] = reload
            handle(.reloaded(number: number, outcome: reload.outcome))
        }
        beginReloads()
    }

    private func ended(_ number: Int, _ thing: Thing, _ error: any Error) {
        switch Reloaded(error) {
        case .gone?: return ended(number, thing, .gone)
        case .notOurs?: return ended(number, thing, .notOurs)
        case .value?, nil: break
        }
        runningReloads.remove(number)
        if requests.removeValue(forKey: number) != nil {
            handle(.reloadFailed(number: number, failure: RequestFailure(error)))
        }
        beginReloads()
    }

    func dropReloads() {
        waitingReloads = []
        for number in runningReloads { requests.removeValue(forKey: number)?.cancel() }
        reloads = [:]
        reloadGeneration += 1
    }

    // MARK: Commits

    func commit(_ number: Int, _ metadata: UpdateMetadata, _ isSnapshot: Bool, _ changes: [ThingChange]) {
        var change: LiveChange<Area.Snapshot, Area.Value>?
        var taken: [Thing: LiveReload<Area.Value>] = [:]
        if isSnapshot {
            guard let snapshot else { preconditionFailure("a snapshot is stored that has not come") }
            change = .snapshot(snapshot)
            self.snapshot = nil
        } else if !changes.isEmpty {
            // What an earlier commit has taken already is stored.
            for thing in changes.map(\.thing) { taken[thing] = reloads.removeValue(forKey: thing) }
            change = .things(changes.compactMap { wanted in taken[wanted.thing].map { (wanted.thing, $0) } })
        }
        let (area, store, kept, values, generation) = (area, store, change, taken, reloadGeneration)
        // It is not cancelled: what has begun is stored whole.
        Task { [weak self] in
            do {
                try await store.commit(area: area.name, metadata: metadata) { transaction in
                    if let kept { try area.write(kept, in: transaction) }
                }
            } catch {
                await self?.notCommitted(number, values, generation)
                return
            }
            if let kept { await area.show(kept) }
            await self?.handle(.committed(number: number))
        }
    }

    /// The values are needed for the next attempt, unless newer ones have come.
    private func notCommitted(_ number: Int, _ values: [Thing: LiveReload<Area.Value>], _ generation: Int) {
        if generation == reloadGeneration { reloads.merge(values) { newer, _ in newer } }
        handle(.commitFailed(number: number))
    }
}

extension ThingEvent {
    init(_ event: LiveEvent) { self.init(thing: Thing(entity: event.entity, id: event.id), type: event.type) }
}
