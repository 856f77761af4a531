import Foundation
import LiveClient

#if canImport(Observation)
    import Observation
#endif

/// A live list: all elements of one entity that an app's API gives, as the server has them.
///
///     let incidents = LiveCollection<Incident>("incident", in: session, snapshot: api.list, reload: api.incident)
///
/// It starts from what was stored, without a network, and then follows the session's stream: an event about one element reloads
/// that element. The rows are in a table of the SDK's own, as JSON, and change in the transaction that moves the cursor. The
/// session starts and stops the collection. The app keeps a reference: without one the collection stops.
#if canImport(Observation)
    @Observable
#endif
@MainActor public final class LiveCollection<Element: Codable & Identifiable & Sendable>
where Element.ID: LosslessStringConvertible & Sendable {
    /// What is known, in its order. Empty also while nothing is known: see ``isKnown``.
    public private(set) var elements: [Element] = []
    /// A list was stored or fetched; until then nobody knows whether there are elements.
    public private(set) var isKnown = false
    /// How far the elements can be trusted.
    public private(set) var freshness: Freshness
    /// The sign for people that the elements may be old, and why. Nil: no sign, as in the background and for a short gap.
    public private(set) var sign: Freshness?
    /// The server or the API has refused the token, and there is no other one: the user has to sign in.
    public private(set) var needsSignIn = false
    /// Elements that could not be reloaded, and why: they may be old. They are fetched again behind waits, and by ``check(_:)``.
    public private(set) var failures: [Element.ID: RequestFailure] = [:]
    /// What is wrong with the store, or what `snapshot` or `reload` threw last; nil: nothing since all was as the server has it.
    public var lastError: (any Error)? { storeError ?? thrown }

    /// Whether people see a sign that the elements may be old.
    public var isOld: Bool { sign != nil }

    private var storeError: StoreError?
    private var thrown: (any Error)?

    private let entity: String
    private let areInIncreasingOrder: ((Element, Element) -> Bool)?
    private let session: LiveSession
    private let area: CollectionArea<Element>
    private let machine: LiveMachine<CollectionArea<Element>>
    /// Nil: the session has another one of this name, or has ended.
    private let part: Int?

    /// By their ids, the things of ``failures`` as the events name them.
    private var failedThings: [Element.ID: Thing] = [:]
    /// The session has stopped it.
    private var isStopped = false

    /// A collection in a session, which starts it.
    ///
    /// - Parameters:
    ///   - entity: of the events. The client's configuration has to deliver them.
    ///   - version: of what is stored. Raise it when `snapshot` gives other elements, or the elements have another member that a
    ///     stored row lacks: then everything is fetched again. A member that cannot be decoded has this effect by itself.
    ///   - name: distinguishes two collections of one entity; each has rows of its own. A session has one of each entity and name
    ///     at a time: a second one shows nothing and has ``LiveCollectionError/nameIsTaken(entity:name:)`` as its ``lastError``.
    ///   - settings: with the server's `retention`; its entities are replaced.
    ///   - areInIncreasingOrder: the order. Nil: that of the snapshot, with what is new behind it.
    ///   - snapshot: fetches all elements. It throws ``RequestError`` where the API refuses, and asks no cache.
    ///   - reload: fetches one element. Nil, or a 404, 410 or 403 that is thrown: it is not in the list any more.
    public init(
        _ entity: String, in session: LiveSession, name: String? = nil, version: Int = 1,
        settings: UpdateMachine.Settings = .init(),
        sortedBy areInIncreasingOrder: ((Element, Element) -> Bool)? = nil,
        snapshot: @escaping @Sendable () async throws -> [Element],
        reload: @escaping @Sendable (Element.ID) async throws -> Element?
    ) {
        (self.entity, self.session, self.areInIncreasingOrder) = (entity, session, areInIncreasingOrder)
        var settings = settings
        settings.entities = [entity]
        freshness = UpdateMachine(settings).view.freshness
        let screen = CollectionScreen<Element>()
        let area = CollectionArea(
            rows: CollectionRows(entity: entity, name: name, version: version), screen: screen, fetchAll: snapshot,
            fetchOne: reload)
        let machine = session.machine(area, settings: settings)
        (self.area, self.machine) = (area, machine)
        var life = SessionPart(machine)
        let start = life.start
        life.start = {
            await start()
            await screen.follow(machine)
        }
        life.stop = { isSigningOut in
            await machine.stop()
            await screen.stopped()
            if isSigningOut { await screen.forget() }
        }
        part = session.add(life)
        screen.collection = self
        guard part == nil else { return }
        thrown = LiveCollectionError.nameIsTaken(entity: entity, name: name)
        stopped()
    }

    deinit {
        guard let part else { return }
        // Another one of this name may start now: what this one has not stored yet is not stored any more.
        area.rows.close()
        session.remove(part)
        Task { [machine] in await machine.stop() }
    }

    /// The element of this id; nil: there is none, as far as is known.
    public subscript(id: Element.ID) -> Element? { elements.first { $0.id == id } }

    /// A person pulls the screen: everything is fetched again.
    ///
    /// - Returns: true when all of it was fetched; false when that fails now: ``sign`` and ``lastError`` have the reason.
    @discardableResult
    public func refresh() async -> Bool { await machine.refresh() }

    /// A person opens an element: where it could not be reloaded, it is fetched now.
    public func check(_ id: Element.ID) async {
        await machine.check(failedThings[id] ?? Thing(entity: entity, id: "\(id)"))
    }

    /// Runs an action whose answer is the element as it is now, such as "acknowledge", and shows the answer at once.
    ///
    /// Where the element was fetched meanwhile, it is not known which of the two is newer; then the action's event brings it.
    ///
    /// - Throws: what `action` throws: then nothing has changed here.
    @discardableResult
    public func perform(_ action: @Sendable () async throws -> Element) async throws -> Element {
        let screen = area.screen
        let number = screen.actionBegins()
        defer { screen.actionEnds(number) }
        let element = try await action()
        guard part != nil, !screen.wasFetched(element.id, during: number) else { return element }
        let row = try CollectionRow(element)
        screen.putBegins(element.id)
        do {
            try await session.store.transaction { [rows = area.rows] in try rows.put(row.stored, in: $0) }
        } catch {
            // The action is done, and its event has the element stored.
            thrown = error
        }
        screen.apply(.things([(Thing(entity: entity, id: row.id), .value(row))]))
        return element
    }

    // MARK: What the machine has done

    func apply(_ change: LiveChange<[CollectionRow<Element>], CollectionRow<Element>>) {
        var next: [Element]
        switch change {
        case .snapshot(let rows):
            next = rows.map(\.element)
            if !isKnown { isKnown = true }
        case .things(let things):
            next = elements
            var indices = Dictionary(next.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { $1 })
            var gone: Set<Element.ID> = []
            for (thing, reload) in things {
                switch reload {
                case .value(let row):
                    gone.remove(row.element.id)
                    if let index = indices[row.element.id] {
                        next[index] = row.element
                    } else {
                        indices[row.element.id] = next.count
                        next.append(row.element)
                    }
                case .gone, .notOurs, .unneeded: if let id = Element.ID(thing.id) { gone.insert(id) }
                case .knownStale: break
                }
            }
            next.removeAll { gone.contains($0.id) }
        }
        if let areInIncreasingOrder { next.sort(by: areInIncreasingOrder) }
        elements = next
    }

    func note(_ view: UpdateMachine.View, _ storeError: StoreError?) {
        guard !isStopped else { return }
        if freshness != view.freshness { freshness = view.freshness }
        if sign != view.sign { sign = view.sign }
        if needsSignIn != view.isUnauthorized { needsSignIn = view.isUnauthorized }
        if self.storeError != storeError { self.storeError = storeError }
        var failures: [Element.ID: RequestFailure] = [:]
        failedThings = [:]
        for stale in view.metadata.knownStale ?? [] {
            guard let id = Element.ID(stale.thing.id) else { continue }
            failures[id] = stale.failure
            failedThings[id] = stale.thing
        }
        if self.failures != failures { self.failures = failures }
        let isComplete = view.freshness == .connected && view.pending == 0 && view.metadata.knownStale == nil
        if isComplete && thrown != nil { thrown = nil }
    }

    func note(_ error: any Error) { thrown = error }

    /// Nothing follows the server any more: what is shown gets older from now on.
    func stopped() {
        guard !isStopped else { return }
        isStopped = true
        if freshness == .connected {
            freshness = .cannotConnect(since: Milliseconds(Date().timeIntervalSince1970 * 1_000))
        }
        sign = freshness
    }

    func forget() {
        (elements, isKnown, failures) = ([], false, [:])
    }
}

/// What is wrong with a ``LiveCollection``, or with what its functions gave.
public enum LiveCollectionError: Error, Equatable, Sendable {
    /// The session has another collection of this entity and name, or has ended.
    case nameIsTaken(entity: String, name: String?)
    /// An event names an element by what is no id of the elements.
    case unreadableID(String)
    /// `reload` was asked for the first and gave the second.
    case otherElement(asked: String, given: String)
}
