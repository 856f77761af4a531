// Tests: ListeningSocket.swift

import CLinux
import Dispatch
import Glibc
import TestHarness
import Testing

@testable import Reactor

@Suite struct ListenerTests {
    /// Counts what a row of loops accepts, and closes it.
    final class Field {
        let loops: [EventLoop]
        let accepted: Shared<[Int]>
        let peers = Shared<[SocketAddress]>([])
        let address: SocketAddress
        let listeners: [LoopBound<Listener>]

        init(_ address: SocketAddress, count: Int = 1, form: PollerForm = .epoll) throws {
            let loops = try (0..<count).map { try EventLoop(label: "test.\($0)", poller: form) }
            let sockets = try ListeningSocket.open(address, count: count)
            let accepted = Shared([Int](repeating: 0, count: count))
            let peers = peers
            (self.loops, self.accepted, self.address) = (loops, accepted, sockets[0].address)
            listeners = zip(loops, sockets).enumerated().map { index, pair in
                let (loop, socket) = pair
                return loop.run {
                    let listener = try! Listener(socket, loop: loop) { descriptor, peer in
                        _ = consume descriptor
                        peers.update { $0.append(peer) }
                        accepted.update { $0[index] += 1 }
                    }
                    return LoopBound(listener, loop: loop)
                }
            }
        }

        func close() {
            for listener in listeners { listener.loop.run { listener.value.close() } }
        }

        deinit { for loop in loops { loop.stop() } }
    }

    @Test(arguments: ["127.0.0.1:0", "[::1]:0", ":0", "0.0.0.0:0", "[::]:0"], PollerForm.allCases)
    func `connections are accepted on each kind of address`(text: String, form: PollerForm) throws {
        let field = try Field(SocketAddress(parsing: text), form: form)
        #expect(field.address.port != 0)
        let target: SocketAddress =
            if case .ipv6(_, _, _, let port) = field.address { .ipv6(high: 0, low: 1, port: port) } else {
                .loopback(port: field.address.port!)
            }
        let peer = PlainPeer(target)
        #expect(peer != nil)
        #expect(waitUntil { field.accepted.value == [1] })
        #expect(field.peers.value.map(\.host) == [target.host], "IPv4 peers of a socket for both are told as IPv4")
    }

    @Test func `all addresses means IPv6 and IPv4, an IPv6 address means IPv6 alone`() throws {
        let both = try Field(SocketAddress(parsing: ":0"))
        #expect(PlainPeer(.loopback(port: both.address.port!)) != nil)
        #expect(PlainPeer(.ipv6(high: 0, low: 1, port: both.address.port!)) != nil)
        #expect(waitUntil { both.accepted.value == [2] })
        let alone = try Field(SocketAddress(parsing: "[::]:0"))
        let port = alone.address.port!
        #expect(PlainPeer(.ipv6(high: 0, low: 1, port: port)) != nil)
        #expect(PlainPeer(.loopback(port: port))?.receiveEnd() ?? -1 < 0)
    }

    @Test func `one port is shared by the listeners of all loops, and each gets connections`() throws {
        let field = try Field(.loopback(port: 0), count: 4)
        let peers = (0..<200).map { _ in PlainPeer(field.address) }
        #expect(peers.allSatisfy { $0 != nil })
        #expect(waitUntil { field.accepted.value.reduce(0, +) == 200 })
        #expect(field.accepted.value.allSatisfy { $0 > 0 }, "\(field.accepted.value)")
    }

    /// What another process does is, to the kernel, what another socket does: the user is the same.
    @Test(arguments: [1, 2], [1, 2])
    func `a second gateway on the same address is refused`(first: Int, second: Int) throws {
        let field = try Field(.loopback(port: 0), count: first)
        #expect(throws: ReactorError.addressInUse(field.address)) {
            try ListeningSocket.open(field.address, count: second)
        }
        #expect(throws: ReactorError.addressInUse(.any(port: field.address.port!))) {
            try ListeningSocket.open(.any(port: field.address.port!), count: second)
        }
        field.close()
        #expect(throws: Never.self) { try ListeningSocket.open(field.address, count: second) }
    }

    @Test func `of two gateways that start at the same moment one listens`() throws {
        // Bound without listening: the kernel gives the port to nobody else, and a listener may bind it as well.
        let calls = Syscalls.real
        let kept = FileDescriptor(owning: calls.socket(SocketAddress.loopback(port: 0).family))
        let raw = kept.raw
        var bound = linux_address()
        let answers = [
            calls.setOption(raw, LINUX_OPTION_REUSE_ADDRESS, 1), calls.bind(raw, .loopback(port: 0)),
            calls.localAddress(raw, &bound),
        ]
        #expect(answers == [0, 0, 0])
        let port = bound.port
        for _ in 0..<50 {
            let won = Shared(0)
            // Held until both have tried: one that has let go again would let the other in.
            let held = Shared<[ListeningSocket]>([])
            DispatchQueue.concurrentPerform(iterations: 2) { _ in
                guard let sockets = try? ListeningSocket.open(.loopback(port: port), count: 2) else { return }
                held.update { $0 += sockets }
                won.update { $0 += 1 }
            }
            #expect(won.value == 1)
        }
        _ = consume kept
    }

    @Test func `a listener can start again while old connections are in TIME_WAIT`() throws {
        let field = try Field(.loopback(port: 0))
        let peer = try #require(PlainPeer(field.address))
        // The listener's side closes first, and so keeps the connection's remains.
        #expect(peer.receiveEnd() == 0)
        peer.close()
        field.close()
        #expect(throws: Never.self) { try ListeningSocket.open(field.address) }
    }

    @Test func `an address that no interface has is told apart from one in use`() throws {
        let address = try SocketAddress(parsing: "192.0.2.1:0")
        #expect(throws: ReactorError.addressNotLocal(address)) { try ListeningSocket.open(address) }
    }

    @Test(arguments: [EACCES, EPERM])
    func `a port that the process may not have is told as that`(code: Int32) throws {
        let plan = FaultPlan(failing: [.bind], nth: 1, code: code)
        #expect(throws: ReactorError.permissionDenied(.loopback(port: 80))) {
            try ListeningSocket.open(.loopback(port: 80), syscalls: Syscalls(faults: plan))
        }
    }

    @Test func `connections inherit TCP_NODELAY, keep-alive and the time of a silent peer from the listener`() throws {
        let loop = try EventLoop(label: "test")
        let options = Promise<[Int32]>()
        let listener = loop.run {
            LoopBound(
                try! Listener(address: .loopback(port: 0), loop: loop) { descriptor, _ in
                    let wanted = [
                        LINUX_OPTION_NO_DELAY, LINUX_OPTION_KEEP_ALIVE, LINUX_OPTION_KEEP_ALIVE_IDLE,
                        LINUX_OPTION_USER_TIMEOUT,
                    ]
                    let values = wanted.map { option in
                        var value: Int32 = 0
                        _ = Syscalls.real.option(descriptor.raw, option, &value)
                        return value
                    }
                    options.fulfil(values)
                }, loop: loop)
        }
        let address = loop.run { listener.value.address }
        let peer = PlainPeer(address)
        #expect(options.wait() == [1, 1, 300, 60_000])
        _ = peer
        loop.stop()
    }

    @Test(arguments: PollerForm.allCases)
    func `a tick accepts a bounded number, and the next ones the rest`(form: PollerForm) throws {
        let loop = try EventLoop(label: "test", poller: form)
        let ticks = Shared<[UInt64]>([])
        let sockets = try ListeningSocket.open(.loopback(port: 0))
        let total = Listener.maximumAcceptsPerTick * 3
        let peers = (0..<total).map { _ in PlainPeer(sockets[0].address) }
        loop.run {
            _ = try! Listener(sockets[0], loop: loop) { descriptor, _ in
                _ = consume descriptor
                ticks.update { $0.append(loop.tickNumber) }
            }
        }
        #expect(waitUntil { ticks.value.count == total })
        let perTick = Dictionary(ticks.value.map { ($0, 1) }, uniquingKeysWith: +).values
        #expect(perTick.allSatisfy { $0 <= Listener.maximumAcceptsPerTick })
        #expect(peers.count == total)
        loop.stop()
    }

    @Test(arguments: PollerForm.allCases)
    func `accepts that take long end with a slice, and the next ticks accept the rest`(form: PollerForm) throws {
        let loop = try EventLoop(label: "test", poller: form)
        let ticks = Shared<[UInt64]>([])
        let sockets = try ListeningSocket.open(.loopback(port: 0))
        let peers = (0..<12).map { _ in PlainPeer(sockets[0].address) }
        loop.run {
            _ = try! Listener(sockets[0], loop: loop) { descriptor, _ in
                _ = consume descriptor
                let end = linux_monotonic_microseconds() + EventLoop.sliceMicroseconds / 2
                while linux_monotonic_microseconds() < end {}
                ticks.update { $0.append(loop.tickNumber) }
            }
        }
        #expect(waitUntil { ticks.value.count == peers.count })
        #expect(Dictionary(grouping: ticks.value) { $0 }.values.allSatisfy { $0.count <= 2 })
        loop.stop()
    }

    @Test(arguments: PollerForm.allCases)
    func `a listener that closes from inside accept accepts no more`(form: PollerForm) throws {
        let loop = try EventLoop(label: "test", poller: form)
        let accepted = Shared(0)
        let sockets = try ListeningSocket.open(.loopback(port: 0))
        let address = sockets[0].address
        let peers = (0..<5).map { _ in PlainPeer(address) }
        loop.run {
            var listener: Listener?
            listener = try! Listener(sockets[0], loop: loop) { descriptor, _ in
                _ = consume descriptor
                accepted.update { $0 += 1 }
                listener?.close()
                listener = nil
            }
        }
        #expect(waitUntil { accepted.value == 1 })
        // The others were reset with the queue they stood in.
        #expect(peers.dropFirst().allSatisfy { $0?.receiveEnd() ?? 0 <= 0 })
        #expect(accepted.value == 1)
        loop.stop()
    }

    @Test(arguments: PollerForm.allCases)
    func `what stands in the queue is accepted before the listener closes`(form: PollerForm) throws {
        let loop = try EventLoop(label: "test", poller: form)
        let (accepted, isClosed) = (Shared(0), Shared(false))
        let sockets = try ListeningSocket.open(.loopback(port: 0))
        let address = sockets[0].address
        let peers = (0..<150).map { _ in PlainPeer(address) }
        loop.run {
            let listener = try! Listener(sockets[0], loop: loop) { descriptor, _ in
                _ = consume descriptor
                accepted.update { $0 += 1 }
            }
            listener.closeAfterQueue { isClosed.update { $0 = true } }
        }
        #expect(waitUntil { isClosed.value })
        #expect(accepted.value == peers.count)
        #expect(PlainPeer(address)?.receiveEnd() ?? -1 < 0)
        loop.stop()
    }

    @Test func `a listener on a stopped loop is refused`() throws {
        let loop = try EventLoop(label: "test")
        loop.stop()
        let error = loop.run {
            errorOf { _ = try Listener(address: .loopback(port: 0), loop: loop) { _, _ in } }
        }
        #expect(error == .cancelled)
    }
}
