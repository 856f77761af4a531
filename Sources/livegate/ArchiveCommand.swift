import Gateway
import Options

/// `livegate archive`: the time up to which the archive has deleted events, and how to set it back after a wrong clock.
enum ArchiveCommand {
    static let horizon = SingleOption(
        "horizon", .integer("MS", in: 0...(1 << 53)),
        help: "set the horizon back to this time stamp, in ms since 1970")

    static let table = Command(
        "archive", summary: "show the archive's horizon, or set it back",
        details: [
            """
            The horizon is the time stamp before which archive.keep has removed everything. It never goes back by itself: if a \
            clock that was ahead has moved it, correct the clock, then set the horizon back with --horizon to now less \
            archive.keep. A node whose archive is an SQLite file must be stopped meanwhile; with PostgreSQL the nodes keep \
            running.
            """,
            """
            Events that are not deleted yet are served again. Events that were already deleted are gone, and events that came \
            meanwhile and were too old were not stored: pages between the two horizons report a gap. To restore what Kafka \
            still holds of them, name another store, which is filled from the oldest record on; read marks stay in the old one.
            """,
        ],
        options: [SettingsArguments.config, horizon],
        statuses: [
            (.success, "the horizon was shown, or set back"),
            (.badInput, "the horizon is not after MS: nothing is changed"),
            (.unavailable, "the store does not answer, a node has the file open, or it is not an archive"),
            (.settings, "the settings are wrong, or archive.store is not set"),
        ])

    static func run(_ arguments: Arguments) -> ExitStatus {
        let outcome = SettingsArguments.load(arguments)
        guard let settings = outcome.settings else {
            SettingsArguments.report(outcome.problems)
            return .settings
        }
        do throws(HorizonRepair.Failure) {
            let text = try HorizonRepair.run(settings, setBackTo: arguments[horizon].map(Int64.init))
            StandardOutput.write(text)
            return .success
        } catch {
            switch error {
            case .noArchive:
                StandardError.line("livegate archive: archive.store is not set: there is no horizon")
                return .settings
            case .notBack(let horizon):
                StandardError.line(
                    "livegate archive: nothing is changed: --horizon is not before the horizon \(horizon)")
                return .badInput
            case .store(let why):
                StandardError.line("livegate archive: archive.store: \(why)")
                return .unavailable
            }
        }
    }
}
