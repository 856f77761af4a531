/// What `livegate map` does: it reads lines of records or bare values, and writes for each a line with its outcome.
///
/// Bytes come in pieces of any size; lines end with LF, the last one also with the input. Confined to one thread.
package final class MapLines {
    /// Bytes of a line without its end. A record of 10 MB is at most six times as long as a line, when every byte of it has to be
    /// escaped; a longer line is answered and skipped without being kept.
    package static let maximumLineBytes = 64 << 20

    private let mapper: EventMapper
    private let longest: Int
    private var line: [UInt8] = []
    private var isTooLong = false

    package init(_ mapping: EventMapping, maximumLineBytes: Int = MapLines.maximumLineBytes) {
        mapper = EventMapper(mapping)
        longest = maximumLineBytes
    }

    /// Reads the next bytes of the input and appends the answers to the lines that they end.
    package func consume(_ bytes: Span<UInt8>, into output: inout [UInt8]) {
        for index in bytes.indices {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\n") {
                endLine(into: &output)
            } else if line.count < longest {
                line.append(byte)
            } else {
                isTooLong = true
            }
        }
    }

    /// Ends the input: answers a last line that has no end of its own.
    package func finish(into output: inout [UInt8]) {
        if !line.isEmpty || isTooLong { endLine(into: &output) }
    }

    private func endLine(into output: inout [UInt8]) {
        if isTooLong {
            append(.skip(.notJSON, why: .malformedLine("line too long: over \(longest) bytes")), to: &output)
        } else {
            append(outcome(of: line), to: &output)
        }
        isTooLong = false
        if line.capacity > JSONReader.retainedBytes { line = [] } else { line.removeAll(keepingCapacity: true) }
    }

    /// The outcome of one line, which has no line end.
    package func outcome(of line: [UInt8]) -> MappingOutcome {
        let isBlank = line.allSatisfy {
            $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r")
        }
        if isBlank { return .skip(.notJSON, why: .json(.empty)) }
        // What is not JSON at all is a bare value, and the mapping reports what is wrong with it.
        guard let document = try? JSONDocument(line, limits: .record, tapedDepth: RecordLine.depth) else {
            return mapper.map(RecordLine(bareValue: line))
        }
        do throws(RecordLine.Malformed) {
            return mapper.map(try RecordLine(document.root) ?? RecordLine(bareValue: line))
        } catch {
            return .skip(.notJSON, why: .malformedLine(error.problem))
        }
    }

    private func append(_ outcome: MappingOutcome, to output: inout [UInt8]) {
        switch outcome {
        case .event(let account, let event):
            append(account, event, to: &output)
            if let left = mapper.left {
                WireMessage.append(",\"left\":", to: &output)
                append(left.account, left.event, to: &output)
                WireMessage.append("}", to: &output)
            }
        case .skip(let reason, let why):
            WireMessage.append("{\"skip\":", to: &output)
            WireMessage.appendString(reason.rawValue, to: &output)
            WireMessage.append(",\"why\":", to: &output)
            WireMessage.appendString(why.description, to: &output)
        }
        WireMessage.append("}\n", to: &output)
    }

    /// Without its end.
    private func append(_ account: Account, _ event: ThinEvent, to output: inout [UInt8]) {
        WireMessage.append("{\"account\":", to: &output)
        WireMessage.appendString(account.text, to: &output)
        WireMessage.append(",\"message\":", to: &output)
        WireMessage.appendPlain(event, to: &output)
    }
}

@available(*, unavailable)
extension MapLines: Sendable {}
