import CLinux
import Glibc

/// The one thread that writes, and may wait for whoever reads.
final class LogThread: Sendable {
    /// Lines leave together, in writes of about so many bytes.
    private static let writeBytes = 64 * 1_024

    private let queue: LogQueue
    private let form: LogForm
    private let descriptor: Int32

    init(queue: LogQueue, form: LogForm, descriptor: Int32) {
        self.queue = queue
        self.form = form
        self.descriptor = descriptor
    }

    /// The thread takes no signals: they belong to those who watch for them, and a broken pipe is an error here.
    func start() throws(LoggingError) {
        var all = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        var thread = pthread_t()
        let retained = unsafe Unmanaged.passRetained(self)
        let failure = unsafe pthread_create(
            &thread, nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                unsafe Unmanaged<LogThread>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, retained.toOpaque())
        unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        guard failure == 0 else {
            unsafe retained.release()
            throw .thread(failure)
        }
        pthread_detach(thread)
    }

    private func run() {
        var text = LogText()
        while true {
            switch queue.take() {
            case .none: queue.waitForLines()
            case .end: return
            case .lines(let lines, let dropped):
                write(lines, &text)
                if dropped > 0 { write([droppedLines(dropped)], &text) }
            }
        }
    }

    private func droppedLines(_ count: Int) -> LogEntry {
        let record = LogRecord(
            time: form.now(), level: .warning, part: "log", message: "log lines were dropped: nobody read them",
            facts: [(.dropped, .number(count))])
        return LogEntry(record: record, format: form.format)
    }

    private func write(_ lines: [LogEntry], _ text: inout LogText) {
        var count = 0
        for (index, line) in lines.enumerated() {
            text.append(line.record, format: line.format)
            count += 1
            guard text.bytes.count >= Self.writeBytes || index == lines.count - 1 else { continue }
            if !write(text.bytes) { queue.countLost(count) }
            text.removeAll()
            count = 0
        }
    }

    private func write(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { unsafe linux_write_all(descriptor, $0.baseAddress, UInt64($0.count)) == 0 }
    }
}
