import Archive
import GatewaySettings
import Reactor

/// Opens the store, and handles its errors.
extension ArchiveFeeder {
    func open(_ server: String) async {
        do throws(ArchiveError) {
            let opened = try await ArchiveStores.open(
                settings.store, passwordFile: settings.passwordFile, server: server, moved: moved)
            store = opened
            keeping = ArchiveKeeping()
            overwriteError = nil
            keptFrom = nil
            claimedPartitions = nil
            report.opened()
        } catch {
            await fail(error)
        }
    }

    /// A call of the store has succeeded.
    func recover(hasStored: Bool) {
        let waitsSince = feed.waitsSince(ofAll: true)
        // If a node holds no partition, another one has to store what waits: it is well as soon as its questions are.
        let (isWell, isNews) = trouble.pass(hasStored: hasStored, waits: feed.waitsSince(ofAll: false) != nil)
        if isNews { report.recovered() }
        let now = Self.now
        if isWell { report(StoreTrouble.why(waitingMilliseconds: waitsSince.map { now - min(now, $0) })) }
    }

    func fail(_ error: ArchiveError) async {
        feed.disclaim()
        claimedPartitions = nil
        claimsAt = 0
        counters.count { $0.errors += 1 }
        counters.setWaitsSince(feed.waitsSince(ofAll: true))
        switch error {
        case .corrupt(let why) where !settings.store.isShared: return await setAside(why)
        case .otherSchema, .pooled:
            report(ArchiveReport.text(error))
            await close()
            retryAt = Self.now + StoreTrouble.refusedPause
            if trouble.refuse(error) { report.refused(error) }
            return
        case .notAnArchive:
            report(ArchiveReport.text(error))
            await close()
            retryAt = .max
            return failure(.settings("archive.store: \(ArchiveReport.text(error))"))
        case .otherServer, .closed: await close()
        default: break
        }
        retryAt = Self.now + trouble.fail()
        report(ArchiveReport.text(error))
        report.trouble(error, now: Self.now)
    }

    private func close() async {
        access.close()
        let closing = store
        // A running call is no error of an open store.
        store = nil
        await closing?.close()
    }

    /// A damaged file gets another name, and a new file is filled from Kafka.
    private func setAside(_ why: String) async {
        await close()
        guard case .sqlite(let path) = settings.store else { return }
        _ = trouble.fail()
        report("the file is damaged: \(why)")
        if let moment = damage.begin(now: Self.now) {
            retryAt = moment
            return report.trouble(.corrupt(why), now: Self.now)
        }
        do throws(ArchiveError) {
            let other = try SQLiteArchive.setAside(path: path, moment: WallClock.milliseconds)
            report.setAside(why, as: other)
        } catch {
            retryAt = Self.now + StoreTrouble.longestPause
            report.trouble(error, now: Self.now)
        }
        intake.ring()
    }
}

/// When a file was set aside.
struct DamagedFiles {
    /// The time between two files: so a disk that damages each of them is not filled, nor Kafka read over and over.
    static let pauseMilliseconds: UInt64 = 60_000

    private var lastAt: UInt64?

    /// Nil: a file may be set aside now, and counts as set aside. Otherwise the moment from which one may be. Monotonic, in ms.
    mutating func begin(now: UInt64) -> UInt64? {
        if let lastAt, now < lastAt + Self.pauseMilliseconds { return lastAt + Self.pauseMilliseconds }
        lastAt = now
        return nil
    }
}

extension ArchiveStoreSetting {
    /// Whether several nodes write into it, each some of the partitions.
    var isShared: Bool { if case .postgresql = self { true } else { false } }

    /// The store's name for an operator.
    var text: String {
        switch self {
        case .off: ""
        case .sqlite(let path): path
        case .postgresql(let uri): uri
        }
    }
}
