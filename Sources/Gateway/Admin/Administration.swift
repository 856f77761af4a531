import GatewaySettings
import HTTP
import Logging
import Reactor
import Synchronization

/// What a node as a whole does when it is asked to.
struct NodeControl: Sendable {
    /// Takes the node out of service within the window; nil: that of the settings.
    let drain: @Sendable (_ window: Duration?) async -> Void
    /// Takes that back. False: it is too late.
    let undrain: @Sendable () async -> Bool
}

/// What the rows of the administration answer from. Any thread may hold it; what is confined to a loop is asked there.
package final class Administration: Sendable {
    let readiness: NodeReadiness
    let logger: Logger
    private let control: NodeControl
    /// A request with its body has this long.
    let requestMilliseconds: UInt64
    let loop: EventLoop
    private let heldGate: Mutex<AdminGate>
    private let watch: LoopBound<NodeWatch>

    /// Only on the administration's loop.
    init(
        loop: EventLoop, watched: [(name: String, loop: EventLoop)], gate: AdminGate, requestMilliseconds: UInt64,
        readiness: NodeReadiness, control: NodeControl, logger: Logger
    ) {
        self.loop = loop
        self.readiness = readiness
        self.logger = logger
        self.control = control
        self.requestMilliseconds = requestMilliseconds
        heldGate = Mutex(gate)
        let watch = NodeWatch(loop: loop, watched: watched, readiness: readiness)
        watch.start()
        self.watch = LoopBound(watch, loop: loop)
    }

    /// Who may ask; read for each request.
    var gate: AdminGate { heldGate.withLock { $0 } }

    /// The token file or the names were read again.
    package func setGate(_ gate: AdminGate) { heldGate.withLock { $0 = gate } }

    var date: String { HTTPDate.text(secondsSince1970: Int(WallClock.milliseconds / 1000)) }

    // MARK: - Rows that need nobody else

    /// Only on the loop. Asks no broker, and nobody else.
    func livez() -> AdminAnswer {
        if let stuck = watch.value.stuck { return AdminAnswer(503, stuck) }
        return AdminAnswer(200, "ok")
    }

    /// Only on the loop.
    func readyz(_ request: AdminRequest) -> AdminAnswer {
        let verdict = readiness.verdict(now: loop.now)
        let status = verdict == .ready ? 200 : 503
        guard request.parameters["verbose"] == .absent else {
            let lines = readiness.parts(now: loop.now).map { part, why in
                why.map { "[-]\(part.rawValue) \($0)" } ?? "[+]\(part.rawValue) ok"
            }
            return AdminAnswer(status, lines.joined(separator: "\n"))
        }
        return switch verdict {
        case .ready: AdminAnswer(status, "ready")
        case .draining: AdminAnswer(status, "draining")
        case .notReady(let part, let why): AdminAnswer(status, "\(part.rawValue): \(why)")
        }
    }

    func setLogLevel(_ request: AdminRequest) throws(AdminRefusal) -> AdminAnswer {
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0D, 0x0A]
        let word = request.body.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed()
        guard let level = LogLevel(name: String(decoding: Array(word), as: UTF8.self)) else {
            throw .badParameter("The body is none of \(LogLevel.allCases.map(\.name).joined(separator: ", ")).")
        }
        // Said where it is still heard, or is heard again.
        if level <= logger.level { logger.setLevel(level) }
        logger.notice("log level set", [.text: .text(level.name)])
        logger.setLevel(level)
        return AdminAnswer(200, level.name)
    }

    // MARK: - Rows that concern the whole node

    func drain(_ request: AdminRequest) async throws(AdminRefusal) -> AdminAnswer {
        var window: Duration?
        if let text = try request.text("window") {
            window = LifecycleTable.time(text)
            guard window != nil else {
                throw .badParameter("window is not \(LifecycleTable.expectedTime): '\(text)'.")
            }
        }
        await control.drain(window)
        return AdminAnswer(202, "draining")
    }

    func undrain() async throws(AdminRefusal) -> AdminAnswer {
        guard await control.undrain() else { throw .conflict("The node is ending: that is not taken back.") }
        return AdminAnswer(200, "clients are let in")
    }
}
