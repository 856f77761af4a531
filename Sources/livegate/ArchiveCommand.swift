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
            The horizon is the time stamp before which archive.keep has let go of everything. It never goes back by itself: \
            where a clock that was ahead has moved it, put the clock right, then set it back with --horizon to now less \
            archive.keep. A node whose archive is a file of SQLite has to be stopped meanwhile; with PostgreSQL the nodes \
            run on.
            """,
            """
            Events that are not deleted yet are served again. What was deleted by then is gone, and what came meanwhile and \
            was too old was not stored: pages that reach between the two horizons tell a gap. To have again what Kafka still \
            holds of it, name another store, which is filled from the oldest record on; read marks stay in the old one.
            """,
        ],
        options: [SettingsArguments.config, horizon],
        statuses: [
            (.success, "the horizon was shown, or set back"),
            (.badInput, "the horizon is not after MS: nothing is changed"),
            (.unavailable, "the store does not answer, a node has the file open, or it is no archive"),
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
