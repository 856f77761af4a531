import CZlib

/// Receives the output of an `Inflater`. When it throws, the inflation ends.
protocol InflatedByteSink {
    mutating func append(_ bytes: Span<UInt8>) throws(WebSocketError)
}

/// Decompresses messages (RFC 7692 §7.2.2).
///
/// The window limits the memory, whatever the input is: output is delivered in chunks of `chunkBytes`, and the sink stops it
/// at its limit. Owns one `z_stream`, on the heap because zlib keeps the address.
///
/// A reference further back than the agreed window may still be accepted: zlib reads it from the present output, and only
/// older bytes from the window. So it depends on how the bytes were cut. Only the sender must respect the window (RFC 7692
/// §7.1.2), and all bytes that are read were sent by that sender on this connection.
@safe struct Inflater: ~Copyable {
    /// How many bytes are unmasked or inflated at a time: enough to be worth a call into zlib, and small beside a window.
    private static let chunkBytes = 4096

    /// The bytes that a sender omits at the end of each message (RFC 7692 §7.2.1).
    static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]

    private let stream: UnsafeMutablePointer<z_stream>
    /// The buffer for the bytes that zlib inflates.
    private let output: UnsafeMutableBufferPointer<UInt8>
    /// Bytes of the current message so far.
    private var messageBytes = 0
    /// The last byte read ended a block that was marked as the last one.
    private var hasJustEnded = false
    private var isAtBlockEnd = false

    /// - Parameter windowBits: the value agreed with the sender, 8 to 15. zlib's own deflater announces 8 and uses 9, so the
    ///   window for reading is at least 9.
    init(windowBits: Int) throws(WebSocketError) {
        precondition((8...15).contains(windowBits))
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let status = unsafe zlib_inflate_init_raw(stream, Int32(max(windowBits, 9)))
        guard status == Z_OK else {
            unsafe stream.deallocate()
            throw .zlib(status)
        }
        unsafe self.stream = stream
        unsafe output = .allocate(capacity: Self.chunkBytes)
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
        unsafe output.deallocate()
    }

    /// Starts again, for another sender.
    mutating func reset(windowBits: Int) throws(WebSocketError) {
        (messageBytes, hasJustEnded, isAtBlockEnd) = (0, false, false)
        let status = unsafe inflateReset2(stream, -Int32(max(windowBits, 9)))
        guard status == Z_OK else { throw .zlib(status) }
    }

    /// Inflates more of a message. `input` is unmasked with `mask`.
    ///
    /// - Throws: `.invalidDeflate`, or the error of `sink`. After that the inflater cannot be used any more.
    mutating func inflate(
        _ input: Span<UInt8>, mask: MaskKey = .zero, into sink: inout some InflatedByteSink
    ) throws(WebSocketError) {
        messageBytes += input.count
        var plain: [UInt8] = []
        plain.reserveCapacity(min(input.count, Self.chunkBytes))
        var position = 0
        while position < input.count {
            let end = min(position + Self.chunkBytes, input.count)
            plain.removeAll(keepingCapacity: true)
            plain.append(input.extracting(position..<end), mask: mask.advanced(by: position))
            try inflate(plain: plain.span, into: &sink)
            position = end
        }
    }

    /// Ends a message: adds the tail that the sender omitted, and throws where the data was incomplete.
    ///
    /// - Parameter keepsWindow: whether the next message may refer to this one.
    mutating func finishMessage(
        keepsWindow: Bool, into sink: inout some InflatedByteSink
    ) throws(WebSocketError) {
        // Some senders send no data for an empty message; RFC 7692 §7.2.3.6 requires one byte. And data that ends with a last
        // block has nothing to which the tail could belong (§7.2.3.4 adds a byte for it).
        if messageBytes > 0 && !hasJustEnded {
            try inflate(plain: Self.tail.span, into: &sink)
            guard isAtBlockEnd else { throw .invalidDeflate }
        }
        messageBytes = 0
        hasJustEnded = false
        if !keepsWindow { unsafe inflateReset(stream) }
    }

    private mutating func inflate(
        plain: Span<UInt8>, into sink: inout some InflatedByteSink
    ) throws(WebSocketError) {
        var used = 0
        var isFull = false
        repeat {
            let step = step(input: plain.extracting(used..<plain.count))
            // zlib returns a buffer error when there is nothing left to do: all input is used, all output delivered.
            if step.status == Z_BUF_ERROR && step.used == 0 && step.given == 0 { return }
            // Output before invalid data is delivered first, so that the failure does not depend on how the data was cut.
            if step.given > 0 { try sink.append(unsafe UnsafeBufferPointer(output).span.extracting(0..<step.given)) }
            guard step.status == Z_OK || step.status == Z_STREAM_END else { throw .invalidDeflate }
            hasJustEnded = step.status == Z_STREAM_END
            // RFC 7692 §7.2.3.4: a sender may mark a block as the last of its stream; another stream follows.
            if hasJustEnded { unsafe inflateReset(stream) }
            used += step.used
            isFull = step.given == Self.chunkBytes
        } while used < plain.count || isFull
    }

    private struct Step {
        let status: Int32
        let used: Int
        let given: Int
    }

    private mutating func step(input: Span<UInt8>) -> Step {
        let room = Self.chunkBytes
        let status = unsafe input.withUnsafeBufferPointer { source in
            unsafe stream.pointee.next_in = source.baseAddress
            unsafe stream.pointee.avail_in = UInt32(source.count)
            unsafe stream.pointee.next_out = output.baseAddress
            unsafe stream.pointee.avail_out = UInt32(room)
            return unsafe CZlib.inflate(stream, Z_SYNC_FLUSH)
        }
        // zlib.h: 128 is added when inflate() has stopped directly after a block, before the header of the next one.
        unsafe isAtBlockEnd = stream.pointee.data_type & 128 != 0
        return unsafe Step(
            status: status, used: input.count - Int(stream.pointee.avail_in),
            given: room - Int(stream.pointee.avail_out))
    }
}
