import Glibc
import Synchronization
import TestHarness
import Testing

@testable import Reactor

/// A peer that sends back what it gets.
final class EchoOwner: ByteStreamOwner {
    let stream: ByteStream<EchoOwner>
    let ended: (StreamEnd) -> Void

    init(_ descriptor: consuming FileDescriptor, _ loop: EventLoop, ended: @escaping (StreamEnd) -> Void = { _ in }) {
        stream = ByteStream(descriptor, loop: loop)
        self.ended = ended
        stream.start(self)
    }

    func streamReceived(_ bytes: Span<UInt8>) {
        stream.write(unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) })
    }
    func streamEnded(_ reason: StreamEnd) { ended(reason) }
}

@Suite struct EchoTests {
    @Test(arguments: PollerForm.allCases)
    func `what is sent comes back, and the stream ends when the peer closes`(form: PollerForm) throws {
        let loop = try EventLoop(label: "test", poller: form)
        let ended = Promise<StreamEnd>()
        let address = loop.run {
            try! Listener(address: .loopback(port: 0), loop: loop) { descriptor, _ in
                _ = EchoOwner(descriptor, loop) { ended.fulfil($0) }
            }.address
        }
        let peer = try #require(PlainPeer(address))
        peer.send(Array("hello".utf8))
        #expect(peer.receive(5) == Array("hello".utf8))
        peer.close()
        #expect(ended.wait() == .peerClosed)
        loop.stop()
    }
}
