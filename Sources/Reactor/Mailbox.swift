import CLinux
import Dispatch
import Synchronization

/// The entry into a loop for frequent messages: an array behind a lock, and a bell that rings only when it was empty.
///
/// Measured 12 times cheaper than `queue.async` for each item. Messages of one poster arrive in the order they were posted.
/// Gathered messages are delivered at once, as one tick. An open mailbox never drops a message, because a lost message is
/// a lost event. So the posters must obey the limit: ``post(_:)`` returns false from ``backlogLimit`` messages on, and a
/// poster that can wait (a consumer that stops draining its broker) then does.
package final class Mailbox<Message: Sendable>: Sendable {
    /// The backlog at which a poster should stop posting: about a second of a busy loop's work.
    package static var defaultBacklogLimit: Int { 65_536 }

    /// The capacity for messages that is kept for the next ones; a burst beyond it releases its memory.
    private static var keptMessages: Int { 4_096 }

    private struct Box {
        var messages: [Message] = []
        var isClosed = false
    }

    package let backlogLimit: Int
    private let box: Shared
    /// Nil: no loop is notified of new messages.
    private let bell: Bell?

    /// The object that the bell's closure holds. It is not the mailbox, which would keep itself alive.
    private final class Shared: Sendable {
        let box = Mutex(Box())
    }

    /// Creates a mailbox whose messages go to `receive`, on the loop. `receive` may hold objects of the loop; everything else
    /// that it holds must be Sendable.
    package init(
        loop: EventLoop, backlogLimit: Int = Mailbox.defaultBacklogLimit,
        receive: @escaping ([Message]) -> Void
    ) {
        self.backlogLimit = backlogLimit
        let shared = Shared()
        box = shared
        let source = DispatchSource.makeUserDataAddSource(queue: loop.queue)
        // Two arrays are used in alternation, so that posting rarely allocates.
        var spare: [Message] = []
        source.setEventHandler {
            var messages: [Message] = []
            swap(&messages, &spare)
            shared.box.withLock { swap(&messages, &$0.messages) }
            guard !messages.isEmpty else { return }
            loop.tick { receive(messages) }
            messages.removeAll(keepingCapacity: messages.capacity <= Self.keptMessages)
            spare = messages
        }
        bell = Bell(source: source)
        source.activate()
    }

    /// Creates a mailbox whose messages go to `handle` one by one, in their order, as many in a tick as a turn has time for.
    /// It is for messages that may cost as much as an event of ten thousand clients. The rest continues in the next
    /// tick.
    package init(
        inTurnsOn loop: EventLoop, backlogLimit: Int = Mailbox.defaultBacklogLimit,
        handle: @escaping (Message) -> Void
    ) {
        self.backlogLimit = backlogLimit
        let shared = Shared()
        box = shared
        let source = DispatchSource.makeUserDataAddSource(queue: loop.queue)
        var messages: [Message] = []
        var handled = 0
        // The source and its handler hold each other until the mailbox is released and cancels the source.
        source.setEventHandler {
            // Not before the removed messages are handled: the messages waiting in the box count for the limit.
            if handled == messages.count {
                messages.removeAll(keepingCapacity: messages.capacity <= Self.keptMessages)
                handled = 0
                shared.box.withLock { swap(&messages, &$0.messages) }
            }
            guard !messages.isEmpty else { return }
            loop.tick {
                let end = linux_monotonic_microseconds() + EventLoop.turnMicroseconds
                while handled < messages.count {
                    handle(messages[handled])
                    handled += 1
                    if linux_monotonic_microseconds() >= end { break }
                }
            }
            // A poster does not ring when the box is not empty.
            let isMoreInBox = shared.box.withLock { !$0.messages.isEmpty }
            if handled < messages.count || isMoreInBox { source.add(data: 1) }
        }
        bell = Bell(source: source)
        source.activate()
    }

    /// Creates a mailbox without a loop. Its holder removes the messages when it wants.
    package init(backlogLimit: Int = Mailbox.defaultBacklogLimit) {
        self.backlogLimit = backlogLimit
        box = Shared()
        bell = nil
    }

    /// Removes and returns the messages of a mailbox without a loop.
    package func take() -> [Message] {
        precondition(bell == nil, "a mailbox hands over on its loop what comes")
        return box.box.withLock { exchange(&$0.messages, with: []) }
    }

    deinit { bell?.source.cancel() }

    /// Adds a message. From any thread. Returns false when the poster should stop posting; the message is added in that case
    /// too.
    @discardableResult
    package func post(_ message: Message) -> Bool {
        let (first, belowLimit) = box.box.withLock { box in
            if box.isClosed { return (false, true) }
            box.messages.append(message)
            return (box.messages.count == 1, box.messages.count < backlogLimit)
        }
        if first { bell?.source.add(data: 1) }
        return belowLimit
    }

    /// Adds messages that arrive together, in one tick. Otherwise like ``post(_:)``.
    @discardableResult
    package func post(contentsOf messages: [Message]) -> Bool {
        guard !messages.isEmpty else { return backlog < backlogLimit }
        let (first, belowLimit) = box.box.withLock { box in
            if box.isClosed { return (false, true) }
            let wasEmpty = box.messages.isEmpty
            box.messages += messages
            return (wasEmpty, box.messages.count < backlogLimit)
        }
        if first { bell?.source.add(data: 1) }
        return belowLimit
    }

    /// How many messages are waiting.
    package var backlog: Int { box.box.withLock { $0.messages.count } }

    /// Ends delivery and returns the messages that were waiting; messages posted later are dropped. From any thread. A tick
    /// that has already removed its messages finishes them.
    @discardableResult
    package func close() -> [Message] {
        bell?.source.cancel()
        return box.box.withLock { box in
            box.isClosed = true
            let left = box.messages
            box.messages = []
            return left
        }
    }

    /// Like ``post(_:)``, for messages that must not be dropped: false if the mailbox is closed.
    func deliver(_ message: Message) -> Bool {
        let (first, isClosed) = box.box.withLock { box in
            if !box.isClosed { box.messages.append(message) }
            return (box.messages.count == 1, box.isClosed)
        }
        if first, !isClosed { bell?.source.add(data: 1) }
        return !isClosed
    }
}

/// The Dispatch source of a mailbox.
// SAFETY: adding data to a Dispatch source and cancelling it may be done from any thread; nothing else is done with it.
private struct Bell: @unchecked Sendable {
    let source: DispatchSourceUserDataAdd
}

/// Carries a value of a loop through code that is not on the loop. It can be passed anywhere and opened only on the loop.
// SAFETY: `value` is reached only after a check, in every build, that the caller runs on the loop's serial queue.
package struct LoopBound<Value>: @unchecked Sendable {
    package let loop: EventLoop
    private let bound: Value

    /// Wraps a value on its loop.
    package init(_ value: Value, loop: EventLoop) {
        loop.preconditionOnLoop()
        self.loop = loop
        bound = value
    }

    /// The value; only on its loop.
    package var value: Value {
        loop.preconditionOnLoop()
        return bound
    }
}
