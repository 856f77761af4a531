import CLinux
import Glibc
import Testing

@testable import Reactor

@Suite struct FaultPlanTests {
    @Test func `the n-th call of a kind fails, others and those before and after do not`() {
        let plan = FaultPlan(failing: [.socket], nth: 2, code: EMFILE)
        let syscalls = Syscalls(faults: plan)
        let family = SocketAddress.loopback(port: 0).family
        let answers = (0..<3).map { _ in syscalls.socket(family) }
        #expect(answers[0] >= 0 && answers[1] == -EMFILE && answers[2] >= 0)
        #expect(plan.hasStruck)
        #expect(plan.count(of: .socket) == 3)
        for answer in answers where answer >= 0 { linux_close(answer) }
    }

    @Test func `a descriptor that stays open is told as a leak`() {
        let plan = FaultPlan()
        let raw = Syscalls(faults: plan).socket(SocketAddress.loopback(port: 0).family)
        #expect(plan.leakedDescriptors == [raw])
        linux_close(raw)
        #expect(plan.leakedDescriptors == [])
    }

    @Test func `an interrupted call is made again, and nobody sees it`() {
        let plan = FaultPlan(failing: [.socket], nth: 1, code: EINTR, repeats: 3)
        let raw = Syscalls(faults: plan).socket(SocketAddress.loopback(port: 0).family)
        #expect(raw >= 0)
        #expect(plan.count(of: .socket) == 4)
        linux_close(raw)
    }

    /// Replacing a dead file is the longest way to a socket that listens.
    @Test(arguments: [SystemCall.socket, .connect, .setOption, .bind, .listen])
    func `whatever call of a Unix socket's start fails is told, and nothing stays open`(call: SystemCall) throws {
        for nth in 1...10 {
            let directory = UnixListenerTests.Directory()
            let dead = Syscalls.real.socket(directory.address().family)
            #expect(Syscalls.real.bind(dead, directory.address()) == 0)
            linux_close(dead)
            let plan = FaultPlan(failing: [call], nth: nth, code: ENOMEM)
            let error = errorOf {
                _ = try ListeningSocket.open(directory.address(), count: 2, syscalls: Syscalls(faults: plan))
            }
            #expect((error != nil) == plan.hasStruck)
            #expect(plan.leakedDescriptors == [])
            if !plan.hasStruck { return }
        }
        Issue.record("the sweep does not end")
    }
}
