import LiveState

// Things by id, and the queue of their fetches.
extension LiveScreens {
    /// Shows the details of a thing on the screen of that name, until ``hide(_:)`` or until its states have no reader any more.
    public func showDetails(_ screen: String, of thing: Thing) -> AsyncStream<DetailsState<Value>> {
        hide(screen)
        let (states, continuation) = AsyncStream.makeStream(
            of: DetailsState<Value>.self, bufferingPolicy: .bufferingNewest(1))
        guard !isClosed else {
            continuation.finish()
            return states
        }
        lastShown += 1
        let number = lastShown
        continuation.onTermination = { [weak self] reason in
            guard case .cancelled = reason else { return }
            Task { [weak self] in await self?.hide(screen, number) }
        }
        details[screen] = Details(thing: thing, number: number, states: continuation)
        _ = relevance.handle(.show(screen: screen, interest: .details(thing: thing)), at: now())
        follow()
        publishDetails(of: thing)
        return states
    }

    /// Fetches a thing again, because a person asked for it.
    public func refresh(_ thing: Thing) {
        gate.refresh()
        ask(.refresh(thing: thing))
    }

    /// A reader has ended. The call may be late, when the same screen already shows the same thing to another reader.
    func hide(_ screen: String, _ number: Int) {
        if details[screen]?.number == number { hide(screen) }
    }

    /// Reports to the queue what the screens show.
    func follow() {
        ask(.show(things: relevance.details, listed: relevance.listed, takesNew: relevance.takesNew))
    }

    /// - Parameter found: the result of the fetch that ends with this input.
    @discardableResult func ask(
        _ input: FetchQueue.Input, found: FoundThing<Value>? = nil, of thing: Thing? = nil,
        at time: Milliseconds? = nil
    ) -> [FetchQueue.Effect] {
        guard !isClosed else { return [] }
        let effects = queue.handle(input, at: time ?? now())
        for effect in effects {
            switch effect {
            case .fetch(let fetch, let thing): begin(fetch, thing)
            case .cancel(let fetch): requests.removeValue(forKey: "fetch \(fetch)")?.cancel()
            case .apply(_, let thing, _, let isLate): if let found { use(found, of: thing, isLate: isLate == true) }
            case .reloaded(let number, _):
                replies.removeValue(forKey: number)?.resume(returning: newest(found, of: thing))
            case .reloadFailed(let number, let failure):
                replies.removeValue(forKey: number)?.resume(throwing: failure)
            case .unavailable(let thing, let failure):
                noteFailure(failure, of: thing)
                publishDetails(of: thing)
            case .accept: break
            }
        }
        wait("", until: queue.wakeAt)
        reportCompleteness()
        return effects
    }

    /// The answer, or the known value: an answer may arrive later than a newer one.
    private func newest(_ found: FoundThing<Value>?, of thing: Thing?) -> FoundThing<Value>? {
        guard case .value? = found, let thing, let value = wholes[thing] ?? values[thing] else { return found }
        return .value(value)
    }

    private func begin(_ fetch: Int, _ thing: Thing) {
        let (deadline, sleep, mayAsk, token) = (settings.requestDeadline, sleep, mayAsk, askedToken)
        requests["fetch \(fetch)"] = Task { [weak self, api, gate] in
            let result: Result<FoundThing<Value>, any Error>
            do {
                guard mayAsk else { throw RequestFailure.unauthorized }
                let found = try await gate.run(.reload(thing)) {
                    try await Deadline.run(milliseconds: deadline, sleep: sleep) { try await api.reload(thing) }
                }
                result = .success(found)
            } catch {
                switch Reloaded(error) {
                case .gone?: result = .success(.gone)
                case .notOurs?: result = .success(.notOurs)
                case .value?, .knownStale?, nil: result = .failure(error)
                }
            }
            await self?.finish(fetch, thing, result, token)
        }
    }

    private func finish(
        _ fetch: Int, _ thing: Thing, _ result: Result<FoundThing<Value>, any Error>, _ token: AskedToken
    ) {
        guard requests.removeValue(forKey: "fetch \(fetch)") != nil else { return }
        switch result {
        case .success(let found):
            noteToken(token)
            ask(.fetched(fetch: fetch, outcome: found.outcome), found: found, of: thing)
        case .failure(let error):
            let failure = RequestFailure(error)
            if failure == .unauthorized { refuseToken(token) }
            ask(.failed(fetch: fetch, failure: failure))
            // Only its page shows a list that waits for it whether it contains the thing. Once, even if the thing fails often.
            for (name, list) in lists where list.entity == thing.entity && list.awaited[Exact(thing.id)] == false {
                lists[name]?.awaited[Exact(thing.id)] = true
                if !list.machine.has(thing.id) { makeStale(name) }
            }
        }
    }

    private func use(_ found: FoundThing<Value>, of thing: Thing, isLate: Bool) {
        if let value = found.value {
            keep(value, of: thing, isWhole: true, isLate: isLate)
        } else {
            (values[thing], wholes[thing]) = (nil, nil)
        }
        noteAnswer(found.absence, of: thing)
        if !isLate { place(found.value, of: thing) }
        forgetValues()
        _ = relevance.handle(.displayed(thing: thing), at: now())
        publishDetails(of: thing)
    }

    /// Puts a thing at the position of its value in the lists of its entity, or removes it from them.
    private func place(_ value: Value?, of thing: Thing) {
        for (name, list) in lists where list.entity == thing.entity {
            lists[name]?.awaited[Exact(thing.id)] = nil
            let key = value.flatMap(list.key)
            give(name, key.map { .placed(id: thing.id, key: $0) } ?? .removed(id: thing.id))
        }
    }

    /// Shows a value at once that the app got as the answer to an action. Answers to earlier requests do not replace it.
    ///
    /// - Parameter isWhole: false if the value is only a list's summary.
    public func put(_ value: Value, for thing: Thing, isWhole: Bool = true) {
        ask(.put(thing: thing, isWhole: isWhole))
        keep(value, of: thing, isWhole: isWhole)
        place(value, of: thing)
        forgetValues()
        publishDetails(of: thing)
        reportCompleteness()
    }

    /// - Parameters:
    ///   - isWhole: whether the value is more than a list's summary.
    ///   - isLate: whether there is a newer summary.
    func keep(_ value: Value, of thing: Thing, isWhole: Bool, isLate: Bool = false) {
        if !isLate { values[thing] = value }
        guard isWhole else { return }
        wholes[thing] = value
        noteAnswer(nil, of: thing)
    }

    /// Values are kept while the queue knows their things or a list contains them. Call this when new values are in their lists.
    func forgetValues() {
        guard values.count > max(maximumValues, 2 * settings.fetches.maximumThings) else { return }
        let waiting = stored.values.flatMap { kept in
            kept.list.items.map { Thing(entity: kept.list.entity, id: $0.id) }
        }
        let isStored = Set(waiting)
        values = values.filter { thing, _ in
            queue.knowledge(of: thing) != .unknown || isStored.contains(thing)
                || lists.values.contains { $0.entity == thing.entity && $0.machine.has(thing.id) }
        }
        wholes = wholes.filter { values[$0.key] != nil }
        // The next pass runs when twice as many values are kept.
        maximumValues = 2 * values.count
    }

    private func noteAnswer(_ absence: ThingAbsence?, of thing: Thing) {
        for (screen, shown) in details where shown.thing == thing {
            details[screen]?.failure = nil
            details[screen]?.absence = absence
        }
    }

    private func noteFailure(_ failure: RequestFailure, of thing: Thing) {
        for (screen, shown) in details where shown.thing == thing { details[screen]?.failure = failure }
    }

    func publishDetails(of thing: Thing) {
        for shown in details.values where shown.thing == thing {
            shown.states.yield(
                DetailsState(
                    thing: thing, value: wholes[thing] ?? values[thing],
                    knowledge: queue.knowledge(of: thing, isWhole: true), isWhole: wholes[thing] != nil,
                    failure: shown.failure, absence: shown.absence))
        }
    }

    /// Wakes a list when it is due, or with an empty name the queue.
    func wait(_ name: String, until due: Milliseconds?) {
        waits.removeValue(forKey: name)?.cancel()
        // Without a token nothing is due.
        guard let due, mayAsk else { return }
        let wait = max(0, due - now())
        waits[name] = Task { [weak self, sleep] in
            guard (try? await sleep(wait)) != nil, !Task.isCancelled else { return }
            await self?.wake(name)
        }
    }

    private func wake(_ name: String) {
        guard !Task.isCancelled else { return }
        if name.isEmpty { ask(.wake) } else { give(name, .wake) }
    }
}

// Whether the screens show the server's state, for the machine's sign.
extension LiveScreens: ShownThings {
    /// Whether all lists and details on the screens show the server's state, and each change of that; for one reader, the machine
    /// (``LiveArea/onScreen``).
    public var completeness: AsyncStream<ScreenCompleteness> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ScreenCompleteness.self, bufferingPolicy: .bufferingNewest(1))
        completenessFollower?.finish()
        completenessFollower = continuation
        continuation.yield(lastCompleteness)
        if isClosed { continuation.finish() }
        return stream
    }

    func reportCompleteness() {
        guard completenessFollower != nil else { return }
        var now = ScreenCompleteness()
        for shown in details.values where shown.absence == nil {
            if queue.knowledge(of: shown.thing, isWhole: true) != .known { now.isComplete = false }
            if shown.failure != nil { now.hasFailed = true }
        }
        for list in lists.values where list.isShown {
            let view = list.machine.view
            let isOld = view.items.contains {
                queue.knowledge(of: Thing(entity: list.entity, id: $0.id)) == .knownStale
            }
            if view.knowledge != .known || isOld { now.isComplete = false }
            if view.failures > 0 { now.hasFailed = true }
            if view.isLoading { now.isLoading = true }
        }
        if !queue.view.running.isEmpty { now.isLoading = true }
        guard now != lastCompleteness else { return }
        lastCompleteness = now
        completenessFollower?.yield(now)
    }
}
