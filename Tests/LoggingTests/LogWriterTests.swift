// Tests: LogQueue.swift, LogThread.swift

import Foundation
import Glibc
import Synchronization
import TestHarness
import Testing

@testable import Logging

/// A pipe whose reading end a test reads when it wants to.
private final class TestPipe: Sendable {
    let reading: Int32
    let writing: Int32

    init(isNonBlocking: Bool = false) {
        var ends: [Int32] = [0, 0]
        precondition(unsafe pipe(&ends) == 0)
        if isNonBlocking { _ = fcntl(ends[1], F_SETFL, O_NONBLOCK) }
        reading = ends[0]
        writing = ends[1]
    }

    deinit {
        close(reading)
        close(writing)
    }

    /// Lines as they come, until `enough` says so.
    func lines(until enough: ([String]) -> Bool) -> [String] {
        var bytes: [UInt8] = []
        var lines: [String] = []
        while !enough(lines) {
            var watch = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&watch, 1, 60_000) == 1 else { break }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = unsafe read(reading, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer[..<count]
            let end = bytes.lastIndex(of: UInt8(ascii: "\n")) ?? -1
            lines += String(decoding: bytes[...end], as: UTF8.self).split(separator: "\n").map(String.init)
            bytes.removeFirst(end + 1)
        }
        return lines
    }
}

@Suite struct LogWriterTests {
    /// How many signals have come.
    private static let signals = Atomic<Int>(0)

    static func dropped(in line: String) -> Int? {
        guard line.contains("log lines were dropped"), let start = line.range(of: "\"dropped\":") else { return nil }
        return Int(line[start.upperBound...].dropLast())
    }

    @Test(arguments: [false, true]) func `lines arrive whole and in their order`(isNonBlocking: Bool) throws {
        let pipe = TestPipe(isNonBlocking: isNonBlocking)
        let writer = try LogWriter(descriptor: pipe.writing)
        let logger = Logger("test", to: writer)
        for number in 0..<5_000 { logger.info("a line", [.count: .number(number)]) }
        let lines = pipe.lines { $0.count >= 5_000 }
        for (number, line) in lines.enumerated() { #expect(line.hasSuffix("\"count\":\(number)}")) }
        #expect(writer.flush(within: .seconds(60)))
        #expect(writer.dropped == 0)
    }

    @Test func `a reader that stalls blocks nobody, and the first lines afterwards tell how many were dropped`() throws
    {
        let pipe = TestPipe()
        let writer = try LogWriter(descriptor: pipe.writing)
        let logger = Logger("test", to: writer)
        let total = 100_000
        for number in 0..<total { logger.info("a line that nobody reads", [.count: .number(number)]) }
        #expect(writer.dropped > 0)
        #expect(!writer.flush(within: .milliseconds(1)))
        var toldOf = 0
        let lines = pipe.lines { lines in
            toldOf = lines.compactMap(Self.dropped).reduce(0, +)
            return lines.count { $0.contains("a line that") } + toldOf == total
        }
        #expect(toldOf == writer.dropped)
        let numbers = lines.compactMap { line in
            line.range(of: "\"count\":").flatMap { Int(line[$0.upperBound...].dropLast()) }
        }
        #expect(numbers == numbers.sorted() && numbers.first == 0)
        #expect(writer.flush(within: .seconds(60)))
    }

    @Test func `the queue holds exactly as many lines and bytes as its limits say`() throws {
        let record = LogRecord(time: 0, level: .info, part: "test", message: "a line", facts: [(.reason, .text("abc"))])
        let line = LogEntry(record: record, format: .json)
        #expect(line.byteCount == LogEntry.fixedBytes + LogEntry.factBytes + 3)
        let byLines = try LogQueue(limits: .init(maximumLines: 3, maximumBytes: 1_000))
        for _ in 0..<3 { byLines.append(line) }
        #expect(byLines.droppedTotal == 0)
        byLines.append(line)
        #expect(byLines.droppedTotal == 1)
        let byBytes = try LogQueue(limits: .init(maximumLines: 100, maximumBytes: 3 * line.byteCount))
        for _ in 0..<3 { byBytes.append(line) }
        #expect(byBytes.droppedTotal == 0)
        byBytes.append(line)
        #expect(byBytes.droppedTotal == 1)
        guard case .lines(let lines, dropped: 1) = byBytes.take(), lines.count == 3 else {
            Issue.record("three lines and one drop were expected")
            return
        }
        byBytes.append(line)
        #expect(byBytes.droppedTotal == 1)
    }

    @Test func `the log is written to its end, and nothing of it runs afterwards`() throws {
        let pipe = TestPipe()
        let writer = try LogWriter(descriptor: pipe.writing)
        let logger = Logger("test", to: writer)
        for number in 0..<3_000 { logger.info("a line", [.count: .number(number)]) }
        let reader = Shared<[String]>([])
        let isRead = Promise<Bool>()
        Thread.detachNewThread {
            let lines = pipe.lines { $0.count >= 3_000 }
            reader.update { $0 = lines }
            isRead.fulfil(true)
        }
        #expect(writer.finish(within: .seconds(60)))
        #expect(isRead.wait() == true)
        #expect(reader.value.last?.hasSuffix("\"count\":2999}") == true)
        logger.info("too late")
        #expect(writer.dropped == 1)
        #expect(writer.finish(within: .seconds(60)))
    }

    @Test func `a reader that stalls does not keep the process from ending`() throws {
        let pipe = TestPipe()
        let writer = try LogWriter(descriptor: pipe.writing)
        // More than a pipe holds.
        for _ in 0..<2_000 { Logger("test", to: writer).info("a line that nobody reads for now") }
        #expect(!writer.finish(within: .milliseconds(10)))
        #expect(pipe.lines { $0.count >= 2_000 }.count == 2_000)
        #expect(writer.finish(within: .seconds(60)))
    }

    @Test func `a signal does not make anybody give up the wait for the last line`() throws {
        let pipe = TestPipe()
        let writer = try LogWriter(descriptor: pipe.writing)
        for number in 0..<5_000 { Logger("test", to: writer).info("a line", [.count: .number(number)]) }
        Self.signals.store(0, ordering: .relaxed)
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = { _ in LogWriterTests.signals.add(1, ordering: .relaxed) }
        unsafe sigaction(SIGUSR1, &action, nil)
        let waiter = Promise<UInt>()
        let isWritten = Promise<Bool>()
        let isOver = Promise<Bool>()
        Thread.detachNewThread {
            // It has the mask of who began it, and Dispatch's threads let no signal through.
            var mask = sigset_t()
            unsafe sigemptyset(&mask)
            unsafe sigaddset(&mask, SIGUSR1)
            unsafe pthread_sigmask(SIG_UNBLOCK, &mask, nil)
            waiter.fulfil(UInt(pthread_self()))
            isWritten.fulfil(writer.flush(within: .seconds(600)))
            // A signal to a thread that has ended would end the process.
            _ = isOver.wait()
        }
        defer { isOver.fulfil(true) }
        let thread = pthread_t(try #require(waiter.wait()))
        for number in 1...20 {
            pthread_kill(thread, SIGUSR1)
            #expect(waitUntil { Self.signals.load(ordering: .relaxed) >= number })
        }
        #expect(pipe.lines { $0.count >= 5_000 }.count == 5_000)
        #expect(isWritten.wait() == true)
    }

    @Test func `a value longer than all that the queue holds is cut, and its line is written`() throws {
        let pipe = TestPipe()
        let writer = try LogWriter(descriptor: pipe.writing)
        Logger("test", to: writer).error("a line", [.text: .text(String(repeating: "x", count: 4 << 20))])
        Logger("test", to: writer).error("the next")
        let lines = pipe.lines { $0.count >= 2 }
        #expect(lines.count == 2 && lines[0].contains("… (4194304 bytes)"))
        #expect(writer.dropped == 0)
    }

    @Test func `a descriptor that nobody can write to loses lines and nothing else`() throws {
        let file = unsafe open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(file) }
        let writer = try LogWriter(descriptor: file)
        for _ in 0..<10 { Logger("test", to: writer).error("nobody reads this") }
        #expect(writer.flush(within: .seconds(60)))
        #expect(writer.dropped == 10)
    }

    /// The limit stands far beyond what any other file of this process has, and a file with a hole takes no room.
    @Test func `a file that is full loses whole lines, and they are told once there is room`() throws {
        let end: Int = 1 << 40
        let kind = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        var before = rlimit()
        #expect(unsafe getrlimit(kind, &before) == 0)
        var limit = rlimit(rlim_cur: rlim_t(end), rlim_max: before.rlim_max)
        #expect(unsafe setrlimit(kind, &limit) == 0)
        defer { unsafe _ = setrlimit(kind, &before) }
        let file = unsafe fileno(tmpfile())
        let writer = try LogWriter(descriptor: file)
        let logger = Logger("test", to: writer)
        logger.info("a line", [.count: .number(0)])
        #expect(writer.flush(within: .seconds(60)))
        let lineBytes = Int(lseek(file, 0, SEEK_CUR))
        // Room for two lines and a half.
        lseek(file, end - lineBytes * 5 / 2, SEEK_SET)
        for number in 1...9 { logger.info("a line", [.count: .number(number)]) }
        #expect(writer.flush(within: .seconds(60)))
        #expect(writer.dropped == 7)
        lseek(file, Int(lineBytes), SEEK_SET)
        for number in 3...4 { logger.info("a line", [.count: .number(number)]) }
        #expect(writer.flush(within: .seconds(60)))
        var bytes = [UInt8](repeating: 0, count: Int(lseek(file, 0, SEEK_CUR)))
        #expect(unsafe pread(file, &bytes, bytes.count, 0) == bytes.count)
        let lines = String(decoding: bytes, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 6)
        #expect(lines[0].hasSuffix("\"count\":0}") && lines[1] == "" && lines[5] == "", "\(lines)")
        #expect(lines[2].contains("could not be written") && lines[2].contains("\"dropped\":7"), "\(lines)")
        #expect(lines[2].contains("\"reason\":\"File too large\""))
        #expect(lines[3].hasSuffix("\"count\":3}") && lines[4].hasSuffix("\"count\":4}"))
        #expect(writer.dropped == 7)
    }

    @Test func `a broken pipe is no signal`() throws {
        var ends: [Int32] = [0, 0]
        #expect(unsafe pipe(&ends) == 0)
        close(ends[0])
        let writer = try LogWriter(descriptor: ends[1])
        Logger("test", to: writer).error("nobody reads this")
        #expect(writer.flush(within: .seconds(60)))
        #expect(writer.dropped == 1)
        close(ends[1])
    }

    @Test func `level and format change with the next line`() throws {
        let pipe = TestPipe()
        let writer = try LogWriter(descriptor: pipe.writing)
        let logger = Logger("test", to: writer)
        logger.debug("not told")
        logger.info("first")
        writer.configure(format: .text, level: .debug)
        logger.debug("second")
        let lines = pipe.lines { $0.count >= 2 }
        #expect(lines.count == 2 && lines[0].contains("\"message\":\"first\""))
        #expect(lines[1].hasSuffix(" debug test: second"))
    }

    @Test func `many threads log at once and no line is lost or torn`() async throws {
        let pipe = TestPipe()
        let writer = try LogWriter(
            descriptor: pipe.writing, format: .json, level: .info,
            limits: .init(maximumLines: 1 << 20, maximumBytes: 1 << 28),
            now: { 0 })
        let logger = Logger("test", to: writer)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<1_000 { logger.info("x", [.loop: .number(task), .count: .number(number)]) }
                }
            }
        }
        let lines = pipe.lines { $0.count >= 8_000 }
        #expect(Set(lines).count == 8_000)
        #expect(lines.allSatisfy { $0.hasPrefix("{\"time\":\"1970-") && $0.hasSuffix("}") })
    }
}
