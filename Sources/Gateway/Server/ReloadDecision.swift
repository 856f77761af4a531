import GatewaySettings
import Logging
import Tokens

/// The result of reading settings again, as far as the decision needs it.
struct ReloadFinding {
    /// Nil if there is an error.
    var settings: Settings?
    var problems: [SettingsProblem] = []
    var marks: FileMarks = [:]
    /// The last second of the certificate, since 1970; nil without TLS.
    var certificateEnd: Int64?
    /// The settings file is empty.
    var isFileEmpty = false
    /// Nil if the tokens are unknown.
    var tokens: StaticTokens?
    var file = ""
}

/// The state of a gateway, as far as a reload compares with it.
struct ReloadBasis {
    var settings: Settings
    /// The settings as last read without an error. Values that need a restart may differ, and were warned about once.
    var readSettings: Settings
    var marks: FileMarks
    var certificateEnd: Int64?
    var isFileEmpty: Bool
    var tokens: StaticTokens
    var warnings: Set<SettingsProblem>
    /// The errors of the last time; empty without an error.
    var failure: [SettingsProblem] = []
}

/// The decision about settings that were read again: all of them count, or everything stays as it was, except that removed
/// static tokens are gone.
struct ReloadDecision {
    /// The gateway's settings from now on; nil keeps the present ones.
    let settings: Settings?
    /// The static tokens from now on.
    let tokens: StaticTokens
    /// Static tokens that are gone, or mean another account or subject.
    let lostTokens: Int
    let lines: [ReloadLine]
    /// The basis of the next decision.
    let basis: ReloadBasis

    /// Why everything stays as it was.
    var problem: SettingsProblem? { settings == nil ? basis.failure.first : nil }

    /// - Parameter now: seconds since 1970.
    init(_ basis: ReloadBasis, _ finding: ReloadFinding, now: Int64) {
        let kept = finding.tokens.map { basis.tokens.stillIn($0) } ?? (tokens: basis.tokens, lost: 0)
        lostTokens = kept.lost
        let errors = Self.errors(basis, finding, now: now)
        var next = basis
        var lines: [ReloadLine] = []
        if errors.isEmpty, let read = finding.settings {
            settings = basis.settings.adopting(read)
            tokens = finding.tokens ?? basis.tokens
            next = ReloadBasis(
                settings: basis.settings.adopting(read), readSettings: read, marks: finding.marks,
                certificateEnd: finding.certificateEnd, isFileEmpty: finding.isFileEmpty, tokens: tokens,
                warnings: Set(finding.problems))
            lines.append(.reloaded(changed: Self.changed(basis, next), lostTokens: lostTokens))
            // Once for each new value, and not for one that is back at the value in use.
            let sinceLast = Set(read.changes(from: basis.readSettings).map(\.path))
            for change in read.changes(from: basis.settings)
            where change.effect == .restart && sinceLast.contains(change.path) {
                lines.append(.needsRestart(change.path))
            }
            let isCertificateNew = Self.isCertificateNew(basis, finding)
            lines += finding.problems.filter { problem in
                // For a new certificate the warning is repeated: its owner expects that it helps.
                !basis.warnings.contains(problem) || isCertificateNew && problem.key == Self.certificate
            }.map { .warning($0) }
        } else {
            settings = nil
            tokens = kept.tokens
            next.tokens = tokens
            next.failure = errors
            // An error that stays is reported once.
            if errors != basis.failure || lostTokens > 0, let first = errors.first {
                lines.append(.refused(first, others: errors.count - 1, lostTokens: lostTokens))
            }
        }
        self.lines = lines
        self.basis = next
    }

    private static func errors(_ basis: ReloadBasis, _ finding: ReloadFinding, now: Int64) -> [SettingsProblem] {
        var errors = finding.problems.filter { !$0.isWarning }
        let location = SettingsLocation(.file(finding.file))
        if finding.isFileEmpty, !basis.isFileEmpty {
            errors.append(SettingsProblem(location, key: "", "is empty: it may be half written"))
        }
        // An unchanged certificate had expired before, too.
        if let end = finding.certificateEnd, now > end, basis.certificateEnd.map({ now <= $0 }) ?? true {
            let text = "names a new certificate that has expired: clients would refuse it"
            errors.append(SettingsProblem(location, key: certificate, text))
        }
        return errors
    }

    private static let certificate = SettingsTable.path(of: \.tls.certificate)

    private static func isCertificateNew(_ basis: ReloadBasis, _ finding: ReloadFinding) -> Bool {
        func mark(_ marks: FileMarks) -> FileMark? { marks.first { $0.key.setting == certificate }?.value }
        return basis.certificateEnd != finding.certificateEnd || mark(basis.marks) != mark(finding.marks)
    }

    /// The settings with another value than before, and those whose file holds something else.
    private static func changed(_ old: ReloadBasis, _ new: ReloadBasis) -> [String] {
        var names = new.settings.changes(from: old.settings).map(\.path)
        func marks(_ basis: ReloadBasis) -> [String: FileMark] {
            Dictionary(basis.marks.map { ($0.key.setting, $0.value) }) { $1 }
        }
        let (before, after) = (marks(old), marks(new))
        for name in after.keys.sorted() where !name.isEmpty && before[name] != after[name] && !names.contains(name) {
            names.append(name)
        }
        return names
    }
}

/// The log lines of a reload.
enum ReloadLine: Equatable {
    case reloaded(changed: [String], lostTokens: Int)
    case refused(SettingsProblem, others: Int, lostTokens: Int)
    case needsRestart(String)
    case warning(SettingsProblem)

    /// - Parameter cause: the event that caused the reload.
    func write(to logger: Logger, cause: String) {
        switch self {
        case .reloaded(let changed, let lost):
            logger.notice(
                "settings reloaded",
                [
                    .cause: .text(cause), .changed: changed.isEmpty ? .absent : .text(changed.joined(separator: " ")),
                    .lostTokens: lost == 0 ? .absent : .number(lost),
                ])
        case .refused(let problem, let others, let lost):
            logger.error(
                "settings not reloaded: the old ones stay in use, except static tokens that were removed; try livegate check",
                [
                    .cause: .text(cause), .file: "\(problem.location)",
                    .setting: problem.key.isEmpty ? .absent : .text(problem.key), .reason: .text(problem.text),
                    .others: others == 0 ? .absent : .number(others),
                    .lostTokens: lost == 0 ? .absent : .number(lost),
                ])
        case .needsRestart(let setting):
            logger.warning(
                "a changed setting takes effect after a restart",
                [.setting: .text(setting), .advice: "restart this node to apply it; until then the old value is used"])
        case .warning(let problem): problem.warn(logger)
        }
    }
}

extension SettingsProblem {
    /// A warning is a line of the log, so that a reader of JSON gets nothing else.
    package func warn(_ logger: Logger) {
        logger.warning(
            "a setting may be a mistake",
            [
                .file: "\(location)", .setting: key.isEmpty ? .absent : .text(key), .reason: .text(text),
                .advice: "correct the setting, and run livegate check",
            ])
    }
}
