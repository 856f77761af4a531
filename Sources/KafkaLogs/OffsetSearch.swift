/// Searches for the offset behind an unreadable batch from which reading can go on.
///
/// How many records the batch has is not known, because its header may be what is damaged. So single records are requested: at
/// distances that double until one can be read, and then by halves backwards. The offset that is found is the first of a readable
/// batch. If several batches are unreadable, readable ones between them may be passed over: they count as lost too.
///
/// A late answer shows nothing of the batch, so an offset must be silent twice. If no error has shown that the position itself is
/// unreadable, it is requested once more at the end.
package struct OffsetSearch: Equatable, Sendable {
    /// How many offsets are requested at most: enough for 2^24 records, there and back, and some late answers.
    static let maximumSteps = 64
    static let maximumDistance: Int64 = 1 << 32

    /// Where reading has stopped. If it continues by itself, nothing needs to be found.
    let position: Int64
    /// The last of the requested offsets at which nothing could be read.
    private(set) var unreadable: Int64
    /// An offset behind that one from which something could be read, or at which the log ends.
    package private(set) var readable: Int64?
    /// The offset that was silent at its last request.
    private var silent: Int64?
    /// Whether it is known that nothing can be read at the position itself.
    private var isConfirmed: Bool
    private var distance: Int64 = 1
    private var steps = 0

    /// `isUnreadable`: nothing can be read at the position itself, and so it is not requested.
    package init(position: Int64, isUnreadable: Bool) {
        self.position = position
        isConfirmed = isUnreadable
        unreadable = isUnreadable ? position : position - 1
    }

    /// The offset to ask for next, below the log end; nil when the search is over.
    package func question(end: Int64) -> Int64? {
        guard steps < Self.maximumSteps else { return nil }
        if let readable {
            if readable - unreadable > 1 { return unreadable + (readable - unreadable) / 2 }
            return isConfirmed || readable == position ? nil : position
        }
        let next = unreadable + min(distance, end - 1 - unreadable)
        return next > unreadable ? next : nil
    }

    /// Whether everything between the position and `readable` is known to be unreadable.
    var isDecided: Bool { isConfirmed || readable == position }

    /// Adds what was found at an offset, or behind it.
    package mutating func add(_ answer: RecordAnswer, at offset: Int64) {
        let isLast = offset == position && readable != nil
        guard isLast || offset > unreadable, readable.map({ offset < $0 }) ?? true else { return }
        steps += 1
        if answer == .silent, silent != offset {
            silent = offset
            return
        }
        silent = nil
        distance = min(distance * 2, Self.maximumDistance)
        switch answer {
        case .record, .firstRecord, .end: readable = offset
        case .outOfRange, .unreadable, .silent:
            if isLast { isConfirmed = true } else { unreadable = offset }
        }
    }
}
