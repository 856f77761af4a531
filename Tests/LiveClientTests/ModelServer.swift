import LiveClient
import LiveState
import Synchronization

/// A server as a value: things with versions, a log of what happened to them, and streams behind any cursor of it. Each request
/// is a step, and each thing of a list another one, so that a change can come between any two.
actor ModelServer: LiveFeed {
    enum Change: CaseIterable, Sendable {
        case create, update, delete, resync
        /// All streams end, and the API still answers.
        case lose
        case comeBack
    }

    private(set) var things = ["A": 1, "B": 1]
    private var log: [LiveEvent] = []
    /// What stands before it in the log cannot be given any more.
    private var epoch = 0
    private var step = 0
    /// What is still to happen, by step.
    private var changes: [Int: Change]
    var hasChanged: Bool { changes.isEmpty }
    private(set) var snapshots = 0
    private(set) var readersMade = 0
    private var failures: [RequestFailure] = []
    private var isDown = false

    private struct Reader {
        var updates: [LiveUpdate] = []
        var waiting: CheckedContinuation<LiveUpdate?, Never>?
        /// What it has of the log, and of which one.
        var position: Int
        var epoch: Int
        var isOpen = false
    }
    private var readers: [Int: Reader] = [:]
    private nonisolated let numbers = Mutex(0)
    /// How often the connection was to be tested.
    nonisolated let tests = Mutex(0)

    /// Of all things.
    private let entity: String

    init(changes: [Int: Change] = [:], entity: String = "incident") { (self.changes, self.entity) = (changes, entity) }

    private var cursor: LiveCursor { LiveCursor("\(epoch)/\(log.count)") }

    private func cursor(_ position: Int) -> LiveCursor { LiveCursor("\(epoch)/\(position)") }

    private func advance() {
        step += 1
        if let next = changes.removeValue(forKey: step) { change(next) }
    }

    /// Changes something, and tells all streams.
    func change(_ change: Change) {
        switch change {
        case .create:
            things["C"] = 1
            add("C", "created")
        case .update:
            things["A", default: 0] += 1
            add("A", "updated")
        case .delete:
            things["B"] = nil
            add("B", "deleted")
        case .resync:
            // Changed without a word: only a snapshot shows it.
            things["A", default: 0] += 1
            epoch += 1
            log = []
            for number in readers.keys { deliver(number) }
        case .lose:
            guard !isDown else { return }
            isDown = true
            for number in readers.keys {
                readers[number]?.isOpen = false
                push(.disconnected(reason: "cut", retry: .seconds(3_600)), number)
            }
        case .comeBack:
            isDown = false
            for number in readers.keys { begin(number) }
        }
    }

    private func add(_ id: String, _ type: String) {
        let position = log.count + 1
        log.append(
            LiveEvent(entity: entity, id: id, type: type, cursor: cursor(position), ts: Milliseconds(position)))
        for number in readers.keys { deliver(number) }
    }

    // MARK: The API

    /// Makes the next requests for a thing fail.
    func fail(_ count: Int, with failure: RequestFailure) { failures = Array(repeating: failure, count: count) }

    func list() async throws -> [String: Int] {
        snapshots += 1
        var found: [String: Int] = [:]
        for id in ["A", "B", "C"] {
            advance()
            await Task.yield()
            found[id] = things[id]
        }
        advance()
        return found
    }

    func version(of id: String) async throws -> Int? {
        advance()
        if let failure = failures.popLast() { throw failure }
        let found = things[id]
        // The answer is on its way, and may be old when it comes.
        for _ in 0..<3 {
            advance()
            await Task.yield()
        }
        return found
    }

    // MARK: The feed

    func sync(since: LiveCursor?) async throws -> SyncAnswer {
        advance()
        let answer = SyncAnswer.page([], at: cursor, more: false)
        await Task.yield()
        advance()
        return answer
    }

    /// It never ends for good.
    nonisolated var states: AsyncStream<ConnectionState> { AsyncStream { $0.finish() } }

    nonisolated func refresh() { tests.withLock { $0 += 1 } }

    nonisolated func read(from cursor: LiveCursor) -> LiveFeedReader {
        let number = numbers.withLock { last in
            last += 1
            return last
        }
        return LiveFeedReader { [self] in await next(number, from: cursor) }
    }

    private func open(_ number: Int, _ from: LiveCursor) {
        readersMade += 1
        advance()
        let parts = from.text.split(separator: "/").compactMap { Int($0) }
        readers[number] = Reader(position: parts.last ?? 0, epoch: parts.first ?? -1)
        begin(number)
    }

    private func begin(_ number: Int) {
        guard !isDown, readers[number]?.isOpen == false else { return }
        readers[number]?.isOpen = true
        push(.connected, number)
        deliver(number)
        push(.live(cursor), number)
    }

    private func deliver(_ number: Int) {
        guard let reader = readers[number], reader.isOpen else { return }
        if reader.epoch != epoch || reader.position > log.count {
            push(.resync(.epoch, cursor), number)
            push(.live(cursor), number)
        } else {
            for event in log[reader.position...] { push(.event(event), number) }
        }
        readers[number]?.epoch = epoch
        readers[number]?.position = log.count
    }

    private func push(_ update: LiveUpdate, _ number: Int) {
        if let waiting = readers[number]?.waiting {
            readers[number]?.waiting = nil
            waiting.resume(returning: update)
        } else {
            readers[number]?.updates.append(update)
        }
    }

    private func next(_ number: Int, from cursor: LiveCursor) async -> LiveUpdate? {
        if readers[number] == nil { open(number, cursor) }
        advance()
        if readers[number]?.updates.isEmpty == false { return readers[number]?.updates.removeFirst() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(returning: nil) }
                readers[number]?.waiting = continuation
            }
        } onCancel: {
            Task { await self.close(number) }
        }
    }

    private func close(_ number: Int) {
        readers[number]?.waiting?.resume(returning: nil)
        readers[number]?.waiting = nil
    }
}
