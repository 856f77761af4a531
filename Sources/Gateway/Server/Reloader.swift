import GatewaySettings
import Logging
import Reactor
import Tokens

/// How a program reads its settings again.
package struct ReloadSource: Sendable {
    let load: @Sendable () -> SettingsOutcome
    let startOutcome: SettingsOutcome
    let start: SettingsReading
    let configureLog: @Sendable (Settings) -> Void

    /// - Parameters:
    ///   - load: reads the settings as at the start, with the same environment and flags.
    ///   - startOutcome: the content of the settings file at the start, and `start`: the result of reading it.
    ///   - configureLog: configures the log by the section `log`.
    package init(
        load: @escaping @Sendable () -> SettingsOutcome, startOutcome: SettingsOutcome, start: SettingsReading,
        configureLog: @escaping @Sendable (Settings) -> Void
    ) {
        self.load = load
        self.startOutcome = startOutcome
        self.start = start
        self.configureLog = configureLog
    }
}

/// Reads settings again, on request and when their files have changed, and passes on the result.
///
/// Confined to a loop that serves no clients: a disk that hangs delays only this. ``ReloadWatch`` and ``ReloadDecision`` make
/// the decisions.
final class Reloader {
    private let loop: EventLoop
    private let source: ReloadSource
    private let logger: Logger
    private let record: ReloadRecord
    private let readiness: NodeReadiness
    private let adopt: (GatewayServer.Parts) -> Void
    private let interval: UInt64
    private var parts: GatewayServer.Parts
    private var basis: ReloadBasis
    private var watch: ReloadWatch

    /// - Parameter adopt: called with all parts that the gateway is to go on with.
    init(
        _ source: ReloadSource, parts: GatewayServer.Parts, loop: EventLoop, logger: Logger, record: ReloadRecord,
        readiness: NodeReadiness, adopt: @escaping (GatewayServer.Parts) -> Void
    ) {
        self.loop = loop
        self.source = source
        self.logger = logger
        self.record = record
        self.readiness = readiness
        self.adopt = adopt
        self.parts = parts
        let start = source.start
        interval = parts.settings.reloadInterval.milliseconds
        basis = ReloadBasis(
            settings: parts.settings, readSettings: parts.settings, marks: start.marks,
            certificateEnd: parts.tls?.certificate?.notAfter, isFileEmpty: start.isFileEmpty,
            tokens: parts.verifier.tokens, warnings: Set(start.problems))
        watch = ReloadWatch(read: start.marks)
    }

    /// Starts the checks of the files.
    func start() {
        guard interval > 0 else { return }
        loop.schedule(afterMilliseconds: interval) {
            if self.watch.check(FileMarks(of: self.watch.files)) {
                self.reload(cause: "a file changed", isAsked: false)
            }
            self.start()
        }
    }

    /// Reads everything again, and adopts it or keeps what was before.
    ///
    /// - Parameter isAsked: whether it was asked for, other than by a changed file.
    func reload(cause: String, isAsked: Bool = true) {
        let now = WallClock.milliseconds / 1000
        let marks = FileMarks(of: watch.files)
        let reading = readAgain(now: now)
        let decision = ReloadDecision(basis, finding(reading), now: now)
        // After a failure both are watched: the files that still count, and those that may be repaired.
        watch.wasRead(decision.settings == nil ? marks.merging(reading.marks) { $1 } : reading.marks)
        if let settings = decision.settings, let material = reading.material {
            let (old, new) = (basis.settings.log, settings.log)
            if old.level != new.level || old.format != new.format { source.configureLog(settings) }
            parts = parts.adopting(material, settings)
        }
        parts.verifier = parts.verifier.with(decision.tokens)
        basis = decision.basis
        // A reload that was asked for also fetches keys, whatever has become of the settings.
        if decision.settings != nil || decision.lostTokens > 0 || isAsked { adopt(parts) }
        record.count(decision.problem?.description)
        readiness.report(.reload, decision.problem?.description)
        for line in decision.lines { line.write(to: logger, cause: cause) }
    }

    /// What was read from a pipe at the start cannot be read again.
    private func readAgain(now: Int64) -> SettingsReading {
        let isPiped = source.startOutcome.fileMark == .unwatched
        return (isPiped ? source.startOutcome : source.load()).readingAgain(now: now)
    }

    private func finding(_ reading: SettingsReading) -> ReloadFinding {
        var tokens = reading.tokens
        // From a file that may be half written nothing follows of the tokens that it does not name.
        if tokens == nil || reading.isFileEmpty && !basis.isFileEmpty { tokens = basis.settings.readTokens() }
        return ReloadFinding(
            settings: reading.material?.settings, problems: reading.problems, marks: reading.marks,
            certificateEnd: reading.material?.tls?.certificate?.notAfter, isFileEmpty: reading.isFileEmpty,
            tokens: tokens, file: reading.file.path)
    }
}

@available(*, unavailable)
extension Reloader: Sendable {}
