// Tests: Service.swift

import Dispatch
import Reactor
import TestHarness
import Testing

@testable import Gateway

/// Nobody knows what comes first: that a node listens, or that it is ready.
struct ServiceTests {
    private static let address = SocketAddress.loopback(port: 8_080)

    @Test(arguments: [true, false]) func `it is told once, with its addresses, whatever comes first`(isReadyFirst: Bool)
    {
        let opened = Shared<[[SocketAddress]]>([])
        let opening = NodeOpening { addresses in opened.update { $0.append(addresses) } }
        if isReadyFirst { opening.becomeReady() } else { opening.listen(on: [Self.address]) }
        #expect(opened.value == [])
        if isReadyFirst { opening.listen(on: [Self.address]) } else { opening.becomeReady() }
        #expect(opened.value == [[Self.address]])
    }

    @Test func `it is told once where both come at the same time`() {
        let opened = Shared(0)
        for _ in 0..<1_000 {
            let opening = NodeOpening { _ in opened.update { $0 += 1 } }
            DispatchQueue.concurrentPerform(iterations: 2) { turn in
                if turn == 0 { opening.becomeReady() } else { opening.listen(on: [Self.address]) }
            }
        }
        #expect(opened.value == 1_000)
    }
}
