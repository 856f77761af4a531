import Archive
import LiveUpdates

// An archive whose process is killed: it is filled, one of two accounts is erased and overwritten, and more is written. What was
// done by the process before is not done again. `erased` is said when nothing is left to be overwritten, `closed` at the end.

private func batch(_ offsets: Range<Int64>, ofErased: Bool) -> ArchiveBatch {
    let events = offsets.map { offset in
        let account = ofErased && offset.isMultiple(of: 2) ? "ERASED" : "KEPT"
        // In no order, so that pages are split and rows moved.
        let event = ThinEvent(entity: "incident", id: "\(offset * 7919 % 997)-\(account)", type: "made")
        return ArchivedEvent(account: Account(account), event: event, offset: offset, stamp: offset, arrival: offset)
    }
    let stamps = ArchiveBatch.Stamps(first: offsets.lowerBound, last: offsets.upperBound - 1)
    let run = ArchiveBatch.Run(
        topic: "t", partition: 0, from: offsets.lowerBound, next: offsets.upperBound, stamps: stamps,
        events: events)
    return ArchiveBatch(runs: [run])
}

func keepArchive(_ path: String) async throws {
    let store = try await SQLiteArchive.open(path: path, server: "S", readers: 1)
    func append(upTo end: Int64, ofErased: Bool) async throws {
        while case let next = try await store.positions().first?.next ?? 0, next < end {
            _ = try await store.append(batch(next..<min(next + 100, end), ofErased: ofErased))
        }
    }
    try await append(upTo: 600, ofErased: true)
    _ = try await store.erase(Account("ERASED"), until: 600)
    try await store.overwrite()
    say("erased")
    try await append(upTo: 800, ofErased: false)
    await store.close()
    say("closed")
}
