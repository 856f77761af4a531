import Dispatch
import Glibc
import Reactor
import Synchronization
import TLS
import TestHarness
import Testing
import Transport

/// A loop with its transports, seen from a test's thread.
final class LoopRig: Sendable {
    let loop: EventLoop
    private let shared: LoopBound<TransportLoop>

    init(_ limits: TransportLimits = TransportLimits(), poller: PollerForm = .platformDefault) throws {
        let loop = try EventLoop(label: "test", poller: poller)
        self.loop = loop
        shared = LoopRig.perform(on: loop) { LoopBound(TransportLoop(loop: loop, limits: limits), loop: loop) }
    }

    deinit { loop.stop() }

    /// Runs work on the loop and waits for its result.
    func perform<Result: Sendable>(_ work: @escaping @Sendable (TransportLoop) -> Result) -> Result {
        let shared = shared
        return LoopRig.perform(on: loop) { work(shared.value) }
    }

    private static func perform<Result: Sendable>(
        on loop: EventLoop, _ work: @escaping @Sendable () -> Result
    ) -> Result {
        let result = Promise<Result>()
        loop.execute { result.fulfil(work()) }
        guard let value = result.wait() else { preconditionFailure("the loop hangs") }
        return value
    }

    var counters: TransportCounters { perform { $0.counters } }

    /// Accepts on a port of the kernel's choice until the loop stops, each connection with a recorder of its own.
    func listen(
        _ security: TransportSecurity, onOpen: @escaping Recorder.Reaction = { _, _ in },
        onReceive: @escaping Recorder.Reaction = { _, _ in }, accept: @escaping @Sendable (Recorder) -> Void
    ) -> UInt16 {
        perform { shared in
            do {
                let listener = try Listener(address: .loopback(port: 0), loop: shared.loop) { descriptor, _ in
                    let recorder = Recorder(onOpen: onOpen, onReceive: onReceive)
                    guard let transport = try? Transport<Recorder>(descriptor, security: security, on: shared) else {
                        return
                    }
                    recorder.bind(transport)
                    accept(recorder)
                }
                return listener.address.port ?? 0
            } catch {
                Issue.record("no listener: \(error)")
                return 0
            }
        }
    }

    /// Starts a transport over a descriptor, with a recorder as its owner. It resumes the session of `former`.
    func start(
        _ descriptor: Int32, _ security: TransportSecurity, after former: Recorder? = nil,
        onOpen: @escaping Recorder.Reaction = { _, _ in }, onReceive: @escaping Recorder.Reaction = { _, _ in }
    ) -> Recorder {
        let recorder = Recorder(onOpen: onOpen, onReceive: onReceive)
        perform { shared in
            do {
                let transport = try Transport<Recorder>(
                    FileDescriptor(owning: descriptor), security: security, on: shared)
                if let ticket = former?.ticket { transport.resume(ticket) }
                recorder.bind(transport)
            } catch {
                Issue.record("no transport: \(error)")
            }
        }
        return recorder
    }
}

/// Writes down what its transport says.
final class Recorder: TransportOwner, Sendable {
    typealias Reaction = @Sendable (Transport<Recorder>, [UInt8]) -> Void

    struct Log: Sendable {
        var opened = 0
        /// The loop's tick at the last opening.
        var openedInTick: UInt64 = 0
        var received: [UInt8] = []
        var drained = 0
        var blocked = 0
        var peerFinished = false
        var end: TransportEnd?
    }

    let log = Shared(Log())
    private let onOpen: Reaction
    private let onReceive: Reaction
    private let transport = Shared<LoopBound<Transport<Recorder>>?>(nil)
    private let keepsOpen = Shared(false)

    init(onOpen: @escaping Reaction, onReceive: @escaping Reaction) {
        self.onOpen = onOpen
        self.onReceive = onReceive
    }

    func bind(_ transport: Transport<Recorder>) {
        let bound = LoopBound(transport, loop: transport.shared.loop)
        self.transport.update { $0 = bound }
        transport.start(self)
    }

    /// Runs work with the transport on its loop and waits for it.
    func with<Result: Sendable>(
        _ rig: LoopRig, _ work: @escaping @Sendable (Transport<Recorder>) -> Result
    ) -> Result {
        let bound = transport.value!
        return rig.perform { _ in work(bound.value) }
    }

    /// On its loop.
    fileprivate var ticket: TLSTicket? { transport.value?.value.ticket }

    func keepOpenWhenPeerFinishes() { keepsOpen.update { $0 = true } }

    private var summary: String {
        let log = log.value
        return
            "\(log.opened) openings, \(log.received.count) bytes, blocked \(log.blocked), drained \(log.drained), end \(String(describing: log.end))"
    }

    func transportOpened() {
        let transport = self.transport.value!.value
        log.update {
            $0.opened += 1
            $0.openedInTick = transport.shared.loop.tickNumber
        }
        onOpen(transport, [])
    }

    func transportReceived(_ bytes: Span<UInt8>) {
        let copy = bytes.array
        log.update { $0.received += copy }
        onReceive(transport.value!.value, copy)
    }

    func transportDrained() { log.update { $0.drained += 1 } }
    func transportBlocked() { log.update { $0.blocked += 1 } }

    func transportPeerFinished() -> Bool {
        log.update { $0.peerFinished = true }
        return keepsOpen.value
    }

    func transportEnded(_ end: TransportEnd) {
        log.update {
            #expect($0.end == nil, "the end is told once")
            $0.end = end
        }
    }

    /// Waits until the log is as wanted. Records an issue when it is not in time.
    @discardableResult
    func wait(
        _ what: String, sourceLocation: SourceLocation = #_sourceLocation, until condition: (Log) -> Bool
    ) -> Log {
        waitFor(what, sourceLocation: sourceLocation) { condition(log.value) }
        if !condition(log.value) { Issue.record("but there is \(summary)", sourceLocation: sourceLocation) }
        return log.value
    }
}

/// Waits until something is so, a minute at most: long enough for a loaded machine, reached only on failure.
func waitFor(
    _ what: String, sourceLocation: SourceLocation = #_sourceLocation, _ condition: () -> Bool
) {
    if !waitUntil(condition) { Issue.record("waited in vain for: \(what)", sourceLocation: sourceLocation) }
}
