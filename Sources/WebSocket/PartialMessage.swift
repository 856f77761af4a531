/// A message whose last frame has not arrived yet.
struct PartialMessage: InflatedByteSink {
    /// What happens to its bytes.
    private enum Keeping {
        case nothing
        case everything
        /// Only blanks have arrived; the next byte shows whether it is an object. The value is the most bytes that are kept.
        case undecided(Int)
        case object(Int)
    }

    let kind: MessageKind
    let isCompressed: Bool
    /// The limit for messages that the owner did not ask for.
    let maximumBytes: Int
    /// When its first frame arrived; monotonic, in ms.
    let began: UInt64
    var fragments = 0
    /// Payload bytes that the frame headers announced.
    var wireBytes = 0
    /// Bytes of the message itself so far.
    private(set) var byteCount = 0
    private(set) var payload: [UInt8] = []
    private var keeping: Keeping
    private var text = UTF8Validator()

    init(kind: MessageKind, isCompressed: Bool, policy: PayloadPolicy, maximumBytes: Int, began: UInt64) {
        self.kind = kind
        self.isCompressed = isCompressed
        self.maximumBytes = maximumBytes
        self.began = began
        switch policy {
        case .deliver: keeping = .everything
        case .discard: keeping = .nothing
        case .objects(let maximum): keeping = kind == .text ? .undecided(maximum) : .nothing
        }
    }

    /// How long the message may become, according to what is known of it so far.
    var limit: Int {
        switch keeping {
        case .nothing, .everything: maximumBytes
        case .undecided(let maximum), .object(let maximum): max(maximum, maximumBytes)
        }
    }

    /// Appends bytes that were not compressed, unmasked with `mask`. The header of their frame was checked already.
    mutating func append(_ bytes: Span<UInt8>, mask: MaskKey) throws(WebSocketError) {
        try decide(bytes, mask)
        precondition(bytes.count <= limit - byteCount, "a payload over the limit that its header kept")
        byteCount += bytes.count
        if kind == .text && text.consume(bytes, mask: mask) != nil { throw .invalidText }
        keep(bytes, mask)
    }

    /// Appends inflated bytes, whose number was not announced. The bytes within the limit are checked first, so that
    /// the failure does not depend on how the data was cut.
    mutating func append(_ bytes: Span<UInt8>) throws(WebSocketError) {
        try decide(bytes, .zero)
        let room = limit - byteCount
        try append(bytes.extracting(0..<min(room, bytes.count)), mask: .zero)
        if bytes.count > room { throw tooLarge(maximumBytes + 1) }
    }

    private func tooLarge(_ bytes: Int) -> WebSocketError {
        .messageTooLarge(bytes: UInt64(bytes), limit: maximumBytes)
    }

    /// Searches for the first byte that is not a blank, before any byte is checked as text. So the failure of a message that is
    /// not an object does not depend on how it was cut.
    private mutating func decide(_ bytes: Span<UInt8>, _ mask: MaskKey) throws(WebSocketError) {
        guard case .undecided(let maximum) = keeping else { return }
        for index in bytes.indices {
            switch bytes[index] ^ mask.byte(index) {
            case 0x20, 0x09, 0x0A, 0x0D: continue
            case UInt8(ascii: "{"): keeping = .object(maximum)
            default: try keepNothing()
            }
            return
        }
    }

    private mutating func keepNothing() throws(WebSocketError) {
        keeping = .nothing
        payload = []
        let announced = isCompressed ? byteCount : wireBytes
        guard announced <= maximumBytes else { throw tooLarge(announced) }
    }

    private mutating func keep(_ bytes: Span<UInt8>, _ mask: MaskKey) {
        switch keeping {
        case .nothing: return
        case .everything:
            // A message in one piece is allocated once, at its size. A message in several pieces grows like other arrays.
            if payload.isEmpty { payload.reserveCapacity(bytes.count) }
        case .undecided(let maximum), .object(let maximum):
            guard byteCount <= maximum else {
                // It is within the limit of messages, and longer than an object that the owner wants.
                keeping = .nothing
                payload = []
                return
            }
            // An array that grows by itself may allocate twice the memory.
            let needed = payload.count + bytes.count
            if needed > payload.capacity { payload.reserveCapacity(min(maximum, max(needed, 2 * payload.count))) }
        }
        payload.append(bytes, mask: mask)
    }

    /// The event of the whole message. RFC 6455 §8.1: text that ends inside a character is not valid.
    consuming func finish() throws(WebSocketError) -> WebSocketEvent {
        guard kind == .binary || text.isComplete else { throw .invalidText }
        switch keeping {
        case .everything, .object: return .message(kind, payload)
        case .nothing: return .discarded(kind, byteCount: byteCount)
        case .undecided:
            guard byteCount <= maximumBytes else { throw tooLarge(byteCount) }
            return .discarded(kind, byteCount: byteCount)
        }
    }
}
