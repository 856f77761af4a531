// Tests: Syscalls.swift

import CLinux
import Glibc
import TestHarness
import Testing

@testable import Reactor

/// Fails the n-th call of a kind, for n = 1, 2, 3 …, until a scenario makes no n-th call any more. Whatever fails, the
/// scenario comes to an end, nothing crashes or spins, and every descriptor that was opened is closed.
@Suite struct FaultSweepTests {
    struct Fault: Sendable, CustomStringConvertible {
        let call: SystemCall
        let code: Int32
        var description: String { "\(call.rawValue) \(code)" }
    }

    private static let faults: [Fault] = [
        Fault(call: .accept, code: EMFILE), Fault(call: .accept, code: ENFILE),
        Fault(call: .accept, code: ECONNABORTED),
        Fault(call: .accept, code: EINTR), Fault(call: .accept, code: EAGAIN), Fault(call: .accept, code: ENOMEM),
        Fault(call: .receive, code: ECONNRESET), Fault(call: .receive, code: EAGAIN),
        Fault(call: .receive, code: EINTR), Fault(call: .receive, code: ETIMEDOUT),
        Fault(call: .send, code: EPIPE), Fault(call: .send, code: EAGAIN), Fault(call: .send, code: EINTR),
        Fault(call: .send, code: ECONNRESET), Fault(call: .send, code: ENOBUFS),
        Fault(call: .epollControl, code: ENOSPC), Fault(call: .epollControl, code: ENOMEM),
        Fault(call: .epollWait, code: EINTR), Fault(call: .epollCreate, code: EMFILE),
        Fault(call: .socket, code: EMFILE), Fault(call: .socket, code: ENOBUFS), Fault(call: .bind, code: EADDRINUSE),
        Fault(call: .bind, code: EACCES), Fault(call: .listen, code: EADDRINUSE),
        Fault(call: .connect, code: ENETUNREACH),
        Fault(call: .connect, code: EINTR), Fault(call: .setOption, code: ENOMEM),
        Fault(call: .getOption, code: ENOMEM),
        Fault(call: .localAddress, code: ENOBUFS), Fault(call: .shutdown, code: ENOTCONN),
        Fault(call: .open, code: EMFILE),
        Fault(call: .duplicate, code: EMFILE), Fault(call: .pipe, code: EMFILE),
    ]

    /// More calls of one kind than this the scenario does not make, so a sweep that goes on is one that never passes.
    private static let maximumCalls = 500

    @Test(arguments: faults, PollerForm.allCases)
    func `whatever call fails, the scenario ends and nothing is left behind`(fault: Fault, form: PollerForm) throws {
        for nth in 1...Self.maximumCalls {
            let plan = FaultPlan(failing: [fault.call], nth: nth, code: fault.code)
            let outcome = try Scenario(form, plan).run()
            #expect(outcome != nil, "\(fault), call \(nth): did not end")
            if outcome == nil { return }
            if !plan.hasStruck {
                #expect(outcome == .complete, "\(fault): nothing failed")
                return
            }
        }
        Issue.record("\(fault): the sweep does not end")
    }
}

/// Listens with two loops, wakes by a pipe, connects a few times, sends, echoes, half closes, and closes all of it.
private final class Scenario {
    enum Outcome: Sendable, Equatable {
        case complete
        /// Something failed and told so.
        case failed
    }

    private let form: PollerForm
    private let plan: FaultPlan
    private let connections = 3
    private var loops: [EventLoop] = []

    init(_ form: PollerForm, _ plan: FaultPlan) {
        self.form = form
        self.plan = plan
    }

    /// Nil if it did not come to an end, or left descriptors open.
    func run() throws -> Outcome? {
        let outcome = go()
        for loop in loops { loop.stop() }
        for loop in loops { loop.run {} }
        let loops = loops.map { WeakReference($0) }
        self.loops = []
        guard waitUntil({ !loops.contains { $0.isAlive } }) else { return nil }
        // Numbers are used again by other tests of the process, so what counts is the file behind them.
        guard waitUntil({ self.plan.leakedDescriptors == [] }) else {
            Issue.record("left open: \(plan.leakedDescriptors)")
            return nil
        }
        return outcome
    }

    private func go() -> Outcome? {
        let syscalls = Syscalls(faults: plan)
        let sockets: [ListeningSocket]
        do {
            for index in 0..<2 { loops.append(try EventLoop(label: "\(index)", poller: form, syscalls: syscalls)) }
            sockets = try ListeningSocket.open(.loopback(port: 0), count: 2, syscalls: syscalls)
        } catch {
            return .failed
        }
        let failed = Shared(false)
        for (loop, socket) in zip(loops, sockets) {
            loop.run {
                let error = errorOf {
                    _ = try Listener(socket, loop: loop) { descriptor, _ in _ = EchoOwner(descriptor, loop) }
                }
                if error != nil { failed.update { $0 = true } }
            }
        }
        if failed.value { return .failed }
        let outcomes = Shared<[Outcome]>([])
        let (loop, address) = (loops[0], sockets[0].address)
        loop.run {
            for _ in 0..<self.connections {
                Client.begin(loop, address, self.plan) { outcome in outcomes.update { $0.append(outcome) } }
            }
        }
        guard waitUntil({ outcomes.value.count == self.connections }) else { return nil }
        guard !loop.spins() else { return nil }
        return wakes(loop, syscalls) && outcomes.value.allSatisfy { $0 == .complete } ? .complete : .failed
    }

    private func wakes(_ loop: EventLoop, _ syscalls: Syscalls) -> Bool {
        let woken = Promise<Bool>()
        guard let pipe = try? WakePipe(syscalls: syscalls) else { return false }
        let watch = loop.run {
            (try? pipe.watch(on: loop) { woken.fulfil(true) }).map { LoopBound($0, loop: loop) }
        }
        guard let watch else { return false }
        pipe.wake()
        defer { loop.run { watch.value.cancel() } }
        return woken.wait() == true
    }
}

/// Sends a few kilobytes to an echo, wants them back, closes.
private final class Client: ByteStreamOwner {
    static let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }

    /// How long whoever lacks an answer waits, once a call has failed: without that it waits for ever.
    private static let patienceMilliseconds: UInt64 = 2_000

    private let stream: ByteStream<Client>
    private let plan: FaultPlan
    private let done: (Scenario.Outcome) -> Void
    private var received: [UInt8] = []

    static func begin(
        _ loop: EventLoop, _ address: SocketAddress, _ plan: FaultPlan, done: @escaping (Scenario.Outcome) -> Void
    ) {
        Connector.connect(to: .address(address), loop: loop, limitMilliseconds: 60_000) { result in
            switch consume result {
            case .success(let descriptor): Client(descriptor, loop, plan, done).start()
            case .failure: done(.failed)
            }
        }
    }

    private init(
        _ descriptor: consuming FileDescriptor, _ loop: EventLoop, _ plan: FaultPlan,
        _ done: @escaping (Scenario.Outcome) -> Void
    ) {
        stream = ByteStream(descriptor, loop: loop)
        self.plan = plan
        self.done = done
    }

    private func start() {
        stream.start(self)
        stream.write(Self.bytes)
        giveUpLater()
    }

    /// A listener that lost the connection after it was made (a failed accept) leaves us without an answer.
    private func giveUpLater() {
        stream.loop.schedule(afterMilliseconds: Self.patienceMilliseconds) { [weak self] in
            guard let self, self.stream.isOpen else { return }
            if self.plan.hasStruck { self.stream.close(afterFlush: false) } else { self.giveUpLater() }
        }
    }

    func streamReceived(_ bytes: Span<UInt8>) {
        received += unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
        if received.count == Self.bytes.count { stream.close(afterFlush: true, limitMilliseconds: 60_000) }
    }

    func streamEnded(_ reason: StreamEnd) {
        done(reason == .closed && received == Self.bytes ? .complete : .failed)
    }
}
