import LiveUpdates

/// Reads a page again if the store lacks what the node had read, and keeps the page that it has until then. Decides without a
/// clock.
///
/// A page that is a moment old is right with its own cursor. So no result of a repetition removes it: not a store that is slow,
/// refuses or runs out of time, nor a node that has not read as far as the newer page. The newer page's cursor may be refused
/// (another log, erased since); only then would the older one's be refused too.
struct PageCatchUp {
    enum Step {
        /// The page is read once more, after a pause in ms.
        case again(after: UInt64)
        case answer(ArchiveBody, at: CursorText)
        case refuse
    }

    /// Before each time that the page is read once more, in ms.
    private let pauses: [UInt64]
    private var repetitions = 0
    /// What the node had read when the page was asked for first.
    private(set) var seen: UInt64?
    private var kept: (body: ArchiveBody, cursor: CursorText)?

    init(pauses: [UInt64]) { self.pauses = pauses }

    /// Whether there is a page already.
    var hasPage: Bool { kept != nil }

    /// Ingest has made the cursor of a page, or cannot.
    mutating func came(_ body: ArchiveBody, _ answer: SnapshotAnswer) -> Step {
        seen = answer.seen
        if !answer.cursor.bytes.isEmpty {
            kept = (body, answer.cursor)
        } else if answer.isBehind {
            kept = nil
        }
        guard answer.isBehind, repetitions < pauses.count else { return end() }
        repetitions += 1
        return .again(after: pauses[repetitions - 1])
    }

    /// Nothing more comes: the store has refused, or the time is up.
    func end() -> Step {
        guard let kept else { return .refuse }
        return .answer(kept.body, at: kept.cursor)
    }
}
