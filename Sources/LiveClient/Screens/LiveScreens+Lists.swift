import LiveState

// Lists, and their pages.
extension LiveScreens {
    /// Makes a list, which keeps its data while no screen shows it. If a list of this name exists, it goes on with its data for
    /// the new reader, and the states of the old reader end. When there is no reader of its states any more, it is hidden.
    ///
    /// - Parameters:
    ///   - name: the name of the list and its screen; not empty.
    ///   - entity: the entity of its things. An existing list of this name and another entity is removed.
    ///   - takesNew: whether new things belong in the list.
    ///   - key: the position of a value; nil: it does not belong to this list.
    /// - Returns: its states, for one reader. If the reader is slow, it gets only the newest.
    public func makeList(
        _ name: String, of entity: String, takesNew: Bool = true, key: @escaping @Sendable (Value) -> ListKey?
    ) -> AsyncStream<ListState<Value>> {
        precondition(!name.isEmpty, "a list needs a name")
        let (states, continuation) = AsyncStream.makeStream(
            of: ListState<Value>.self, bufferingPolicy: .bufferingNewest(1))
        guard !isClosed else {
            continuation.finish()
            return states
        }
        if let known = lists[name], known.entity != entity { removeList(name) }
        lastShown += 1
        let number = lastShown
        continuation.onTermination = { [weak self] reason in
            guard case .cancelled = reason else { return }
            Task { [weak self] in await self?.leave(name, number) }
        }
        let known = lists[name]
        var list =
            known
            ?? List(
                entity: entity, takesNew: takesNew, key: key, states: continuation, number: number,
                machine: PartialList(settings.lists))
        (list.takesNew, list.key, list.states, list.number, list.isRead) = (takesNew, key, continuation, number, true)
        lists[name] = list
        known?.states.finish()
        if known != nil { publish(name) } else { recall(name) }
        return states
    }

    /// The reader has ended, so no person sees what the list would fetch.
    private func leave(_ name: String, _ number: Int) {
        guard lists[name]?.number == number else { return }
        lists[name]?.isRead = false
        hide(name)
    }

    /// Shows a list on a screen, from an end on, with as many items as the screen needs. It does nothing for a name without a
    /// list, or for a list whose states have no reader.
    public func show(_ name: String, from: ListEnd, _ direction: ListDirection, count: Int) {
        guard lists[name]?.isRead == true else { return }
        lists[name]?.isShown = true
        lists[name]?.isBackward = direction == .backward
        lists[name]?.count = count
        give(name, .show(from: from, direction: direction, count: count))
    }

    /// Sets the ids of the items in a list that a person can see now, for a screen that loads more than it shows. Nil: as many
    /// items as the screen needs. It affects only ``isShowing(_:)`` and ``sawLive(_:within:)``.
    public func setVisible(_ ids: [String]?, in list: String) {
        lists[list]?.visible = ids
        if lists[list]?.isShown == true { publish(list) }
    }

    /// Ends a list, and drops its data.
    public func removeList(_ name: String) {
        hide(name)
        waits.removeValue(forKey: name)?.cancel()
        lists.removeValue(forKey: name)?.states.finish()
        stored[name] = nil
        listChanged?()
    }

    func hideList(_ name: String) {
        guard let list = lists[name] else { return }
        lists[name]?.isShown = false
        lists[name]?.awaited = [:]
        let view = queue.view
        let isPending = (view.running.map(\.thing) + view.waiting).contains { thing in
            thing.entity == list.entity && !list.machine.has(thing.id)
        }
        give(name, .hide)
        // A new thing that it waited for is no longer fetched.
        if isPending { makeStale(name) }
    }

    /// An event that arrives while a list is hidden is not fetched: the list becomes stale, and its state shows it. A list that
    /// is shown waits for a thing that may belong to it.
    func noteEvent(_ name: String, _ thing: Thing, _ types: [String]) {
        listChanged?()
        give(name, .changed(id: thing.id))
        guard let list = lists[name] else { return }
        let isThere = list.machine.has(thing.id)
        let (fetch, removed) = relevance.needs(list.interest(isThere ? [thing.id] : []), thing, types: types)
        guard !list.isShown else {
            if fetch, !isThere, list.awaited[Exact(thing.id)] == nil { lists[name]?.awaited[Exact(thing.id)] = false }
            return
        }
        if removed { give(name, .removed(id: thing.id)) }
        if fetch && !isThere { makeStale(name) }
    }

    /// Whether a list on a screen may have to contain the thing, which is being fetched.
    func isAwaited(_ thing: Thing) -> Bool {
        lists.values.contains { list in
            list.entity == thing.entity && list.isShown && list.awaited[Exact(thing.id)] != nil
                && !list.machine.has(thing.id)
        }
    }

    /// Too many things are being fetched. The list gets what it misses by a page, or by the page that is being loaded.
    func noteRefusal(_ thing: Thing) {
        for (name, list) in lists where list.entity == thing.entity && list.awaited[Exact(thing.id)] != nil {
            if !list.machine.has(thing.id), !list.machine.isLoading { makeStale(name) }
        }
    }

    func makeStale(_ name: String) {
        guard isFingerHeld else { return }
        give(name, .finger(isHeld: false))
        give(name, .finger(isHeld: true))
    }

    func give(_ name: String, _ input: PartialList.Input, at time: Milliseconds? = nil) {
        guard !isClosed, let effects = lists[name]?.machine.handle(input, at: time ?? now()) else { return }
        for effect in effects {
            switch effect {
            case .loadPage(let number, let page): load(name, number, page)
            case .giveUpPage:
                if let request = lists[name]?.request { requests.removeValue(forKey: request)?.cancel() }
            case .reload(let ids):
                // Each as if its event came now, after the page. One that cannot be fetched is in no page yet.
                for id in ids {
                    if lists[name]?.machine.has(id) == false { lists[name]?.awaited[Exact(id)] = false }
                    ask(.refresh(thing: Thing(entity: lists[name]?.entity ?? "", id: id)))
                }
            }
        }
        wait(name, until: lists[name]?.machine.wakeAt)
        if case .changed = input { return }
        publish(name)
    }

    private func load(_ name: String, _ number: Int, _ request: PageRequest) {
        lastPage += 1
        let page = lastPage
        lists[name]?.request = "page \(page)"
        ask(.asked(page: page))
        let (deadline, sleep, mayAsk, token) = (settings.requestDeadline, sleep, mayAsk, askedToken)
        requests["page \(page)"] = Task { [weak self, api, gate] in
            let result: Result<ListPage<Value>, any Error>
            do {
                guard mayAsk else { throw RequestFailure.unauthorized }
                let found = try await gate.run(.page(list: name)) {
                    try await Deadline.run(milliseconds: deadline, sleep: sleep) {
                        try await api.page(of: name, request)
                    }
                }
                result = .success(found)
            } catch {
                result = .failure(error)
            }
            await self?.finish(name, page, number, result, token)
        }
    }

    private func finish(
        _ name: String, _ page: Int, _ number: Int, _ result: Result<ListPage<Value>, any Error>, _ token: AskedToken
    ) {
        guard requests.removeValue(forKey: "page \(page)") != nil, let entity = lists[name]?.entity else { return }
        switch result {
        case .failure(let error):
            let failure = RequestFailure(error)
            lists[name]?.failure = failure
            switch failure {
            case .retry(let after): give(name, .pageFailed(number: number, retryAfter: after))
            case .rejected, .unreadable: give(name, .pageFailed(number: number, retryAfter: nil, isRefused: true))
            case .unauthorized:
                refuseToken(token)
                give(name, .pageFailed(number: number, retryAfter: nil))
            }
        case .success(let found):
            noteToken(token)
            lists[name]?.failure = nil
            let things = found.items.map { Thing(entity: entity, id: $0.id) }
            learn(page, things, found.items.map(\.value), isWhole: found.isWhole)
            let items = found.items.map { ListItem(id: $0.id, key: $0.key) }
            give(name, .pageLoaded(number: number, items: items, isLast: found.isLast))
            // Things that the fetch queue had refused have arrived.
            if let list = lists[name] { lists[name]?.awaited = list.awaited.filter { !list.machine.has($0.key.text) } }
            forgetValues()
            for thing in things { publishDetails(of: thing) }
        }
    }

    func publish(_ name: String) {
        guard let list = lists[name] else { return }
        listChanged?()
        let view = list.machine.view
        if list.isShown {
            let interest = list.interest(view.items.map(\.id))
            let visible = list.visibleIDs(of: view.stretch)
            _ = relevance.handle(.show(screen: name, interest: interest, visible: visible), at: now())
            follow()
        }
        let items = view.items.map { item in
            let thing = Thing(entity: list.entity, id: item.id)
            return ListState<Value>.Item(
                id: item.id, key: item.key, value: values[thing], knowledge: queue.knowledge(of: thing))
        }
        list.states.yield(
            ListState(
                items: items, complete: view.complete, stale: view.stale, knowledge: view.knowledge,
                stretch: view.stretch, isLoading: view.isLoading, failures: view.failures,
                failure: list.failure, isUnauthorized: isUnauthorized))
    }
}
