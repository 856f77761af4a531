import Archive
import LiveUpdates
import Reactor
import Synchronization

/// A queue of the loops' questions about the past. Nothing here waits on a loop: a question is answered through the mailbox of
/// the loop that asked, and by then its connection may be gone.
///
/// Accounts have turns, one question each. An account may have at most as many waiting questions as there are free slots. So
/// one account uses at most half of the slots, and no account waits for all questions of another. Few are sent to the store at
/// once; while it hangs the others wait here, and their connections withdraw them.
///
/// **Why nothing is missing between a page and its cursor, and nothing is duplicate.** The store reads a page and how far each
/// partition is stored in one transaction. Positions are stored with the events before them, even if a partition has none for
/// the account, or none at all. So the page holds exactly what is before them. Then ingest makes the cursor of these positions
/// (``History/snapshotCursor(account:positions:now:)``), which gives exactly the rest.
final class ArchiveRequests: Sendable {
    /// Calls of the store at once: more than it has threads.
    static let maximumCalls = 16

    private struct State {
        var store: (any ArchiveStore)?
        /// Counts stores: answers of an earlier one are not counted.
        var stores: UInt64 = 0
        var waiting = ArchiveLines()
        /// Calls of the present store that are running.
        var calls = 0
        var outlets: [Mailbox<FanOutMessage>] = []
    }

    private let state = Mutex(State())
    private let topics: [String]
    /// Called with a store's error.
    private let failed: @Sendable (ArchiveError, any ArchiveStore) -> Void

    /// - Parameter topics: as partitions number them.
    init(
        topics: [String], failed: @escaping @Sendable (ArchiveError, any ArchiveStore) -> Void = { _, _ in }
    ) {
        self.topics = topics
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

    /// Adds a question. From any thread; the answer may have been posted when this returns.
    func ask(_ question: ArchiveQuestion) {
        let refusal: ArchiveReply? = state.withLock { state in
            guard state.store != nil else { return .notReady }
            let left = ArchiveQuestion.maximumWaiting - state.waiting.count
            guard state.waiting.count(of: question.account) < left else { return .overloaded }
            state.waiting.add(question)
            return nil
        }
        if let refusal { return reply(refusal, to: question) }
        goOn()
    }

    /// The connection no longer waits. A question that the store already has is not withdrawn there.
    func withdraw(loop: Int, _ connection: ConnectionID) {
        state.withLock { $0.waiting.remove(loop: loop, connection) }
    }

    private func reply(_ reply: ArchiveReply, to question: ArchiveQuestion) {
        let outlet = state.withLock { state in
            question.loop < state.outlets.count ? state.outlets[question.loop] : nil
        }
        outlet?.post(.archive(question.connection, reply))
    }

    /// Sends questions to the store, up to the limit of calls.
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

    private func ended(_ item: ArchiveLines.Item, _ reply: ArchiveReply, _ number: UInt64) {
        let isAwaited = state.withLock { state in
            if state.stores == number { state.calls -= 1 }
            return state.waiting.end(item)
        }
        if isAwaited { self.reply(reply, to: item.question) }
        goOn()
    }

    // MARK: - The store

    private func answer(_ question: ArchiveQuestion, _ store: any ArchiveStore) async -> ArchiveReply {
        do throws(ArchiveError) {
            switch question.wish {
            case .page(let query):
                let page = try await store.page(query)
                return .body(ArchiveAnswer.body(page, at: query.wantsPositions ? named(page.positions) : nil))
            case .inbox(let query):
                let page = try await store.inbox(query)
                return .body(ArchiveAnswer.body(page, at: named(page.positions)))
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

    /// Notifies all streams of this person, on every loop: a mark has moved, here or on another node.
    func moved(_ notice: ReadNotice) {
        for outlet in state.withLock({ $0.outlets }) { outlet.post(.read(notice)) }
    }

    /// Positions with the names that cursors use. Topics that are not read are left out.
    private func named(_ stored: [StoredPosition]) -> [PartitionPosition] {
        stored.compactMap { position in
            guard let topic = topics.firstIndex(where: { $0.isBytewiseEqual(to: position.topic) }) else { return nil }
            let name = PartitionName(topic: UInt16(topic), number: position.partition)
            let newest = position.newest.map { PartitionPosition.Record(offset: $0.offset, stamp: $0.stamp) }
            return PartitionPosition(partition: name, next: position.next, log: position.log, newest: newest)
        }
    }
}
