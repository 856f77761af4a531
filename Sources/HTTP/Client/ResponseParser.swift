/// The result of the bytes of a response so far.
package enum ResponseProgress: Sendable, Equatable {
    case needMore
    /// A whole head that is not interim; the first `consumed` bytes of the input belong to it. What follows is its body
    /// (``BodyReader``), or after 101 the other protocol.
    case head(ResponseHead, consumed: Int)
    case failed(ResponseFault)
}

/// Reads the head of a response, strictly, for a client. Skips interim responses other than 101 (RFC 9110 §15.2).
package struct ResponseParser: Sendable {
    private enum State {
        case statusLine
        case fields(status: Int, reason: [UInt8], HTTPVersion, [HeaderFields.Field], usedBytes: Int)
        case failed(ResponseFault)
    }

    private let limits: ResponseLimits
    private var scanner = HeadScanner()
    private var state = State.statusLine
    private var interimResponses = 0

    package init(limits: ResponseLimits = ResponseLimits()) { self.limits = limits }

    /// Whether no byte of a response has arrived yet.
    package var isEmpty: Bool {
        if case .statusLine = state { return scanner.examinedBytes == 0 && interimResponses == 0 }
        return false
    }

    package mutating func consume(_ input: Span<UInt8>) -> ResponseProgress {
        if case .failed(let fault) = state { return .failed(fault) }
        var position = 0
        do throws(ResponseFault) {
            while true {
                guard let line = try nextLine(in: input, from: &position) else { return .needMore }
                guard let head = try take(line) else { continue }
                scanner = HeadScanner()
                state = .statusLine
                if head.status >= 200 || head.status == 101 { return .head(head, consumed: position) }
                interimResponses += 1
                guard interimResponses <= ResponseLimits.maximumInterimResponses else {
                    throw .tooManyInterimResponses(limit: ResponseLimits.maximumInterimResponses)
                }
            }
        } catch {
            state = .failed(error)
            return .failed(error)
        }
    }

    private mutating func nextLine(in input: Span<UInt8>, from position: inout Int) throws(ResponseFault) -> Range<Int>?
    {
        var maximumBytes = limits.maximumLineBytes
        if case .fields(_, _, _, _, let usedBytes) = state { maximumBytes = limits.maximumHeaderBytes - usedBytes - 2 }
        switch scanner.nextLine(in: input, from: &position, alphabet: .text, maximumBytes: maximumBytes) {
        case .needMore: return nil
        case .line(let line): return line
        case .fault(let fault):
            guard case .fields = state else { throw .notHTTP }
            throw fault == .tooLong ? .headerTooLarge(limitBytes: limits.maximumHeaderBytes) : .line(fault)
        }
    }

    private mutating func take(_ line: Range<Int>) throws(ResponseFault) -> ResponseHead? {
        switch state {
        case .statusLine:
            guard let (status, reason, version) = ResponseHead.statusLine(scanner.bytes[line]) else { throw .notHTTP }
            state = .fields(status: status, reason: reason, version, [], usedBytes: 0)
            return nil
        case .fields(let status, let reason, let version, var fields, let usedBytes):
            if line.isEmpty {
                return ResponseHead(
                    status: status, reason: reason, version: version,
                    headers: HeaderFields(bytes: scanner.bytes, fields: fields))
            }
            state = .statusLine
            guard fields.count < limits.maximumHeaders else { throw .tooManyHeaders(limit: limits.maximumHeaders) }
            do throws(FieldFault) {
                fields.append(try FieldLine.parse(line, in: scanner.bytes))
            } catch {
                throw .field(error)
            }
            state = .fields(
                status: status, reason: reason, version, fields, usedBytes: usedBytes + line.count + 2)
            return nil
        case .failed(let fault):
            throw fault
        }
    }
}
