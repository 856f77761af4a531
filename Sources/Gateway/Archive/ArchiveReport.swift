import Archive
import GatewaySettings
import KafkaLogs
import LiveUpdates
import Logging

/// The archive's log lines for an operator.
struct ArchiveReport: Sendable {
    let logger: Logger
    let store: ArchiveStoreSetting
    private let limiter = RateLimiter()

    init(logger: Logger, store: ArchiveStoreSetting) {
        self.logger = logger
        self.store = store
    }

    private var file: LogValue { .text(store.text) }

    func opened() { logger.notice("the archive is open", [.file: file]) }

    func recovered() { logger.notice("the archive is written again, from where it was", [.file: file]) }

    func gaps(_ count: Int, _ batch: ArchiveBatch) {
        guard let run = batch.runs.first(where: { $0.continuation != .same || $0.events.isEmpty }) ?? batch.runs.first
        else {
            return
        }
        logger.warning(
            "the archive lacks events that Kafka had already deleted: pages report the gap",
            [
                .count: .number(count), .topic: .text(run.topic), .partition: .number(Int(run.partition)),
                .offset: .number(Int(run.from)),
                .advice: "let the topic keep records for longer than nodes or their archive may be down",
            ])
    }

    func erased(_ account: Account, _ counts: ErasureCounts) {
        logger.notice(
            "erased: nothing of the account from before it is in the archive",
            [.account: .text(account.text), .events: .number(counts.events), .count: .number(counts.marks)])
    }

    func tooManyErasures(now: UInt64) {
        guard let passed = limiter.pass("erasures", now: now) else { return }
        logger.error(
            "more accounts are to be erased than the archive can remember: some of them are still in it",
            [
                .file: file, .limit: .number(PendingErasures.maximum),
                .advice:
                    "restart the node once its archive is written again: it then reads all erasures from the control topic",
                .suppressed: passed.suppressed,
            ])
    }

    func setAside(_ why: String, as other: String) {
        logger.error(
            "the archive's file is damaged: it was renamed, and a new file is filled from Kafka",
            [
                .file: .text(other), .reason: .text(why),
                .advice:
                    "check the disk; read marks are only in the damaged file; delete it when it is not needed any more",
            ])
    }

    /// The store is of no use to this node, and is tried again now and then. Logged once.
    func refused(_ error: ArchiveError) {
        logger.error(
            "the archive cannot be used: live streams go on",
            [.file: file, .reason: .text(Self.text(error)), .advice: .text(advice(error))])
    }

    func trouble(_ error: ArchiveError, now: UInt64) {
        let text = Self.text(error)
        guard let passed = limiter.pass(text, now: now) else { return }
        logger.error(
            "the archive cannot be written: live streams go on, and writing resumes where it stopped",
            [
                .file: file, .reason: .text(text), .advice: .text(advice(error)), .suppressed: passed.suppressed,
            ])
    }

    /// It is tried again, and reading and writing do not wait for it.
    func notOverwritten(_ error: ArchiveError, now: UInt64) {
        let text = Self.text(error)
        guard let passed = limiter.pass("overwriting \(text)", now: now) else { return }
        logger.warning(
            "what was erased in the archive is not overwritten yet: it is tried again",
            [
                .file: file, .reason: .text(text), .advice: .text(advice(error)), .suppressed: passed.suppressed,
            ])
    }

    /// It may be a vacuum of a large table, or one that waits for a lock.
    func overwritesLong(_ milliseconds: UInt64) {
        logger.warning(
            "what was erased in the archive is not overwritten yet: an attempt is still running",
            [.file: file, .durationMilliseconds: .number(milliseconds), .advice: .text(slowAdvice)])
    }

    func slow(milliseconds: UInt64, now: UInt64) {
        guard let passed = limiter.pass("slow", now: now) else { return }
        logger.warning(
            "the archive's store does not answer: live streams go on",
            [
                .file: file, .durationMilliseconds: .number(milliseconds), .advice: .text(slowAdvice),
                .suppressed: passed.suppressed,
            ])
    }

    func cannotRead(_ reason: String, now: UInt64) {
        guard let passed = limiter.pass("read", now: now) else { return }
        logger.error(
            "what the archive lacks cannot be read from Kafka",
            [
                .reason: .text(reason), .advice: "check kafka.settings; the archive waits for it",
                .suppressed: passed.suppressed,
            ])
    }

    func leaderIsSilent(_ topics: [String], _ partition: PartitionName, now: UInt64) {
        guard let passed = limiter.pass("log", now: now) else { return }
        logger.warning(
            "the archive waits: the leader does not confirm that its log is the one that is stored",
            [
                .topic: .text(topics[Int(partition.topic)]), .partition: .number(Int(partition.number)),
                .advice: "check that the partition's leader is healthy", .suppressed: passed.suppressed,
            ])
    }

    private var slowAdvice: String {
        store.isShared ? "check the database, and who holds its locks" : "check the disk"
    }

    /// What to check where PostgreSQL refuses a connection, by words of its message, all of a row: there is no code then.
    private static let connectionRefusals = [
        (
            ["password authentication failed"],
            "check the user in archive.store and the password in archive.password_file"
        ),
        (["no password supplied"], "name the file with the password in archive.password_file"),
        (["FATAL", "does not exist"], "check the database and the user in archive.store: the node creates neither"),
        (["no pg_hba.conf entry"], "allow the user from this machine in the server's pg_hba.conf, and check sslmode"),
        (["could not translate host name"], "check the host in archive.store, and the resolver"),
        (["onnection refused"], "check that PostgreSQL runs, and check the host and the port in archive.store"),
        (["permission denied"], "grant the user of archive.store Create on the schema public"),
        (["too many clients"], "raise max_connections of PostgreSQL"),
    ]

    /// What to check, by the message of a failed connection; nil where the message is unknown.
    static func connectionAdvice(_ words: String) -> String? {
        connectionRefusals.first { $0.0.allSatisfy(words.contains) }?.1
    }

    func advice(_ error: ArchiveError) -> String {
        switch error {
        case .full: "free space on the disk: what was read meanwhile is read again from Kafka"
        case .readOnly:
            store.isShared
                ? "check whether the database is a replica, and whether this user may write to it"
                : "allow this process to write the file, its folder and the two files beside it"
        case .otherSchema: "run the version of Livegate that wrote it, or name another store"
        case .pooled: "name the database itself, or a pool whose sessions are its clients' (pool_mode = session)"
        case .otherServer: "name another store, or the brokers that this one was filled from"
        case .stillRead:
            store.isShared
                ? "check which node has been overwriting for so long"
                : "end what holds the file open, such as a shell or a backup"
        case .unavailable(let why) where store.isShared:
            Self.connectionAdvice(why) ?? slowAdvice
        default: slowAdvice
        }
    }

    static func text(_ error: ArchiveError) -> String {
        switch error {
        case .full: "no space is left on the disk"
        case .readOnly: "it is read-only"
        case .corrupt(let why): "it is damaged: \(why)"
        case .notAnArchive(let what): "\(what) is not an archive of Livegate, and is left unchanged"
        case .otherSchema(let found, let wanted):
            "schema \(found) is of another version of Livegate: this one knows \(wanted)"
        case .otherServer(let found, let wanted):
            "it holds events of the Kafka cluster '\(found)', and the brokers are of '\(wanted)'"
        case .pooled: "each statement may come to another session of the server, as behind PgBouncer's transaction mode"
        case .overloaded(let maximum): "\(maximum) calls wait for it already"
        case .stillRead: "another process reads what is to be overwritten"
        case .closed: "it was closed"
        case .unavailable(let why): why
        }
    }
}
