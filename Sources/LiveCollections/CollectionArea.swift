import LiveClient

/// The elements of a collection, as a machine needs them.
struct CollectionArea<Element: Codable & Identifiable & Sendable>: LiveArea
where Element.ID: LosslessStringConvertible & Sendable {
    typealias Store = SQLiteStore
    typealias Row = CollectionRow<Element>

    let rows: CollectionRows
    let screen: CollectionScreen<Element>
    let fetchAll: @Sendable () async throws -> [Element]
    let fetchOne: @Sendable (Element.ID) async throws -> Element?

    /// A list that actions change all the time is fetched at most this often in a row.
    private static var maximumFetches: Int { 3 }

    var name: String { rows.area }

    /// Where one row cannot be decoded, because the element's type has changed, the others are shown until a snapshot is there.
    func restore(from store: SQLiteStore) async throws {
        guard try await store.load(area: name)?.lastSuccess != nil else { return }
        let stored = try await store.transaction { try rows.all(in: $0) }
        var (readable, failure): ([Row], (any Error)?) = ([], nil)
        for json in stored {
            do { readable.append(try Row(json: json)) } catch { failure = error }
        }
        try Task.checkCancellation()
        await screen.apply(.snapshot(readable))
        guard let failure else { return }
        await screen.note(failure)
        throw failure
    }

    func snapshot() async throws -> [Row] {
        try await noting {
            var (found, indices): ([Row], [String: Int]) = ([], [:])
            // A list that is fetched by pages may give an element twice, when it moves meanwhile: the later one is newer.
            for element in try await fetchedAll() {
                let row = try Row(element)
                if let index = indices[row.id] {
                    found[index] = row
                } else {
                    indices[row.id] = found.count
                    found.append(row)
                }
            }
            return found
        }
    }

    /// Fetches again if an action was answered meanwhile, because the list may be older than the answer. After some attempts the
    /// events of the actions bring what it lacks.
    private func fetchedAll() async throws -> [Element] {
        for _ in 1..<Self.maximumFetches {
            let number = await screen.fetchBegins(nil)
            let found: Result<[Element], any Error>
            do { found = .success(try await fetchAll()) } catch { found = .failure(error) }
            let isOutdated = await screen.fetchEnds(number, hasAnswer: (try? found.get()) != nil)
            if !isOutdated || Task.isCancelled { return try found.get() }
        }
        let found = try await fetchAll()
        await screen.wasFetched(nil)
        return found
    }

    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Row> {
        try await noting {
            guard let id = Element.ID(thing.id) else { throw LiveCollectionError.unreadableID(thing.id) }
            while true {
                let number = await screen.fetchBegins(id)
                let fetched: Result<Element?, any Error>
                do { fetched = .success(try await fetchOne(id)) } catch { fetched = .failure(error) }
                // The answer to an action came meanwhile: what was asked for before it may be older.
                if await screen.fetchEnds(number, hasAnswer: Self.isAnswer(fetched)), !Task.isCancelled { continue }
                guard let element = try fetched.get() else { return .gone }
                guard element.id == id else {
                    throw LiveCollectionError.otherElement(asked: "\(id)", given: "\(element.id)")
                }
                return .value(try Row(element))
            }
        }
    }

    /// Whether the API has answered what the element is, or that it does not exist.
    private static func isAnswer(_ fetched: Result<Element?, any Error>) -> Bool {
        switch fetched {
        case .success: true
        case .failure(let error): isAnswer(error)
        }
    }

    private static func isAnswer(_ error: any Error) -> Bool {
        (error as? RequestError).map { $0.isFromAPI && [403, 404, 410].contains($0.status) } ?? false
    }

    /// Before the machine knows: what it shows behind a failure comes later than the error.
    private func noting<Value>(_ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch {
            if !Self.isAnswer(error) && !(error is CancellationError) { await screen.note(error) }
            throw error is EncodingError ? RequestFailure.unreadable : error
        }
    }

    func write(_ change: LiveChange<[Row], Row>, in transaction: StoreTransaction) throws {
        switch change {
        case .snapshot(let all): try rows.replace(all.map(\.stored), in: transaction)
        case .things(let things):
            for (thing, reload) in things {
                switch reload {
                case .value(let row): try rows.put(row.stored, in: transaction)
                case .gone, .notOurs, .unneeded:
                    try rows.remove(Element.ID(thing.id)?.description ?? thing.id, in: transaction)
                case .knownStale: break
                }
            }
        }
    }

    func show(_ change: LiveChange<[Row], Row>) async { await screen.apply(change) }
}

/// The link between a collection and its machine. It does not keep the collection alive.
@MainActor final class CollectionScreen<Element: Codable & Identifiable & Sendable>
where Element.ID: LosslessStringConvertible & Sendable {
    weak var collection: LiveCollection<Element>?
    private var last = 0
    /// Fetches that run, and whether an action was answered since each began. No id: all elements are fetched.
    private var fetches: [Int: (id: Element.ID?, isOutdated: Bool)] = [:]
    /// Actions that run, with the elements that were fetched since each began; nil: all elements.
    private var actions: [Int: Set<Element.ID>?] = [:]

    /// The user has signed out: later results are not shown.
    private var isForgotten = false

    nonisolated init() {}

    func apply(_ change: LiveChange<[CollectionRow<Element>], CollectionRow<Element>>) {
        if !isForgotten { collection?.apply(change) }
    }

    func note(_ error: any Error) { collection?.note(error) }

    func stopped() { collection?.stopped() }

    func forget() {
        isForgotten = true
        collection?.forget()
    }

    /// Shows how old things are, until the machine ends.
    func follow(_ machine: LiveMachine<CollectionArea<Element>>) {
        Task { [weak self] in
            for await view in await machine.views {
                let storeError = await machine.storeError
                self?.collection?.note(view, storeError)
            }
        }
    }

    func fetchBegins(_ id: Element.ID?) -> Int {
        last += 1
        fetches[last] = (id, false)
        return last
    }

    /// True: what was fetched may be older than what is shown.
    func fetchEnds(_ number: Int, hasAnswer: Bool) -> Bool {
        guard let fetch = fetches.removeValue(forKey: number) else { return false }
        if !fetch.isOutdated && hasAnswer { wasFetched(fetch.id) }
        return fetch.isOutdated
    }

    /// - Parameter id: nil: all of them.
    func wasFetched(_ id: Element.ID?) {
        for (number, ids) in actions {
            guard let id, var ids else {
                actions.updateValue(nil, forKey: number)
                continue
            }
            ids.insert(id)
            actions.updateValue(ids, forKey: number)
        }
    }

    func actionBegins() -> Int {
        last += 1
        actions.updateValue([], forKey: last)
        return last
    }

    func actionEnds(_ number: Int) { actions.removeValue(forKey: number) }

    func wasFetched(_ id: Element.ID, during action: Int) -> Bool {
        guard let ids = actions[action] ?? nil else { return true }
        return ids.contains(id)
    }

    func putBegins(_ id: Element.ID) {
        for (number, fetch) in fetches where fetch.id == nil || fetch.id == id { fetches[number]?.isOutdated = true }
    }
}
