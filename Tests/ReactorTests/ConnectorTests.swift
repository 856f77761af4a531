// Tests: ReactorError.swift, Resolver.swift

import CLinux
import Glibc
import TestHarness
import Testing

@testable import Reactor

@Suite struct ConnectorTests {
    /// What came of an attempt: the socket's number, which the test owns, or the error.
    private func connect(
        _ loop: EventLoop, _ endpoint: Endpoint, limitMilliseconds: UInt64 = 60_000,
        cancelling: Bool = false
    ) -> Result<Int32, ReactorError>? {
        let outcome = Promise<Result<Int32, ReactorError>>()
        loop.run {
            let connector = Connector.connect(to: endpoint, loop: loop, limitMilliseconds: limitMilliseconds) {
                result in
                switch consume result {
                case .success(let descriptor): outcome.fulfil(.success(descriptor.release()))
                case .failure(let error): outcome.fulfil(.failure(error))
                }
            }
            if cancelling {
                connector.cancel()
                connector.cancel()
            }
        }
        return outcome.wait()
    }

    @Test(arguments: PollerForm.allCases)
    func `a connection is made to an address, by name, and to a Unix socket`(form: PollerForm) throws {
        let loop = try EventLoop(label: "test", poller: form)
        let directory = UnixListenerTests.Directory()
        for address in [SocketAddress.loopback(port: 0), .any(port: 0), directory.address()] {
            let field = try ListenerTests.Field(address)
            let port = field.address.port
            let endpoints: [Endpoint] =
                switch address {
                case .any: [.name("localhost", port: port!)]
                default: [.address(field.address)]
                }
            for endpoint in endpoints {
                guard case .success(let raw)? = connect(loop, endpoint) else {
                    Issue.record("no connection to \(endpoint)")
                    continue
                }
                var value: Int32 = 0
                #expect(address.isUnix || Syscalls.real.option(raw, LINUX_OPTION_NO_DELAY, &value) == 0 && value == 1)
                #expect(waitUntil { field.accepted.value == [1] })
                linux_close(raw)
            }
        }
        loop.stop()
    }

    @Test(arguments: PollerForm.allCases)
    func `a stream can be made of the connection at once`(form: PollerForm) throws {
        let loop = try EventLoop(label: "test", poller: form)
        let seen = Shared(ProbeOwner.Record())
        let address = loop.run {
            try! Listener(address: .loopback(port: 0), loop: loop) { descriptor, _ in
                _ = EchoOwner(descriptor, loop)
            }.address
        }
        loop.run {
            _ = Connector.connect(to: .address(address), loop: loop) { result in
                guard case .success(let descriptor) = consume result else { return }
                let owner = ProbeOwner(descriptor, loop, seen)
                owner.stream.start(owner)
                owner.stream.write([1, 2, 3])
            }
        }
        #expect(waitUntil { seen.value.received == [1, 2, 3] })
        loop.stop()
    }

    @Test(arguments: PollerForm.allCases)
    func `a refusal names the address and the reason`(form: PollerForm) throws {
        let loop = try EventLoop(label: "test", poller: form)
        // Where nobody ever listens: a port that was free a moment ago may be another test's by now.
        let address = SocketAddress.loopback(port: 1)
        let attempt = ConnectAttempt(address: address, failure: SystemFailure(.connect, ECONNREFUSED))
        #expect(connect(loop, .address(address)) == .failure(.connectFailed(.address(address), [attempt])))
        let nowhere = SocketAddress.unix(Array("/nowhere/at/all".utf8))
        let missing = ConnectAttempt(address: nowhere, failure: SystemFailure(.connect, ENOENT))
        #expect(connect(loop, .address(nowhere)) == .failure(.connectFailed(.address(nowhere), [missing])))
        loop.stop()
    }

    @Test func `addresses are tried in order until one answers`() throws {
        let loop = try EventLoop(label: "test")
        // localhost is ::1 first where there is IPv6, and nobody listens there.
        let field = try ListenerTests.Field(.loopback(port: 0))
        guard case .success(let raw)? = connect(loop, .name("localhost", port: field.address.port!)) else {
            Issue.record("no connection")
            return
        }
        linux_close(raw)
        loop.stop()
    }

    @Test(arguments: ["no-such-name.invalid", "", "nul\0nul", String(repeating: "a", count: 254)])
    func `a name that is not found is told by its text`(name: String) throws {
        let loop = try EventLoop(label: "test")
        guard case .failure(.nameNotFound(let told, let why))? = connect(loop, .name(name, port: 1)) else {
            Issue.record("found")
            return
        }
        #expect(told == name)
        #expect(!why.isEmpty)
        loop.stop()
    }

    @Test(arguments: PollerForm.allCases)
    func `the limit ends an attempt that nobody answers`(form: PollerForm) throws {
        let loop = try EventLoop(label: "test", poller: form)
        // A backlog that is full swallows what comes next.
        var settings = ListenerSettings()
        settings.backlog = 0
        let sockets = try ListeningSocket.open(.loopback(port: 0), settings: settings)
        let filling = (0..<4).map { _ in
            let raw = Syscalls.real.socket(sockets[0].address.family)
            _ = Syscalls.real.connect(raw, sockets[0].address)
            return FileDescriptorBox(raw)
        }
        let endpoint = Endpoint.address(sockets[0].address)
        let outcome = connect(loop, endpoint, limitMilliseconds: 50)
        let late = ConnectAttempt(address: sockets[0].address, failure: SystemFailure(.connect, ETIMEDOUT))
        #expect(
            outcome == .failure(.connectTimedOut(endpoint, afterMilliseconds: 50))
                || outcome == .failure(.connectFailed(endpoint, [late])))
        #expect(filling.count == 4)
        loop.stop()
    }

    @Test(arguments: [Endpoint.address(.loopback(port: 1)), .name("localhost", port: 1)])
    func `an attempt that is cancelled tells so, once`(endpoint: Endpoint) throws {
        let loop = try EventLoop(label: "test")
        #expect(connect(loop, endpoint, cancelling: true) == .failure(.cancelled))
        loop.stop()
    }

    @Test func `a loop that stops ends its attempts`() throws {
        let loop = try EventLoop(label: "test")
        let outcome = Promise<Bool>()
        loop.run {
            _ = Connector.connect(to: .address(.loopback(port: 1)), loop: loop) { _ in outcome.fulfil(true) }
            loop.stop()
        }
        #expect(outcome.wait() == true)
    }
}

/// Keeps a socket for as long as a test needs it.
final class FileDescriptorBox {
    private let descriptor: FileDescriptor

    init(_ raw: Int32) { descriptor = FileDescriptor(owning: raw) }
}
