/// The levels of swift-log, in rising order.
///
/// error: someone must act. warning: something is degraded or rate-limited. notice: start, drain, reload. info: a connection.
/// Messages about single events are at debug or below.
package enum LogLevel: UInt8, CaseIterable, Comparable, Sendable {
    case trace, debug, info, notice, warning, error, critical

    /// The name in the settings and in every line.
    package var name: String {
        switch self {
        case .trace: "trace"
        case .debug: "debug"
        case .info: "info"
        case .notice: "notice"
        case .warning: "warning"
        case .error: "error"
        case .critical: "critical"
        }
    }

    package init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    package static func < (left: LogLevel, right: LogLevel) -> Bool {
        left.rawValue < right.rawValue
    }
}
