import FuzzSupport
import LiveUpdates

private let account = Account("A1")

/// A node that has read a little, so that a cursor is judged by every rule.
private func makeHistory() -> History {
    let limits = HistoryLimits(
        retentionMilliseconds: 3_600_000, maximumEventsPerAccount: 1_000, maximumLogBytes: 1 << 20,
        maximumTimestampDelayMilliseconds: 60_000)
    let history = History(epoch: Epoch(number: 7), limits: limits)
    let partition = PartitionName(topic: 0, number: 0)
    history.apply(partition, LogFacts(start: 0, liveFrom: 0, born: 1_000, known: 1_000, next: 0, end: 100, endAsked: 1))
    for offset in 0..<10 {
        history.append(
            ThinEvent(entity: "e", id: "\(offset)", type: "t"), account: account, partition: partition,
            offset: Int64(offset), timestamp: 1_000, now: 1_000)
    }
    return history
}

/// The input is a cursor as somebody may send it, and the inside of one as nobody can: with a checksum that fits.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let bytes = unsafe fuzzInput(start, count)
    let history = makeHistory()
    judge(bytes, history)
    judge(CursorText(sealing: bytes).bytes, history)
    return 0
}

private func judge(_ text: [UInt8], _ history: History) {
    let answer = history.resume(text, account: account, now: 2_000, ends: .unknown)
    guard let cursor = Cursor(text) else {
        if case .refused(.invalid) = answer { return }
        fatalError("what cannot be read is invalid")
    }
    require(cursor.text.bytes == text, "a cursor has one text")
    require(cursor.positions.count <= Cursor.maximumPositions, "the limit on positions holds")
    guard case .accepted(let position, _) = answer else { return }
    let page = history.read(
        account: account, from: position, limit: 3, entities: nil, now: 2_000, withCursors: true)
    guard case .page(let events, let rest, _) = page else { fatalError("what was accepted a moment ago is lost") }
    for event in events { require(Cursor(event.at) != nil, "what is given can be read") }
    require(Cursor(history.cursor(at: rest, account: account, now: 2_000).bytes) != nil, "and so can its end")
}
