// Tests: UnixSocketFile.swift

import CLinux
import Dispatch
import Glibc
import TestHarness
import Testing

@testable import Reactor

@Suite struct UnixListenerTests {
    struct Directory {
        private let folder = TemporaryFolder()
        var path: String { folder.path }

        func address(_ name: String = "socket") -> SocketAddress { .unix(Array(folder.path(name).utf8)) }

        func exists(_ name: String = "socket") -> Bool { unsafe access(folder.path(name), F_OK) == 0 }
    }

    @Test func `a connection is accepted, and the file goes when the listener closes`() throws {
        let directory = Directory()
        let field = try ListenerTests.Field(directory.address())
        #expect(directory.exists())
        #expect(PlainPeer(directory.address()) != nil)
        #expect(waitUntil { field.accepted.value == [1] })
        #expect(field.peers.value == [.unix([])])
        field.close()
        #expect(!directory.exists())
    }

    @Test func `the file goes also when the socket never got a listener`() throws {
        let directory = Directory()
        _ = try ListeningSocket.open(directory.address())
        #expect(!directory.exists())
    }

    @Test func `a file that a dead process left is replaced`() throws {
        let directory = Directory()
        let raw = Syscalls.real.socket(directory.address().family)
        #expect(Syscalls.real.bind(raw, directory.address()) == 0)
        #expect(Syscalls.real.listen(raw, backlog: 1) == 0)
        linux_close(raw)
        #expect(directory.exists())
        let field = try ListenerTests.Field(directory.address())
        #expect(PlainPeer(directory.address()) != nil)
        #expect(waitUntil { field.accepted.value == [1] })
    }

    @Test func `a socket that somebody listens on is left alone`() throws {
        let directory = Directory()
        let field = try ListenerTests.Field(directory.address())
        #expect(throws: ReactorError.addressInUse(directory.address())) {
            try ListeningSocket.open(directory.address())
        }
        #expect(PlainPeer(directory.address()) != nil)
        #expect(waitUntil { field.accepted.value.reduce(0, +) >= 1 })
    }

    @Test func `a socket with a full backlog is alive`() throws {
        let directory = Directory()
        var settings = ListenerSettings()
        settings.backlog = 0
        let sockets = try ListeningSocket.open(directory.address(), settings: settings)
        let waiting = PlainPeer(directory.address())
        #expect(throws: ReactorError.addressInUse(directory.address())) {
            try ListeningSocket.open(directory.address())
        }
        _ = (sockets, waiting)
    }

    @Test func `a file of another kind is left alone`() throws {
        let directory = Directory()
        let raw = unsafe open(directory.path + "/socket", O_CREAT | O_WRONLY, 0o600)
        linux_close(raw)
        #expect(throws: ReactorError.notASocket(directory.address())) { try ListeningSocket.open(directory.address()) }
        #expect(directory.exists())
    }

    @Test func `the file of a successor stays when the predecessor closes`() throws {
        let directory = Directory()
        let first = try ListenerTests.Field(directory.address())
        unsafe unlink(directory.path + "/socket")
        let second = try ListenerTests.Field(directory.address())
        first.close()
        #expect(directory.exists())
        #expect(PlainPeer(directory.address()) != nil)
        #expect(waitUntil { second.accepted.value == [1] })
    }

    @Test func `a directory that is not there is told by the call that failed`() throws {
        let address = SocketAddress.unix(Array("/nowhere/at/all".utf8))
        #expect(throws: ReactorError.system(SystemFailure(.bind, ENOENT))) { try ListeningSocket.open(address) }
    }

    @Test(arguments: PollerForm.allCases)
    func `connections are handed round the loops in turn`(form: PollerForm) throws {
        let directory = Directory()
        let field = try ListenerTests.Field(directory.address(), count: 3, form: form)
        let peers = (0..<30).map { _ in PlainPeer(directory.address()) }
        #expect(peers.allSatisfy { $0 != nil })
        #expect(waitUntil { field.accepted.value == [10, 10, 10] })
    }

    @Test func `a connection on its way to a loop that leaves is accepted elsewhere or closed, never forgotten`() throws
    {
        let directory = Directory()
        let field = try ListenerTests.Field(directory.address(), count: 2)
        let peers = (0..<20).compactMap { _ in PlainPeer(directory.address()) }
        let second = field.listeners[1]
        second.loop.run { second.value.close() }
        let more = (0..<20).compactMap { _ in PlainPeer(directory.address()) }
        // Accepted ones are closed by the field, so each peer sees an end in either case.
        for peer in peers + more { #expect(peer.receiveEnd() <= 0) }
        field.close()
        #expect(!directory.exists())
    }

    @Test func `of two gateways that find the same dead file at the same moment one listens`() throws {
        for _ in 0..<20 {
            let directory = Directory()
            let raw = Syscalls.real.socket(directory.address().family)
            #expect(Syscalls.real.bind(raw, directory.address()) == 0)
            linux_close(raw)
            let held = Shared<[ListeningSocket]>([])
            let address = directory.address()
            DispatchQueue.concurrentPerform(iterations: 2) { _ in
                guard let sockets = try? ListeningSocket.open(address) else { return }
                held.update { $0 += sockets }
            }
            #expect(held.value.count == 1)
        }
    }
}
