import Archive
import GatewaySettings
import HTTP
import PostgreSQL
import Reactor

/// `livegate archive`: shows, or sets back, up to when the archive of the settings no longer keeps events.
package enum HorizonRepair {
    package enum Failure: Error, Equatable {
        /// The settings name no archive.
        case noArchive
        /// Nothing is changed: the stamp is not before the horizon, which is this one.
        case notBack(String)
        /// What is wrong with the store, and what to check.
        case store(String)
    }

    /// Returns the text for the operator.
    ///
    /// - Parameter stamp: to be set back to, in ms since 1970; nil: it is only shown.
    package static func run(_ settings: Settings, setBackTo stamp: Int64?) throws(Failure) -> String {
        guard settings.archive.store != .off else { throw .noArchive }
        let horizon: ArchiveHorizon
        do throws(ArchiveError) {
            horizon = try change(settings.archive.store, passwordFile: settings.archive.passwordFile, stamp)
        } catch {
            let text = ArchiveReport.text(error)
            throw .store(text + (ArchiveReport.connectionAdvice(text).map { ": \($0)" } ?? ""))
        }
        guard horizon.after < horizon.before else {
            guard stamp == nil else { throw .notBack(Self.text(horizon.before)) }
            return "horizon: \(Self.text(horizon.before))\n"
        }
        return """
            horizon: \(Self.text(horizon.after)), set back from \(Self.text(horizon.before))
            events that were already deleted are gone: pages between the two report a gap

            """
    }

    private static func change(
        _ store: ArchiveStoreSetting, passwordFile: String?, _ stamp: Int64?
    ) throws(ArchiveError) -> ArchiveHorizon {
        switch store {
        case .off: throw .closed
        case .sqlite(let path): try .ofFile(path, setBackTo: stamp, now: WallClock.milliseconds)
        case .postgresql(let uri):
            try .ofDatabase(
                PostgreSQLArchive.Settings(uri: uri, server: "") { () throws(PostgreSQLError) in
                    try ArchiveStores.password(passwordFile)
                }, setBackTo: stamp)
        }
    }

    /// In the format of the option, and as a date for people.
    static func text(_ horizon: Int64) -> String {
        guard horizon >= 0 else { return "none: nothing was let go" }
        return "\(horizon) (\(InternetDate.text(millisecondsSince1970: horizon)))"
    }
}
