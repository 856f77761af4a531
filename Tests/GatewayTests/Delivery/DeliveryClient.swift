import HTTP
import LiveUpdates
import WebSocket

@testable import Gateway

/// A client, its socket, and the judge of what it reads: each event that it is owed comes once and in order, none lies before a
/// cursor that it is given, and when nothing happens any more it has all of them, or was told.
final class DeliveryClient: SubscriberPort {
    let id: ConnectionID
    let route: DeliveryNode.Route
    let account: Account
    var subscription: Subscription<DeliveryClient>?
    var isBlocked = false
    /// Logs were reset behind its join, and it was not told.
    var isOwedReset = false
    private(set) var hasEnded = false
    private(set) var hasJoined = false
    private(set) var pendingBytes = 0

    private unowned let node: DeliveryNode
    private let since: CursorText
    private let receiver: ClientReceiver
    private let entities: EntityFilter?
    private let hasControls: Bool
    private let isPoll: Bool
    private var wakesAt: UInt64?
    private var isLeaving = false
    /// What it is given: behind this cursor; where that names no partition, behind this event.
    private var cursor: Cursor?
    private var behind = 0
    private var joinedAt = 0
    /// Since it was told to resync last.
    private var received: [Int] = []

    init(_ id: ConnectionID, _ route: DeliveryNode.Route, _ since: CursorText, on node: DeliveryNode) {
        self.id = id
        self.route = route
        self.node = node
        self.since = since
        account = DeliveryNode.account(route.account)
        receiver = ClientReceiver(route.carrier)
        let text = String(decoding: since.bytes, as: UTF8.self)
        let target = route.target.replacing("@", with: text)
        guard let head = try? requestHead(target) else { preconditionFailure("no target: \(target)") }
        isPoll = head.path == "/sync/v1"
        entities = try? ParameterReading(head).entities("ent")
        let fanOut = node.fanOuts[route.loop]
        guard !isPoll else {
            hasControls = true
            let limits = SyncLimits(maximumEvents: 3, maximumWaitMilliseconds: 55_000)
            guard let parameters = try? SyncParameters.parse(head, limits) else { preconditionFailure(target) }
            subscription = .poll(Poll(parameters, account: account, port: self, fanOut: fanOut))
            return
        }
        guard let parameters = try? LiveParameters.parse(head, isEventStream: route.carrier == .eventStream) else {
            preconditionFailure(target)
        }
        hasControls = parameters.wantsCursors
        let form = StreamForm(parameters, route.carrier)
        subscription = .stream(LiveStream(parameters, form: form, account: account, port: self, fanOut: fanOut))
    }

    var subscriber: Subscriber { Subscriber(account: account, loop: route.loop, connection: id) }

    func begin() {
        let isResuming = route.target.contains("@")
        if isResuming { (cursor, behind) = (Cursor(since.bytes), node.events.count) }
        switch subscription {
        case .stream(let stream): stream.begin(since: isResuming ? since.bytes : nil)
        case .poll(let poll): poll.begin()
        case nil: break
        }
    }

    /// Ingest has served its join, when there were so many events.
    func join(at events: Int) {
        hasJoined = true
        joinedAt = events
        if cursor == nil { behind = events }
    }

    func leave() { if !hasEnded { subscription?.end() } }

    /// Its loop has gone over it behind a reset.
    func settle() {
        guard !hasEnded else { return }
        subscription?.settle(now: node.now)
        guard node.mutant == .leavesGroup, case .stream(let stream) = subscription, stream.isLive else { return }
        isLeaving = true
        stream.end()
        isLeaving = false
    }

    func wake() {
        guard !hasEnded, let due = wakesAt, due <= node.now else { return }
        wakesAt = nil
        subscription?.wake(now: node.now)
    }

    func endTick() {
        guard pendingBytes > 0, case .stream(let stream) = subscription, !hasEnded else { return }
        if isBlocked { return stream.blocked(now: node.now) }
        pendingBytes = 0
        if node.mutant != .forgetsDrained { stream.drained(now: node.now) }
    }

    // MARK: - The judge

    /// Whether it may be given the event.
    private func concerns(_ event: DeliveryNode.Event) -> Bool {
        guard event.account == route.account, entities?.passes(event.entity) ?? true else { return false }
        let position = cursor?.positions.first { $0.partition == event.partition }
        return position.map { event.offset >= $0.offset } ?? (event.number >= behind)
    }

    /// What a partition has lost comes no more, and no cursor of now names it.
    private func isOwed(_ event: DeliveryNode.Event) -> Bool {
        guard concerns(event) else { return false }
        let isNamed = cursor?.positions.contains { $0.partition == event.partition } ?? false
        return isNamed || event.offset >= node.readFrom[Int(event.partition.number)]
    }

    private func read(_ text: String) {
        let found = Self.text(after: #""at":""#, in: text) ?? Self.text(after: " id=", in: text)
        let at = found.flatMap { Cursor(Array($0.utf8)) }
        if text.contains("resync") {
            (cursor, received, isOwedReset) = (at, [], false)
            // Since then its account is held for its sake: what a cursor does not name, there was not.
            behind = joinedAt
        } else if let number = Self.text(after: #""id":""#, in: text).flatMap({ Int($0) }) {
            take([number])
        }
        if let at { expectNothingOwed(before: at) }
    }

    private static func text(after mark: String, in text: String) -> String? {
        guard let range = text.firstRange(of: mark) else { return nil }
        return String(text[range.upperBound...].prefix { $0 != "\"" && $0 != " " })
    }

    private func take(_ numbers: [Int]) {
        for number in numbers {
            node.expect(number > received.last ?? -1, "\(route): event \(number) behind \(received)")
            node.expect(concerns(node.events[number]), "\(route): event \(number) is not owed")
            received.append(number)
        }
    }

    private func expectNothingOwed(before at: Cursor) {
        for event in node.events where isOwed(event) && !received.contains(event.number) {
            guard let position = at.positions.first(where: { $0.partition == event.partition }) else { continue }
            node.expect(
                event.offset >= position.offset, "\(route): a cursor behind event \(event.number), which is owed")
        }
    }

    /// Nothing happens any more.
    func expectNothingOwed() {
        guard !hasEnded else { return }
        node.expect(hasJoined && !isOwedReset, "\(route): it was not told of a reset")
        node.expect(!isPoll, "\(route): a poll was not answered")
        let owed = node.events.filter(isOwed).map(\.number)
        node.expect(received == owed, "\(route): \(received) came, and \(owed) were owed")
    }

    // MARK: - The port

    func isOf(_ person: String) -> Bool { false }

    func write(_ bytes: [UInt8]) {
        node.expect(!hasEnded, "\(route): bytes behind the end")
        pendingBytes += bytes.count
        for text in receiver.receive(bytes) { read(text) }
    }

    func subscribe(_ account: Account, _ request: JoinRequest) { node.post(.subscribe(subscriber, request)) }

    func unsubscribe(_ account: Account, withCursors: Bool) {
        node.expect(!hasEnded, "\(route): it left twice")
        // A mutant makes it leave without its knowledge.
        hasEnded = !isLeaving
        if node.mutant != .keepsMember { node.post(.unsubscribe(subscriber, withCursors: withCursors)) }
    }

    func read(_ account: Account, _ request: ReadRequest) {
        node.post(.read(subscriber, node.mutant?.change(request) ?? request))
    }

    func readNow(_ account: Account) { node.post(.readNow(subscriber)) }
    func askFreshCursor(_ account: Account) { node.post(.freshCursor(subscriber)) }
    func wake(at time: UInt64) { if node.mutant != .neverWakes { wakesAt = time } }
    func streamBegins() {}

    func streamEnds(_ code: CloseCode, _ why: StaticString, _ unsent: [DeliveryFacts]) {
        node.expect(node.mayClose(route.account), "\(route): closed without need: \(why)")
    }

    func pollBegins() {}

    func pollEnds(answer body: [UInt8], _ facts: DeliveryFacts) {
        let text = String(decoding: body, as: UTF8.self)
        take(text.matches(of: /"id":"(\d+)"/).compactMap { Int($0.1) })
        let owed = node.events.filter(isOwed).map(\.number)
        let isFirst = received == Array(owed.prefix(received.count))
        node.expect(isFirst || isOwedReset, "\(route): \(received) of \(owed)")
        let found = Self.text(after: #"],"at":""#, in: text) ?? ""
        guard let at = Cursor(Array(found.utf8)) else {
            return node.expect(false, "\(route): an answer without a cursor: \(text)")
        }
        expectNothingOwed(before: at)
    }

    func pollEnds(refused why: ResyncReason, fresh: CursorText) {
        node.expect(node.mayClose(route.account), "\(route): refused without need: \(why)")
    }
}
