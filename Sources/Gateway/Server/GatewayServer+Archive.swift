import Archive
import Kafka
import LiveUpdates
import Logging
import Reactor

/// What connects the loops with the archive. All of it may be used by any thread.
struct NodeArchive: Sendable {
    let intake: ArchiveIntake
    let access: ArchiveAccess
    let counters = ArchiveCounters()
    /// The connection loops send their questions here.
    let requests: ArchiveRequests

    /// - Parameter topics: as partitions number them.
    init(topics: [String]) {
        let intake = ArchiveIntake()
        self.intake = intake
        let access = ArchiveAccess(alarm: { intake.ring() })
        self.access = access
        let requests = ArchiveRequests(topics: topics) { access.report($0, of: $1) }
        self.requests = requests
        access.follow { [weak requests] in requests?.use($0) }
    }
}

/// The writer of the archive, where the settings name one.
extension GatewayServer {
    /// The time that the archive has to store what was read last, and to close. Then the node ends without it, and the next
    /// start goes on there.
    static let archiveCloseMilliseconds: UInt64 = 1_000

    func openArchive() async throws(GatewayError) {
        guard let archive else { return }
        let loops: [EventLoop]
        do throws(ReactorError) {
            loops = [try EventLoop(label: "archive asker"), try EventLoop(label: "archive reader")]
        } catch {
            throw .system(error)
        }
        let section = parts.settings.archive
        let settings = ArchiveFeeder.Settings(
            store: section.store, passwordFile: section.passwordFile,
            keepMilliseconds: Int64(section.keep.milliseconds), kafka: ConsumerSettings(parts.settings.kafka),
            mapping: parts.mapping)
        var readers: [LoopBound<BehindReader>] = []
        for loop in loops {
            readers.append(
                await loop.perform {
                    LoopBound(BehindReader(settings.kafka, settings.mapping, loop: loop), loop: loop)
                })
        }
        let feeder = ArchiveFeeder(
            settings, intake: archive.intake, access: archive.access, counters: archive.counters,
            readiness: readiness, logger: logger.named("archive"), asker: readers[0], reader: readers[1],
            moved: { archive.requests.moved($0) }, failure: failure)
        self.feeder = feeder
        await feeder.start()
    }

    /// Waits a little; without the wait nothing would be lost either.
    func closeArchive() async {
        guard let feeder else { return }
        let end = Reply<Bool>()
        Task {
            await feeder.stop()
            end.give(true)
        }
        _ = await end.value(within: Self.archiveCloseMilliseconds)
    }
}
