import Reactor
import TLS

/// What only a transport with TLS has, so that the many plain ones do not pay for it. Confined to the transport's loop.
final class Encryption {
    /// Nil where there was no memory for it, and after the end.
    var session: TLSSession?
    /// Why TLS ended the transport; the owner gets it with the end.
    var failure: TLSFailure?
    /// What was written and is not encrypted yet.
    var plaintext = PlaintextQueue()
    /// The owner wrote something, and ``TransportOwner/transportDrained()`` is still due for it.
    var owesDrained = false
    /// The peer has finished, and the owner goes on writing: our half stays open.
    var answersPeerFinish = false

    /// Set while the handshake lasts.
    var handshakeTimer: Timer?
    /// What the peer has sent in its handshake and waits for its turn.
    var handshakeBytes: [UInt8] = []
    /// What the peer has sent instead of a handshake.
    var plainRequest: [UInt8] = []
    /// It stands in the loop's queue of handshakes.
    var isWaiting = false
    /// The socket has given its last byte, but some of them still wait for their turn in the handshake.
    var inputHasEnded = false

    init(_ session: TLSSession?) { self.session = session }
}

@available(*, unavailable) extension Encryption: Sendable {}

/// What is to be encrypted: slices of arrays that are shared and not copied until they go into a record.
struct PlaintextQueue {
    private struct Slice {
        var bytes: [UInt8]
        var start: Int
        var end: Int
        var count: Int { end - start }
    }

    // The usual transport has one slice or none, and allocates nothing for it.
    private var first: Slice?
    private var rest: [Slice] = []
    private var restStart = 0
    /// The bytes of all slices.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ bytes: [UInt8], _ range: Range<Int>) {
        guard !range.isEmpty else { return }
        count += range.count
        let slice = Slice(bytes: bytes, start: range.lowerBound, end: range.upperBound)
        if first == nil { first = slice } else { rest.append(slice) }
    }

    mutating func removeAll() { self = PlaintextQueue() }

    /// Takes out the bytes of the next record, as full as it can be, and hands them to `body`.
    ///
    /// - Parameter room: where slices are put side by side; not touched when the first one fills the record or is
    ///   all there is.
    mutating func takeRecord(_ room: inout [UInt8], _ body: (Span<UInt8>) -> Bool) -> Bool {
        guard let slice = first else { return true }
        let limit = TLSExchange.maximumRecordBytes
        if slice.count >= limit || restStart == rest.count {
            let length = min(slice.count, limit)
            drop(length)
            return body(slice.bytes.span.extracting(slice.start..<(slice.start + length)))
        }
        room.removeAll(keepingCapacity: true)
        while let slice = first, room.count < limit {
            let length = min(slice.count, limit - room.count)
            room.append(contentsOf: slice.bytes[slice.start..<(slice.start + length)])
            drop(length)
        }
        return body(room.span)
    }

    /// Takes bytes off the first slice, and the slice if it is used up.
    private mutating func drop(_ length: Int) {
        count -= length
        first!.start += length
        guard first!.count == 0 else { return }
        first = nil
        if restStart < rest.count {
            first = rest[restStart]
            restStart += 1
        }
        // The slices before `restStart` keep their arrays; the list is short-lived, so they go with it.
        if restStart == rest.count {
            rest = []
            restStart = 0
        }
    }
}
