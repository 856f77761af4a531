import Archive
import LiveUpdates
import TestHarness

/// A store that says what a test wants it to, when the test wants it to.
final class ScriptedStore: ArchiveStore {
    enum Say: Sendable {
        /// An answer of these positions.
        case stored(Int64)
        case fails(ArchiveError)
        /// Nothing, as long as it says so.
        case hangs
    }

    let say: Shared<Say>
    let marks = Shared<[ReadMark]>([])
    /// What was asked and is not answered yet.
    let open = Shared(0)
    /// All that was asked, by account.
    let asked = Shared<[String]>([])
    let outcome = Shared(MarkOutcome.moved)

    init(_ say: Say) { self.say = Shared(say) }

    private func answer(_ account: Account? = nil) async throws(ArchiveError) -> [StoredPosition] {
        if let account { asked.update { $0.append(account.text) } }
        open.update { $0 += 1 }
        defer { open.update { $0 -= 1 } }
        while true {
            switch say.value {
            case .stored(let next): return [StoredPosition(topic: "t", partition: 0, next: next)]
            case .fails(let error): throw error
            case .hangs:
                _ = try? await eventually {
                    if case .hangs = say.value { false } else { true }
                }
            }
        }
    }

    func page(_ query: PageQuery) async throws(ArchiveError) -> EventPage {
        var page = EventPage()
        page.positions = try await answer(query.account)
        return page
    }

    func inbox(_ query: InboxQuery) async throws(ArchiveError) -> InboxPage {
        var page = InboxPage()
        page.positions = try await answer(query.account)
        return page
    }

    func mark(_ mark: ReadMark) async throws(ArchiveError) -> MarkOutcome {
        _ = try await answer(mark.account)
        marks.update { $0.append(mark) }
        return outcome.value
    }

    func positions() async throws(ArchiveError) -> [StoredPosition] { try await answer() }

    func append(_ batch: ArchiveBatch) async throws(ArchiveError) -> AppendOutcome { AppendOutcome() }
    func claim(_ partitions: [ArchivePartition]) async throws(ArchiveError) -> [ClaimedPartition] { [] }
    func clock() async throws(ArchiveError) -> StoreClock { StoreClock(now: nil, horizon: -1) }
    func keep(from stamp: Int64) async throws(ArchiveError) {}
    func sweep() async throws(ArchiveError) -> Bool { false }
    func erasureEnd(
        _ account: Account, stamped stamp: Int64, readAt moment: Int64
    ) async throws(ArchiveError) -> Int64 { min(stamp, moment) }
    func erase(_ account: Account, until moment: Int64) async throws(ArchiveError) -> ErasureCounts { ErasureCounts() }
    func overwrite() async throws(ArchiveError) {}
    func isToBeOverwritten() async throws(ArchiveError) -> Bool { false }
    func size() async throws(ArchiveError) -> ArchiveSize { ArchiveSize(rows: 0, bytes: 0) }
    func close() async {}
}
