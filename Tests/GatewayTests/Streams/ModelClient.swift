import HTTP
import LiveUpdates
import Testing

@testable import Gateway

/// Judges what a client reads: nothing that passes its filter lies between its cursor and one that it is given, unless it
/// was given before; nothing comes twice or out of order.
final class ModelClient {
    struct Cursor: Equatable {
        let epoch: Int
        let number: UInt64

        init(_ text: [UInt8]) {
            let parts = String(decoding: text, as: UTF8.self).split(separator: ".")
            epoch = Int(parts[0]) ?? 0
            number = UInt64(parts[1]) ?? 0
        }
    }

    private let parameters: LiveParameters?
    private let entities: EntityFilter?
    private let receiver: ClientReceiver?
    private let since: Cursor?
    private let hasControls: Bool
    /// What passes the filter, by epoch.
    private var owed: [Int: [UInt64]] = [:]
    /// Read up to here; nil before the first cursor, or the first event of a stream without.
    private var base: Cursor?
    private var lastChanged: UInt64?
    private(set) var answers = 0
    private(set) var closedBecause: String?
    private(set) var texts: [String] = []
    /// Whether the log reached back to the client's cursor when it joined.
    var mayExpire = false
    private var newestEpoch = 1
    /// Of every event: a message without a cursor does not say it.
    private var epochs: [UInt64: Int] = [:]

    init(_ head: RequestHead, _ carrier: StreamForm.Carrier) throws {
        let isSync = head.path == "/sync/v1"
        parameters = isSync ? nil : try LiveParameters.parse(head, isEventStream: carrier == .eventStream)
        entities = try ParameterReading(head).entities("ent")
        receiver = isSync ? nil : ClientReceiver(carrier)
        since = try ParameterReading(head).cursor("since").map(Cursor.init)
        hasControls = parameters?.wantsCursors ?? true
        base = since
    }

    /// Ingest has let the client in: it gets everything from here on.
    func joined(at cursor: CursorText) { base = base ?? Cursor(cursor.bytes) }

    /// Positions have lost their meaning.
    func reset(epoch: Int) { newestEpoch = epoch }

    func happened(_ event: LoggedEvent, epoch: Int) {
        epochs[event.sequence] = epoch
        if entities?.passes(event.event.entity) ?? true { owed[epoch, default: []].append(event.sequence) }
    }

    // MARK: - A stream

    func receive(_ bytes: [UInt8], now: UInt64) {
        for text in receiver?.receive(bytes) ?? [] { read(text, now) }
    }

    private func read(_ text: String, _ now: UInt64) {
        texts.append(text)
        let cursor = Self.cursor(in: text)
        if text.contains("resync") {
            // What is missed is fetched elsewhere; everything after the cursor follows.
            base = cursor
        } else if text.contains("changed") {
            if let lastChanged { #expect(now - lastChanged >= 1_000, "signals come too fast: \(texts)") }
            lastChanged = now
            // The client fetches what there is up to here.
            if let cursor { accept(cursor, isSignal: true) }
        } else if let number = Self.text(after: #""id":""#, in: text).flatMap({ UInt64($0) }) {
            accept(event: number, epoch: epochs[number] ?? 0)
            if let cursor { #expect(cursor.number == number && cursor.epoch == epochs[number]) }
        } else if let cursor {
            accept(cursor, isSignal: false)
        }
    }

    private static func cursor(in text: String) -> Cursor? {
        let found = Self.text(after: #""at":""#, in: text) ?? Self.text(after: " id=", in: text)
        return found.map { Cursor(Array($0.utf8)) }
    }

    /// The digits and dots behind the first `mark`. By bytes: a regular expression takes most of the test's time.
    private static func text(after mark: String, in text: String) -> String? {
        let (bytes, mark) = (Array(text.utf8), Array(mark.utf8))
        guard bytes.count > mark.count else { return nil }
        for start in 0..<(bytes.count - mark.count) where bytes[start..<(start + mark.count)].elementsEqual(mark) {
            let rest = bytes[(start + mark.count)...].prefix { $0 == 0x2E || (0x30...0x39).contains($0) }
            return String(decoding: rest, as: UTF8.self)
        }
        return nil
    }

    private func accept(event number: UInt64, epoch: Int) {
        if let base, base.epoch == epoch {
            let next = owed[epoch]?.first { $0 > base.number }
            #expect(next == number, "event \(number) after \(base.number), where \(next ?? 0) is owed: \(texts)")
        } else {
            Issue.record("an event of another epoch without a resync: \(texts)")
        }
        base = Cursor(Array("\(epoch).\(number)".utf8))
    }

    private func accept(_ cursor: Cursor, isSignal: Bool) {
        if let base, !isSignal {
            #expect(base.epoch == cursor.epoch, "a cursor of another epoch without a resync: \(texts)")
            let missed = owed[cursor.epoch]?.first { $0 > base.number && $0 <= cursor.number }
            #expect(missed == nil, "a cursor beyond event \(missed ?? 0), which is still owed: \(texts)")
        }
        if let base, isSignal { #expect(base.epoch == cursor.epoch && cursor.number >= base.number, "\(texts)") }
        base = cursor
    }

    func closed(byStream why: String) { closedBecause = why }

    /// Nothing happens any more: nothing is owed.
    func expectNothingOwed() {
        guard closedBecause == nil, let base else { return }
        #expect(base.epoch == newestEpoch || owed[newestEpoch] == nil, "it was never told of the reset: \(texts)")
        let missed = owed[newestEpoch]?.first { base.epoch == newestEpoch && $0 > base.number }
        #expect(missed == nil, "event \(missed ?? 0) never came: \(texts)")
    }

    // MARK: - A poll

    func answered(_ body: String) {
        answers += 1
        texts.append(body)
        guard let since else { return }
        base = since
        for match in body.matches(of: /"id":"(\d+)","type":"t","at":"(\d+)\./) {
            accept(event: UInt64(match.1) ?? 0, epoch: Int(match.2) ?? 0)
        }
        if let at = body.firstMatch(of: /\],"at":"(\d+\.\d+)"/) { accept(Cursor(Array(at.1.utf8)), isSignal: false) }
    }

    func refused(_ why: ResyncReason) {
        answers += 1
        texts.append("410 \(why)")
        // Nobody waits in vain for what does not concern them: only what was missed before, or a reset, is a reason.
        #expect(why == .epoch ? since?.epoch != newestEpoch : mayExpire, "refused for \(why)")
    }
}
