/// The result of one search for the next line.
enum LineProgress {
    case needMore
    /// A complete line. The range, without the CRLF, is a range of the scanner's bytes.
    case line(Range<Int>)
    case fault(LineFault)
}

/// What is wrong with a line, before its meaning is read.
package enum LineFault: Error, Equatable, Sendable {
    case bareLineFeed
    case bareCarriageReturn
    case controlByte(UInt8)
    case nonASCII(UInt8)
    case tooLong
}

/// Cuts the bytes of a head into lines that end with CRLF, and keeps them.
///
/// Every byte is scanned once, however the input is cut: an incomplete line is remembered, not scanned again.
/// A line that is too long is refused at the first byte over the limit, before that byte is stored.
struct HeadScanner {
    /// Which bytes a line may hold besides visible ASCII and SP.
    enum Alphabet {
        /// Request lines: nothing else.
        case visible
        /// Fields and status lines: HTAB and bytes from 0x80 on too (RFC 9110 §5.5, obs-text).
        case text
    }

    /// The bytes of all lines so far, without their line ends.
    private(set) var bytes: [UInt8] = []
    /// How many bytes were scanned. A test uses it to show that the work is linear.
    private(set) var examinedBytes = 0
    private var lineStart = 0
    private var sawCarriageReturn = false

    /// Continues at `position` until a line is complete.
    ///
    /// - Parameters:
    ///   - position: where to continue in `input`. Afterwards it is behind the last byte used.
    ///   - maximumBytes: the longest line allowed, without its CRLF.
    mutating func nextLine(
        in input: Span<UInt8>, from position: inout Int, alphabet: Alphabet, maximumBytes: Int
    ) -> LineProgress {
        let start = position
        defer { examinedBytes += position - start }
        while position < input.count {
            if sawCarriageReturn {
                position += 1
                guard input[position - 1] == ASCII.lineFeed else { return .fault(.bareCarriageReturn) }
                sawCarriageReturn = false
                let line = lineStart..<bytes.count
                lineStart = bytes.count
                return .line(line)
            }
            // The plain bytes up to the next one with a special meaning are stored at once.
            let room = maximumBytes - (bytes.count - lineStart)
            let run = Self.plainRun(in: input, from: position, atMost: room, alphabet)
            append(input.extracting(position..<(position + run)))
            position += run
            guard position < input.count else { return .needMore }
            let byte = input[position]
            position += 1
            if byte == ASCII.carriageReturn {
                sawCarriageReturn = true
            } else if let fault = Self.fault(byte, alphabet) {
                return .fault(fault)
            } else {
                return .fault(.tooLong)
            }
        }
        return .needMore
    }

    /// How many bytes from `start` on may be stored. A CR is never one of them.
    private static func plainRun(
        in input: Span<UInt8>, from start: Int, atMost room: Int, _ alphabet: Alphabet
    ) -> Int {
        let end = start + min(max(room, 0), input.count - start)
        var index = start
        while index < end, fault(input[index], alphabet) == nil { index += 1 }
        return index - start
    }

    private mutating func append(_ run: Span<UInt8>) {
        guard !run.isEmpty else { return }
        bytes.append(addingCapacity: run.count) { room in
            for index in 0..<run.count { room.append(run[index]) }
        }
    }

    /// RFC 9112 §2.2: some parsers accept a bare LF as a line end. Request smuggling exploits that difference between parsers.
    /// RFC 9110 §5.5: CR, LF and NUL in a field are dangerous. So all of these bytes are faults.
    private static func fault(_ byte: UInt8, _ alphabet: Alphabet) -> LineFault? {
        if byte >= ASCII.space && byte < ASCII.delete { return nil }
        if byte == ASCII.lineFeed { return .bareLineFeed }
        if byte >= 0x80 { return alphabet == .text ? nil : .nonASCII(byte) }
        if byte == ASCII.horizontalTab && alphabet == .text { return nil }
        return .controlByte(byte)
    }
}
