import Archive
import LiveUpdates
import Reactor
import Synchronization

/// Where the loops ask for the past. Nothing here waits on a loop: a question is answered through the mailbox of the loop that
/// asked, and by then its connection may be gone.
///
/// Accounts have their turns, one question each, and an account may have no more questions waiting than there are places
/// left: so one takes half of them at most, and nobody waits for all that another one has asked. Few are asked of the store
/// at once; while it hangs the others wait here, and are taken back by their connections.
///
/// **Why nothing is missing between a page and its cursor.** Ingest makes the cursor, and notes in the same message how far it
/// has read each partition that it knows. From the cursor on all is given that stands at these offsets or behind, in
/// partitions that the cursor names or does not. Of a partition that ingest has not begun to read all is still to come. So
/// a page is right when it holds all that stands before them: it says in its own snapshot how far each partition was stored,
/// and is answered only once no partition is stored less far. Positions are stored with the events before them, also
/// where a partition has none for the account, or none at all. Where another node writes, it may be further than this
/// one has read: those events come twice.
final class ArchiveDesk: Sendable {
    /// At once, of all accounts together.
    static let maximumWaiting = 1_000
    /// Asked of the store at once: more than it has threads.
    static let maximumCalls = 16
    /// Between two checks of how far it is.
    static let checkMilliseconds: ClosedRange<UInt64> = 20...50
    /// How long a question waits until the store has come as far as its cursor.
    static let defaultCatchUpMilliseconds: UInt64 = 1_000

    private struct State {
        var store: (any ArchiveStore)?
        /// Counts stores: what one still owes is nobody's any more.
        var stores: UInt64 = 0
        var waiting = ArchiveLines()
        /// Under way, of the present store.
        var calls = 0
        /// Whether somebody checks how far the store is.
        var isChecking = false
        var outlets: [Mailbox<FanOutMessage>] = []
    }

    private let state = Mutex(State())
    private let topics: [String]
    private let catchUpMilliseconds: UInt64
    /// Hears what a store says instead of an answer.
    private let failed: @Sendable (ArchiveError, any ArchiveStore) -> Void

    /// - Parameters:
    ///   - topics: as partitions number them.
    ///   - catchUpMilliseconds: how long a question waits until the store has come as far as its cursor.
    init(
        topics: [String], catchUpMilliseconds: UInt64 = defaultCatchUpMilliseconds,
        failed: @escaping @Sendable (ArchiveError, any ArchiveStore) -> Void = { _, _ in }
    ) {
        self.topics = topics
        self.catchUpMilliseconds = catchUpMilliseconds
        self.failed = failed
    }

    /// Begins to answer. `outlets` are those of the connection loops, by their index.
    func open(_ outlets: [Mailbox<FanOutMessage>]) { state.withLock { $0.outlets = outlets } }

    /// The store is open, another one, or gone.
    func use(_ store: (any ArchiveStore)?) {
        let refused = state.withLock { state in
            state.store = store
            state.stores += 1
            state.calls = 0
            return store == nil ? state.waiting.removeAll() : []
        }
        for question in refused { reply(.notReady, to: question) }
        goOn()
    }

    /// How many wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    // MARK: - Questions

    /// Asks. From any thread; the answer may have been posted when this returns.
    func ask(_ question: ArchiveQuestion) {
        let refusal: ArchiveReply? = state.withLock { state in
            guard state.store != nil else { return .notReady }
            let left = Self.maximumWaiting - state.waiting.count
            guard state.waiting.count(of: question.account) < left else { return .overloaded }
            state.waiting.add(question, until: EventLoop.microseconds / 1_000 + catchUpMilliseconds)
            return nil
        }
        if let refusal { return reply(refusal, to: question) }
        goOn()
    }

    /// The connection does not wait any more. What was asked of the store by then is not taken back.
    func withdraw(loop: Int, _ connection: ConnectionID) {
        state.withLock { $0.waiting.remove(loop: loop, connection) }
    }

    private func reply(_ reply: ArchiveReply, to question: ArchiveQuestion) {
        let outlet = state.withLock { state in
            question.loop < state.outlets.count ? state.outlets[question.loop] : nil
        }
        outlet?.post(.archive(question.connection, reply))
    }

    /// Asks the store as much as may be asked at once.
    private func goOn() {
        while let (item, store, number) = next() {
            Task {
                let reply = await self.answer(item.question, store)
                self.ended(item, reply, number)
            }
        }
    }

    private func next() -> (ArchiveLines.Item, any ArchiveStore, UInt64)? {
        state.withLock { state in
            guard let store = state.store, state.calls < Self.maximumCalls, let item = state.waiting.next() else {
                return nil
            }
            state.calls += 1
            return (item, store, state.stores)
        }
    }

    private func ended(_ item: ArchiveLines.Item, _ reply: ArchiveReply?, _ number: UInt64) {
        let (isAwaited, begins) = state.withLock { state -> (Bool, Bool) in
            if state.stores == number { state.calls -= 1 }
            guard reply == nil else { return (state.waiting.end(item), false) }
            // It is behind: whoever checks how far it is asks again.
            guard state.waiting.rest(item), !state.isChecking else { return (false, false) }
            state.isChecking = true
            return (false, true)
        }
        if let reply, isAwaited { self.reply(reply, to: item.question) }
        if begins { Task { await check() } }
        goOn()
    }

    // MARK: - The store

    /// Nil: the store has not come as far as the cursor.
    private func answer(_ question: ArchiveQuestion, _ store: any ArchiveStore) async -> ArchiveReply? {
        do throws(ArchiveError) {
            switch question.wish {
            case .page(let query, let place):
                let page = try await store.page(query)
                if let place, !isReached(place, page.positions) { return nil }
                return .body(ArchiveAnswer.body(page, at: place?.cursor))
            case .inbox(let query, let place):
                let page = try await store.inbox(query)
                guard isReached(place, page.positions) else { return nil }
                return .body(ArchiveAnswer.body(page, at: place.cursor))
            case .mark(let mark):
                switch try await store.mark(mark) {
                case .moved:
                    moved(ReadNotice(account: mark.account, person: mark.person, thing: mark.thing, upTo: mark.upTo))
                    return .marked
                case .unchanged: return .marked
                case .tooMany: return .tooManyMarks
                case .unknown: return .unknownEvent
                case .behind: return .notReady
                }
            }
        } catch {
            failed(error, store)
            if case .overloaded = error { return .overloaded }
            return .notReady
        }
    }

    /// Tells all streams of this person, on every loop: a mark has moved, here or on another node.
    func moved(_ notice: ReadNotice) {
        for outlet in state.withLock({ $0.outlets }) { outlet.post(.read(notice)) }
    }

    // MARK: - How far it is

    /// Whether all was stored that had been read when the cursor was made.
    private func isReached(_ place: ArchivePlace, _ stored: [StoredPosition]) -> Bool {
        place.isReached(by: StoredProgress(stored, topics: topics))
    }

    /// Checks again and again, for all that wait for the store, until none of them does.
    private func check() async {
        var pause = Self.checkMilliseconds.lowerBound
        while true {
            try? await Task.sleep(for: .milliseconds(pause))
            pause = min(pause * 3 / 2, Self.checkMilliseconds.upperBound)
            let store = state.withLock { $0.store }
            var progress: StoredProgress?
            if let stored = try? await store?.positions() { progress = StoredProgress(stored, topics: topics) }
            let now = EventLoop.microseconds / 1_000
            let (late, isOver) = state.withLock { state in
                let late = state.waiting.wake(now: now) { question in
                    guard let progress, let place = question.place else { return false }
                    return place.isReached(by: progress)
                }
                state.isChecking = state.waiting.areResting
                return (late, !state.isChecking)
            }
            for question in late { reply(.notReady, to: question) }
            goOn()
            if isOver { return }
        }
    }
}

/// How far a store is, by partition.
struct StoredProgress {
    private var next: [PartitionName: Int64] = [:]

    /// - Parameter topics: as partitions number them; others are left out.
    init(_ positions: [StoredPosition], topics: [String]) {
        for position in positions {
            guard let topic = topics.firstIndex(where: { $0.isBytewiseEqual(to: position.topic) }) else { continue }
            next[PartitionName(topic: UInt16(topic), number: position.partition)] = position.next
        }
    }

    /// 0 where nothing is stored.
    subscript(partition: PartitionName) -> Int64 { next[partition] ?? 0 }
}

extension ArchivePlace {
    /// Whether no partition is stored less far than it was read.
    func isReached(by progress: StoredProgress) -> Bool {
        positions.allSatisfy { $0.next <= progress[$0.partition] }
    }
}
