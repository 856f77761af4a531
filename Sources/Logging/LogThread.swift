import CLinux
import Glibc

/// The one thread that writes, and may wait for the reader.
final class LogThread: Sendable {
    /// Lines are written together, in writes of about this many bytes.
    private static let writeBytes = 64 * 1_024

    private let queue: LogQueue
    private let form: LogForm
    private let descriptor: Int32

    init(queue: LogQueue, form: LogForm, descriptor: Int32) {
        self.queue = queue
        self.form = form
        self.descriptor = descriptor
    }

    /// The thread receives no signals: they belong to the threads that watch for them. A broken pipe is an error here.
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
        var output = LogOutput(descriptor)
        while true {
            switch queue.take() {
            case .none: queue.waitForLines()
            case .end: return
            case .lines(let lines, let dropped):
                write(lines, &text, &output)
                output.unread += dropped
                reportLost(&output)
            }
        }
    }

    private func write(_ lines: [LogEntry], _ text: inout LogText, _ output: inout LogOutput) {
        var count = 0
        for (index, line) in lines.enumerated() {
            text.append(line.record, format: line.format)
            count += 1
            guard text.bytes.count >= Self.writeBytes || index == lines.count - 1 else { continue }
            reportLost(&output)
            queue.countLost(output.write(text.bytes, count: count))
            text.removeAll()
            count = 0
        }
    }

    private func reportLost(_ output: inout LogOutput) {
        if output.unread > 0 {
            let line = line(
                "log lines were dropped: nobody read them",
                [(.advice, .text("see why standard error is read too slowly")), (.dropped, .number(output.unread))])
            if output.report(line) { output.unread = 0 }
        }
        if output.unwritten > 0 {
            let reason = unsafe String(cString: strerror(output.failure))
            let line = line(
                "log lines were dropped: they could not be written",
                [
                    (.dropped, .number(output.unwritten)), (.reason, .text(reason)),
                    (.advice, .text("free space where standard error is written")),
                ])
            if output.report(line) { output.unwritten = 0 }
        }
    }

    /// A line from the log itself.
    private func line(_ message: StaticString, _ facts: [(key: LogKey, value: LogValue)]) -> [UInt8] {
        var text = LogText()
        let record = LogRecord(time: form.now(), level: .warning, part: "log", message: message, facts: facts)
        text.append(record, format: form.format)
        return text.bytes
    }
}
