import Dispatch
import TestHarness
import Testing

@testable import Reactor

@Suite struct HangUpTests {
    @Test(arguments: PollerForm.allCases)
    func `the last bytes and the end that come together are both read`(form: PollerForm) throws {
        let loop = try EventLoop(label: "test", poller: form)
        let ended = Promise<StreamEnd>()
        let accepted = Promise<Bool>()
        let address = loop.run {
            try! Listener(address: .loopback(port: 0), loop: loop) { descriptor, _ in
                // Our half is shut at once; what the peer says afterwards is read and thrown away.
                EchoOwner(descriptor, loop) { ended.fulfil($0) }.stream.close(
                    afterFlush: true, limitMilliseconds: 60_000)
                accepted.fulfil(true)
            }.address
        }
        let peer = try #require(PlainPeer(address))
        #expect(accepted.wait() == true)
        #expect(peer.receiveEnd() == 0)
        let (held, release) = (Promise<Bool>(), Promise<Bool>())
        loop.execute {
            held.fulfil(true)
            _ = release.wait()
        }
        #expect(held.wait() == true)
        peer.send(Array("last words".utf8))
        peer.close()
        release.fulfil(true)
        #expect(ended.wait() == .closed)
        loop.stop()
    }
}
