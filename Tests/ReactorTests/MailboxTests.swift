import CLinux
import Dispatch
import TestHarness
import Testing

@testable import Reactor

@Suite struct MailboxTests {
    @Test func `messages of each poster arrive in the order they were posted, and all of them`() throws {
        let loop = try EventLoop(label: "test")
        let (posters, each) = (4, 20_000)
        let seen = Shared<[[Int]]>(Array(repeating: [], count: posters))
        let mailbox = Mailbox<(poster: Int, number: Int)>(loop: loop) { messages in
            seen.update { seen in
                for message in messages { seen[message.poster].append(message.number) }
            }
        }
        DispatchQueue.concurrentPerform(iterations: posters) { poster in
            for number in stride(from: 0, to: each, by: 2) {
                if number % 3 == 0 {
                    mailbox.post(contentsOf: [(poster, number), (poster, number + 1)])
                } else {
                    mailbox.post((poster, number))
                    mailbox.post((poster, number + 1))
                }
            }
        }
        #expect(waitUntil { seen.value.allSatisfy { $0.count == each } })
        for numbers in seen.value { #expect(numbers == Array(0..<each)) }
        loop.stop()
    }

    @Test func `what gathers while the loop is busy arrives at once, in one tick`() throws {
        let loop = try EventLoop(label: "test")
        let batches = Shared<[[Int]]>([])
        let ticks = Shared<Set<UInt64>>([])
        let mailbox = Mailbox<Int>(loop: loop) { messages in
            batches.update { $0.append(messages) }
            ticks.update { _ = $0.insert(loop.tickNumber) }
        }
        loop.run { for number in 0..<100 { mailbox.post(number) } }
        #expect(waitUntil { !batches.value.isEmpty })
        loop.run {}
        #expect(batches.value == [Array(0..<100)])
        #expect(ticks.value.count == 1)
        loop.stop()
    }

    @Test func `messages that take long are handled in turns, in their order, and others come in between`() throws {
        let loop = try EventLoop(label: "test")
        let handled = Shared<[Int]>([])
        let others = Promise<Int>()
        let box = Shared<Mailbox<Int>?>(nil)
        let mailbox = Mailbox<Int>(inTurnsOn: loop, backlogLimit: 64) { number in
            if number == 0 { loop.execute { others.fulfil(handled.value.count) } }
            // What is posted meanwhile comes behind all of it.
            if number < 32 { _ = box.value!.post(number + 64) }
            let end = linux_monotonic_microseconds() + EventLoop.turnMicroseconds
            while linux_monotonic_microseconds() < end {}
            handled.update { $0.append(number) }
        }
        box.update { $0 = mailbox }
        loop.run { _ = mailbox.post(contentsOf: Array(0..<64)) }
        // A turn each: the clock is read after each message, since one alone may be long.
        #expect(others.wait() == 1)
        #expect(waitUntil { handled.value.count == 96 })
        #expect(handled.value == Array(0..<96))
        box.update { $0 = nil }
        loop.stop()
    }

    @Test func `messages that are short share a tick, though they are handled in turns`() throws {
        let loop = try EventLoop(label: "test")
        let ticks = Shared<[UInt64]>([])
        let mailbox = Mailbox<Int>(inTurnsOn: loop) { _ in ticks.update { $0.append(loop.tickNumber) } }
        loop.run { _ = mailbox.post(contentsOf: Array(0..<1_000)) }
        #expect(waitUntil { ticks.value.count == 1_000 })
        // One at least, wherever the machine lets the loop stand.
        #expect(Set(ticks.value).count < 1_000)
        loop.stop()
    }

    @Test func `a poster is told to hold back from the limit on, and nothing is lost`() throws {
        let loop = try EventLoop(label: "test")
        let seen = Shared(0)
        let mailbox = Mailbox<Int>(loop: loop, backlogLimit: 3) { messages in seen.update { $0 += messages.count } }
        let answers = loop.run { (0..<4).map { mailbox.post($0) } }
        #expect(answers == [true, true, false, false])
        #expect(waitUntil { seen.value == 4 })
        #expect(mailbox.post(5))
        loop.stop()
    }

    @Test func `a message posted from the receiver arrives in a later tick`() throws {
        let loop = try EventLoop(label: "test")
        let done = Promise<Int>()
        let box = Shared<Mailbox<Int>?>(nil)
        let mailbox = Mailbox<Int>(loop: loop) { messages in
            if messages == [100] { return done.fulfil(100) }
            for number in messages { box.value!.post(number + 1) }
        }
        box.update { $0 = mailbox }
        mailbox.post(0)
        #expect(done.wait() == 100)
        box.update { $0 = nil }
        loop.stop()
    }

    @Test func `closing answers what was waiting, and nothing is delivered afterwards`() throws {
        let loop = try EventLoop(label: "test")
        let seen = Shared<[Int]>([])
        let mailbox = Mailbox<Int>(loop: loop) { messages in seen.update { $0 += messages } }
        let left = loop.run {
            mailbox.post(contentsOf: [1, 2])
            return mailbox.close()
        }
        mailbox.post(3)
        loop.run {}
        #expect(left == [1, 2])
        #expect(!mailbox.deliver(4))
        #expect(seen.value == [])
        loop.stop()
    }

    @Test func `a mailbox that is let go frees what its receiver holds`() throws {
        final class Witness {}
        weak var probe: Witness?
        let loop = try EventLoop(label: "test")
        do {
            let witness = Witness()
            probe = witness
            let mailbox = Mailbox<Int>(loop: loop) { _ in _ = witness }
            mailbox.post(1)
        }
        loop.run {}
        #expect(waitUntil { probe == nil })
        loop.stop()
    }
}
