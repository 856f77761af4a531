import WebSocket

/// How a node goes out of service and returns: a table of states and inputs, without I/O and without a clock.
///
///     running ──SIGTERM──► delay ──► window ──► lingering ──► stopped
///       │  ▲                 ▲          (a second SIGTERM, or SIGINT, in any state: hurried ──► stopped)
///     drain undrain          │
///       ▼  │                 │
///     drained ───SIGTERM─────┘
///
/// The caller passes in what happens, and carries out the steps in their order.
struct NodeLifecycle: Equatable, Sendable {
    enum State: Equatable, Sendable {
        case running
        /// Out of service by an operator's command, which can be cancelled. Listeners are open, requests are refused.
        case drained
        /// SIGTERM has arrived; clients are served until balancers have noticed.
        case delay
        /// No client is admitted any more, and each connection ends at a moment of its own.
        case window
        /// Every moment has passed; the last closes and refusals are sent.
        case lingering
        /// All clients are being closed at once.
        case hurried
        case stopped
    }

    enum Input: Equatable, Sendable {
        /// SIGTERM.
        case terminate
        /// SIGINT, or an error that the node does not survive.
        case interrupt
        case drain(windowMilliseconds: UInt64)
        case undrain
        /// The time of the last ``Step/wait(milliseconds:)`` has passed.
        case timePassed
        /// Listeners are closed and the last connection has gone.
        case empty
    }

    enum Step: Equatable, Sendable {
        /// Readiness reports `draining`, or no longer.
        case reportDraining(Bool)
        /// Requests from now on are refused with 503 `draining`, or no longer.
        case refuseRequests(Bool)
        /// Connections in the listeners' queues are accepted first. From then on ``Input/empty`` is reported.
        case closeListeners
        /// Each connection gets a moment within the window, at which it is closed with 1012.
        case spread(windowMilliseconds: UInt64)
        /// All connections that were not closed yet stay.
        case cancelDrain
        case closeAll(CloseNotice)
        /// ``Input/timePassed`` is due after so long. It replaces an earlier wait.
        case wait(milliseconds: UInt64)
        /// What is left is cut, and everything ends.
        case stop
    }

    /// The times of `lifecycle`, in milliseconds.
    struct Times: Equatable, Sendable {
        var delay: UInt64
        var window: UInt64
        var retry: UInt64
    }

    /// From the end of the window to the moment when incomplete requests are refused. With the linger, the end is within 5 s of
    /// the window.
    static let lastRequestsMilliseconds: UInt64 = 1_000
    /// From the last close to the cut: as long as a peer has for its close frame.
    static let lingerMilliseconds: UInt64 = ConnectionLoop.closeTimeoutMilliseconds
    /// The same where no client is waited for, so that the end is within 2 s of the signal.
    static let hurryMilliseconds: UInt64 = 1_500
    /// For each of a few loops that do not turn. All fit into the half second that is left of the two after a signal.
    static let stuckLoopMilliseconds: UInt64 = 50
    /// When clients that were closed all at once return.
    static let hurriedRetryMilliseconds = 1_000...5_000

    private(set) var state = State.running
    /// May change while the node runs; a wait that has begun keeps the old value.
    var times: Times

    init(_ times: Times) { self.times = times }

    /// The steps for an input. Nil: it is too late to be obeyed, which only `undrain` can be.
    mutating func receive(_ input: Input) -> [Step]? {
        switch (input, state) {
        case (_, .stopped): return input == .undrain ? nil : []
        case (.undrain, .drained):
            state = .running
            return [.cancelDrain, .refuseRequests(false), .reportDraining(false)]
        case (.undrain, .running): return []
        case (.undrain, _): return nil

        case (.drain(let window), .running):
            state = .drained
            return [.reportDraining(true), .refuseRequests(true), .spread(windowMilliseconds: window)]
        case (.drain, _): return []

        case (.terminate, .running), (.terminate, .drained):
            guard times.delay > 0 else { return [.reportDraining(true)] + beginWindow() }
            state = .delay
            return [.reportDraining(true), .wait(milliseconds: times.delay)]
        case (.terminate, .delay), (.terminate, .window), (.terminate, .lingering):
            return hurry(CloseNotice(.restart, retryMilliseconds: Self.hurriedRetryMilliseconds))
        case (.interrupt, .hurried), (.terminate, .hurried): return []
        case (.interrupt, _): return hurry(CloseNotice(.goingAway))

        case (.timePassed, .delay): return beginWindow()
        case (.timePassed, .window):
            state = .lingering
            let closeNotice = CloseNotice(.restart, retryMilliseconds: 0...Int(clamping: times.retry))
            return [.closeAll(closeNotice), .wait(milliseconds: Self.lingerMilliseconds)]
        case (.timePassed, .lingering), (.timePassed, .hurried): return stop()
        case (.empty, .window), (.empty, .lingering), (.empty, .hurried): return stop()
        case (.timePassed, _), (.empty, _): return []
        }
    }

    private mutating func beginWindow() -> [Step] {
        state = .window
        // The time counts from here, however many connections are in the listeners' queues.
        return [
            .wait(milliseconds: times.window + Self.lastRequestsMilliseconds),
            .refuseRequests(true), .closeListeners, .spread(windowMilliseconds: times.window),
        ]
    }

    private mutating func hurry(_ closeNotice: CloseNotice) -> [Step] {
        state = .hurried
        return [
            .wait(milliseconds: Self.hurryMilliseconds), .reportDraining(true), .refuseRequests(true),
            .closeAll(closeNotice), .closeListeners,
        ]
    }

    private mutating func stop() -> [Step] {
        state = .stopped
        return [.stop]
    }

    /// How long the end waits for a loop that has not turned since the order to close all clients. After a second and a half it
    /// is stuck. Where all had left before that time, the rest of it is waited for.
    static func patience(askedAt: UInt64, now: UInt64) -> UInt64 {
        max(hurryMilliseconds - min(now - min(now, askedAt), hurryMilliseconds), stuckLoopMilliseconds)
    }
}
