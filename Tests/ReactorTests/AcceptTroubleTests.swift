import CLinux
import Glibc
import TestHarness
import Testing

@testable import Reactor

/// What happens when there is no descriptor for a connection. Real limits would hit every test of the process, so the
/// kernel's answer is made up.
@Suite struct AcceptTroubleTests {
    private final class Scene {
        let loop: EventLoop
        let address: SocketAddress
        let accepted = Shared(0)
        let overflowed = Shared(0)
        let troubles = Shared<[AcceptTrouble]>([])

        init(_ form: PollerForm, _ plan: FaultPlan, highestDescriptor: Int32 = .max) throws {
            let loop = try EventLoop(label: "test", poller: form, syscalls: Syscalls(faults: plan))
            let (accepted, overflowed, troubles) = (accepted, overflowed, troubles)
            self.loop = loop
            address = loop.run {
                try! Listener(
                    address: .loopback(port: 0), loop: loop, highestDescriptor: highestDescriptor,
                    accept: { descriptor, _ in
                        _ = consume descriptor
                        accepted.update { $0 += 1 }
                    },
                    overflow: { descriptor, _ in
                        overflowed.update { $0 += 1 }
                        descriptor.sendLastWords(Array("busy".utf8))
                    },
                    trouble: { trouble in troubles.update { $0.append(trouble) } }
                ).address
            }
        }

        deinit { loop.stop() }
    }

    @Test(arguments: [EMFILE, ENFILE], PollerForm.allCases)
    func `a connection without a descriptor is answered by the spare one, told once, and the next is accepted`(
        code: Int32, form: PollerForm
    ) throws {
        let plan = FaultPlan(failing: [.accept], nth: 1, code: code)
        let scene = try Scene(form, plan)
        let first = try #require(PlainPeer(scene.address))
        #expect(first.receive(10) == Array("busy".utf8))
        #expect(waitUntil { !scene.troubles.value.isEmpty })
        #expect(scene.troubles.value.map(\.failure) == [SystemFailure(.accept, code)])
        #expect(scene.troubles.value.map(\.refusedConnections) == [1])
        let second = PlainPeer(scene.address)
        #expect(waitUntil { scene.accepted.value == 1 })
        #expect(scene.overflowed.value == 1)
        _ = second
    }

    @Test(arguments: [-1, .max] as [Int32], PollerForm.allCases)
    func `a connection whose descriptor is one of those that are kept is answered, told once, and accepting goes on`(
        highest: Int32, form: PollerForm
    ) throws {
        let scene = try Scene(form, FaultPlan(), highestDescriptor: highest)
        let peers = (0..<3).map { _ in PlainPeer(scene.address) }
        let isKept = highest < 0
        #expect(waitUntil { scene.accepted.value + scene.overflowed.value == 3 })
        #expect(scene.overflowed.value == (isKept ? 3 : 0))
        for peer in peers where isKept { #expect(peer?.receive(10) == Array("busy".utf8)) }
        #expect(scene.troubles.value.count == (isKept ? 1 : 0), "told at a limited rate")
        #expect(!scene.loop.spins())
    }

    @Test(arguments: PollerForm.allCases)
    func `when not even the spare one helps, accepting rests and recovers, and nothing spins`(form: PollerForm) throws {
        // Eight failures: four rests, with the spare descriptor given up and taken again each time.
        let plan = FaultPlan(failing: [.accept], nth: 1, code: EMFILE, repeats: 8)
        let scene = try Scene(form, plan)
        let peer = PlainPeer(scene.address)
        #expect(waitUntil { scene.accepted.value == 1 })
        #expect(plan.count(of: .accept) < 20)
        #expect(scene.troubles.value.count == 1, "told at a limited rate")
        #expect(!scene.loop.spins())
        _ = peer
    }

    @Test(arguments: PollerForm.allCases)
    func `a spare descriptor that another thread took is taken again later`(form: PollerForm) throws {
        let plan = FaultPlan(failing: [.open], nth: 1, code: EMFILE, repeats: 3)
        let scene = try Scene(form, plan)
        let peer = PlainPeer(scene.address)
        #expect(waitUntil { scene.accepted.value == 1 })
        _ = peer
    }

    @Test(arguments: [ECONNABORTED, EPROTO, ENETDOWN, EPERM])
    func `an error of one connection does not keep the next from being accepted`(code: Int32) throws {
        let plan = FaultPlan(failing: [.accept], nth: 1, code: code)
        let scene = try Scene(.epoll, plan)
        let peer = PlainPeer(scene.address)
        #expect(waitUntil { scene.accepted.value == 1 })
        #expect(scene.troubles.value == [])
        _ = peer
    }

    @Test(arguments: [ENOMEM, ENOBUFS, EINVAL], PollerForm.allCases)
    func `an error that lasts makes accepting rest, not spin`(code: Int32, form: PollerForm) throws {
        let plan = FaultPlan(failing: [.accept], nth: 1, code: code, repeats: 3)
        let scene = try Scene(form, plan)
        let peer = PlainPeer(scene.address)
        #expect(waitUntil { scene.accepted.value == 1 })
        #expect(plan.count(of: .accept) < 10)
        #expect(scene.troubles.value.count == 1)
        _ = peer
    }
}
