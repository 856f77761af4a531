import LiveState

/// The requests of the machine to the store, to the server and to the app's API.
extension LiveMachine {
    /// Begins a request. Its answer becomes an input, or nothing after ``cancel(_:)``.
    func begin(
        _ number: Int, _ work: @escaping @Sendable () async throws -> UpdateMachine.Input,
        failed: @escaping @Sendable (RequestFailure) -> UpdateMachine.Input
    ) {
        let deadline = requestDeadline
        if number > 0 { noteToken(number) }
        requests[number] = Task { [weak self] in
            let input: UpdateMachine.Input
            do {
                input = try await Deadline.run(milliseconds: deadline, work)
            } catch let end as ConnectionEnd {
                input = .ended(error: end)
            } catch {
                input = failed(RequestFailure(error))
            }
            await self?.ended(number, input)
        }
    }

    private func ended(_ number: Int, _ input: UpdateMachine.Input) {
        guard isWanted(number) else { return }
        handle(input)
    }

    func cancel(_ number: Int) {
        askedTokens[number] = nil
        requests.removeValue(forKey: number)?.cancel()
        snapshot = nil
    }

    /// Reads the store, and tries until it succeeds: what cannot be read now must not be overwritten as if it were missing. No
    /// other request runs meanwhile: no effect has this number.
    func load() {
        let (area, store, deadline) = (area, store, storeDeadline)
        requests[0] = Task { [weak self] in
            do {
                let stored = try await Deadline.run(milliseconds: deadline, late: StoreError.noAnswer) {
                    () async throws -> UpdateMetadata? in
                    let stored: UpdateMetadata?
                    do { stored = try await store.load(area: area.name) } catch { throw StoreError(reading: error) }
                    do {
                        try await area.restore(from: store)
                    } catch let error as StoreError where error.mayPass {
                        throw error
                    } catch {
                        // The app cannot use what it cannot read of its own.
                        return nil
                    }
                    try await area.lists?.load(finger: stored?.finger)
                    return stored
                }
                await self?.loaded(stored)
            } catch {
                await self?.loadLater(StoreError(reading: error))
            }
        }
    }

    private func loaded(_ stored: UpdateMetadata?) {
        guard requests.removeValue(forKey: 0) != nil else { return }
        if storeError?.isCorrupt != true { storeError = nil }
        handle(.loaded(stored: stored))
        restoreLists()
    }

    private func loadLater(_ error: StoreError) {
        guard requests.removeValue(forKey: 0) != nil else { return }
        note(error)
        handle(.loadFailed)
        // Without the stored lists, because it is unknown how old they are.
        if view.state != .notLoaded { restoreLists() }
    }

    func requestFinger(_ number: Int) {
        let feed = feed
        begin(number) {
            switch try await feed.sync(since: nil) {
            case .page(_, let at, _), .resync(_, let at): .finger(number: number, at: at.text)
            }
        } failed: {
            .fingerFailed(number: number, failure: $0)
        }
    }

    func requestSnapshot(_ number: Int) {
        let (area, telling, deadline, gate) = (area, fingerTelling, requestDeadline, gate)
        noteToken(number)
        requests[number] = Task { [weak self] in
            do {
                try await Deadline.run(milliseconds: deadline) { try await telling?.wait() }
                let snapshot = try await gate.run(.snapshot(area: area.name)) {
                    try await Deadline.run(milliseconds: deadline) { try await area.snapshot() }
                }
                await self?.ended(number, snapshot)
            } catch {
                await self?.ended(number, .snapshotFailed(number: number, failure: RequestFailure(error)))
            }
        }
    }

    private func ended(_ number: Int, _ snapshot: Area.Snapshot) {
        guard isWanted(number) else { return }
        self.snapshot = snapshot
        handle(.snapshot(number: number))
    }

    func poll(_ number: Int, _ since: LiveCursor) {
        let feed = feed
        begin(number) {
            switch try await feed.sync(since: since) {
            case .page(let lines, let at, let more):
                let events = lines.map { ThingEvent($0.event) }
                return .page(number: number, events: events, at: at.text, more: more)
            case .resync(let why, let at): return .pageResync(number: number, at: at.text, isEpoch: why == .epoch)
            }
        } failed: {
            .pageFailed(number: number, failure: $0)
        }
    }

    // MARK: Reloads

    /// Begins the reloads whose turn it is.
    func beginReloads() {
        while runningReloads.count < maximumReloads, !waitingReloads.isEmpty {
            let (number, thing, types) = waitingReloads.removeFirst()
            let (telling, deadline, isByScreens) = (fingerTelling, requestDeadline, byScreens.contains(thing.entity))
            runningReloads.insert(number)
            noteToken(number)
            requests[number] = Task { [weak self, area, gate] in
                do {
                    try await Deadline.run(milliseconds: deadline) { try await telling?.wait() }
                    if isByScreens {
                        await self?.ended(number, thing, try await area.reload(thing, types: types))
                        return
                    }
                    let (reload, isGivenBack) = try await gate.run(.reload(thing)) {
                        let reload = try await Deadline.run(milliseconds: deadline) {
                            try await area.reload(thing, types: types)
                        }
                        return (reload, GatedCall.current?.isGivenBack == true)
                    }
                    if isGivenBack { await self?.goesByScreens(thing.entity) }
                    await self?.ended(number, thing, reload)
                } catch {
                    await self?.ended(number, thing, error)
                }
            }
        }
    }

    /// Screens pass the gate themselves when they fetch, and wait as long as necessary. Their reloads do not wait here too.
    private func goesByScreens(_ entity: String) { byScreens.insert(entity) }

    private func ended(_ number: Int, _ thing: Thing, _ reload: LiveReload<Area.Value>) {
        if case .knownStale(let failure) = reload { return ended(number, thing, failure) }
        runningReloads.remove(number)
        if isWanted(number) {
            reloads[thing] = reload
            handle(.reloaded(number: number, outcome: reload.outcome))
        }
        beginReloads()
    }

    private func ended(_ number: Int, _ thing: Thing, _ error: any Error) {
        switch Reloaded(error) {
        case .gone?: return ended(number, thing, .gone)
        case .notOurs?: return ended(number, thing, .notOurs)
        case .value?, .knownStale?, nil: break
        }
        runningReloads.remove(number)
        if isWanted(number) {
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
        let (isInMemory, taking) = (view.isInMemory, isSnapshot ? snapshot : nil)
        if isSnapshot {
            guard let snapshot else { preconditionFailure("a snapshot is stored that has not come") }
            change = .snapshot(snapshot)
            self.snapshot = nil
        } else if !changes.isEmpty {
            // Reloads that an earlier commit has included are stored already.
            for change in changes {
                let stale = metadata.knownStale?.first { $0.thing == change.thing && change.outcome == .knownStale }
                taken[change.thing] = stale.map { .knownStale($0.failure) } ?? reloads.removeValue(forKey: change.thing)
            }
            change = .things(changes.compactMap { wanted in taken[wanted.thing].map { (wanted.thing, $0) } })
        }
        // A thing that no screen needed is not shown, and one that could not be reloaded is as old as before.
        let times = changes.compactMap { change -> LiveTime? in
            switch taken[change.thing] {
            case .unneeded?, .knownStale?: nil
            case .value?, .gone?, .notOurs?, nil: change.ts.map { LiveTime(thing: change.thing, ts: $0) }
            }
        }
        let (area, store, kept, values, generation) = (area, store, change, taken, reloadGeneration)
        committing = isInMemory ? nil : number
        let deadline = storeDeadline
        let alarm = Task { [weak self] in
            guard (try? await Task.sleep(for: .milliseconds(deadline.limited()))) != nil else { return }
            await self?.commitIsLate(number)
        }
        // It is not cancelled, and not repeated when it is late: a commit that has begun may be stored, and is stored whole.
        Task { [weak self] in
            defer { alarm.cancel() }
            let lists = isInMemory ? nil : await area.lists?.prepareCommit()
            do {
                if !isInMemory {
                    try await store.commit(area: area.name, metadata: metadata) { transaction in
                        if let kept { try area.write(kept, in: transaction) }
                        try lists?(metadata.finger, transaction)
                    }
                    await self?.storeHasAnswered(nil)
                }
            } catch {
                if lists != nil { area.lists?.commitEnded(isDone: false) }
                await self?.storeHasAnswered(error)
                await self?.notCommitted(number, values, taking, generation, error)
                return
            }
            if let kept { await area.show(kept) }
            if !times.isEmpty { await area.shown(times) }
            await self?.handle(.committed(number: number))
            if lists != nil { area.lists?.commitEnded(isDone: true) }
        }
    }

    private func commitIsLate(_ number: Int) {
        guard committing == number else { return }
        note(StoreError.noAnswer)
    }

    /// An error that the app's part of the commit throws is not an error of the store.
    private func storeHasAnswered(_ error: (any Error)?) {
        committing = nil
        note(error as? StoreError)
    }

    private func note(_ error: StoreError?) {
        guard error != storeError else { return }
        storeError = error
        publish()
    }

    /// The next attempt needs the values, unless newer ones have arrived.
    private func notCommitted(
        _ number: Int, _ values: [Thing: LiveReload<Area.Value>], _ taken: Area.Snapshot?, _ generation: Int,
        _ error: any Error
    ) {
        if generation == reloadGeneration { reloads.merge(values) { newer, _ in newer } }
        snapshot = snapshot ?? taken
        handle((error as? StoreError)?.isCorrupt == true ? .storeLost : .commitFailed(number: number))
    }
}

extension Thing {
    /// The gate's name for it.
    var subject: String { "\(entity)/\(id)" }
}

extension ThingEvent {
    init(_ event: LiveEvent) {
        self.init(thing: Thing(entity: event.entity, id: event.id), type: event.type, ts: event.ts)
    }
}
