/// The destination of lines.
package protocol LogDestination: AnyObject, Sendable {
    /// Lines below this level are not even made.
    var level: LogLevel { get }
    /// Takes effect with the next line.
    func setLevel(_ level: LogLevel)
    /// How many lines were dropped since the start, because the queue was full or they could not be written.
    var dropped: Int { get }
    /// Never blocks; may be called by any thread.
    func accept(_ record: LogRecord)
    /// Milliseconds since 1970, UTC.
    func now() -> Int64
}

/// The logger of a part of the program. A copy is cheap; any thread may use it.
///
///     logger.warning("a topic is missing", [.topic: .text(topic), .broker: .text(broker)])
///
/// The sentence is constant, and the facts contain what varies. Neither may contain a secret.
package struct Logger: Sendable {
    package typealias Facts = KeyValuePairs<LogKey, LogValue>

    private let part: String
    private let destination: any LogDestination
    private let always: [(key: LogKey, value: LogValue)]

    /// - Parameter part: the part of the program, in one word.
    package init(_ part: String, to destination: any LogDestination) {
        self.init(part, to: destination, always: [])
    }

    private init(_ part: String, to destination: any LogDestination, always: [(key: LogKey, value: LogValue)]) {
        self.part = part
        self.destination = destination
        self.always = always
    }

    /// The same for another part of the program.
    package func named(_ part: String) -> Logger {
        Logger(part, to: destination, always: always)
    }

    /// The same with facts that are in every line.
    package func with(_ facts: Facts) -> Logger {
        Logger(part, to: destination, always: always + facts.map { ($0.key, $0.value) })
    }

    /// The lowest level that is written, for all parts of the program.
    package var level: LogLevel { destination.level }

    package func setLevel(_ level: LogLevel) { destination.setLevel(level) }

    /// Lines that were dropped since the start, because the queue was full or they could not be written.
    package var dropped: Int { destination.dropped }

    package func isEnabled(_ level: LogLevel) -> Bool {
        level >= destination.level
    }

    /// Writes a line, unless the level is below the destination's; then the facts are not even computed.
    package func log(_ level: LogLevel, _ message: StaticString, _ facts: @autoclosure () -> Facts = [:]) {
        guard isEnabled(level) else { return }
        destination.accept(
            LogRecord(
                time: destination.now(), level: level, part: part, message: message,
                facts: always + facts().map { ($0.key, $0.value) }))
    }

    package func trace(_ message: StaticString, _ facts: @autoclosure () -> Facts = [:]) {
        log(.trace, message, facts())
    }

    package func debug(_ message: StaticString, _ facts: @autoclosure () -> Facts = [:]) {
        log(.debug, message, facts())
    }

    package func info(_ message: StaticString, _ facts: @autoclosure () -> Facts = [:]) {
        log(.info, message, facts())
    }

    package func notice(_ message: StaticString, _ facts: @autoclosure () -> Facts = [:]) {
        log(.notice, message, facts())
    }

    package func warning(_ message: StaticString, _ facts: @autoclosure () -> Facts = [:]) {
        log(.warning, message, facts())
    }

    package func error(_ message: StaticString, _ facts: @autoclosure () -> Facts = [:]) {
        log(.error, message, facts())
    }

    package func critical(_ message: StaticString, _ facts: @autoclosure () -> Facts = [:]) {
        log(.critical, message, facts())
    }
}
