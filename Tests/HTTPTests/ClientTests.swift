// Tests: BodyReader.swift, ClientRequest.swift, ResponseHead.swift, ResponseParser.swift

import Testing

@testable import HTTP

@Suite struct `Responses for a client` {
    struct Read: Equatable {
        var head: ResponseHead?
        var fault: ResponseFault?
        var rest: [UInt8] = []
    }

    static func read(_ pieces: [[UInt8]], limits: ResponseLimits = ResponseLimits()) -> Read {
        var parser = ResponseParser(limits: limits)
        var read = Read()
        for piece in pieces {
            if read.head != nil {
                read.rest += piece
                continue
            }
            switch parser.consume(piece.span) {
            case .needMore: break
            case .head(let head, let consumed):
                read.head = head
                read.rest = Array(piece.dropFirst(consumed))
            case .failed(let fault):
                read.fault = fault
                return read
            }
        }
        return read
    }

    static func read(_ text: String, limits: ResponseLimits = ResponseLimits()) -> Read {
        read([Array(text.utf8)], limits: limits)
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nA: b\r\n\r\nrest", 200, "OK"), ("HTTP/1.0 404 Not  here\r\n\r\nrest", 404, "Not  here"),
        ("HTTP/1.1 200 \r\n\r\nrest", 200, ""), ("HTTP/1.1 200\r\n\r\nrest", 200, ""),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 101 S\r\n\r\nrest", 101,
            "S"
        ),
        ("HTTP/1.1 400 \u{FC}\r\n\r\nrest", 400, "\u{FC}"),
    ]) func `are read alike for every cut`(_ input: String, _ status: Int, _ reason: String) throws {
        for pieces in cuts(of: Array(input.utf8)) {
            let read = Self.read(pieces)
            let head = try #require(read.head)
            #expect(head.status == status && text(head.reason) == reason && text(read.rest) == "rest")
        }
    }

    @Test(arguments: [
        ("SSH-2.0-OpenSSH_9.2\r\n", ResponseFault.notHTTP), ("HTTP/2.0 200 OK\r\n", .notHTTP),
        ("HTTP/1.1 20 OK\r\n", .notHTTP), ("HTTP/1.1 200OK\r\n", .notHTTP), ("HTTP/1.1 099 OK\r\n", .notHTTP),
        ("\r\n", .notHTTP), ("\u{15}\u{3}\u{1}", .notHTTP), ("HTTP/1.1 200 OK\n", .notHTTP),
        ("HTTP/1.1 200 OK\r\nA: b\n", .line(.bareLineFeed)), ("HTTP/1.1 200 OK\r\nA: \0", .line(.controlByte(0))),
        ("HTTP/1.1 200 OK\r\nA : b\r\n", .field(.blankBeforeColon)), ("HTTP/1.1 200 OK\r\nA\r\n", .field(.noColon)),
        ("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n", .field(.folded)),
        (String(repeating: "HTTP/1.1 103 a\r\n\r\n", count: 9), .tooManyInterimResponses(limit: 8)),
    ]) func `are faulty`(_ input: String, _ fault: ResponseFault) {
        for pieces in cuts(of: Array(input.utf8)) { #expect(Self.read(pieces).fault == fault) }
    }

    @Test func `have limits`() {
        let limits = ResponseLimits(maximumLineBytes: 16, maximumHeaderBytes: 20, maximumHeaders: 2)
        func fault(_ input: String) -> ResponseFault? { Self.read(input, limits: limits).fault }
        #expect(fault("HTTP/1.1 200 123\r\nA: 123456789012345\r\n\r\n") == nil)
        #expect(fault("HTTP/1.1 200 1234\r\n") == .notHTTP)
        #expect(fault("HTTP/1.1 200 123\r\nA: 1234567890123456\r\n\r\n") == .headerTooLarge(limitBytes: 20))
        #expect(fault("HTTP/1.1 200 123\r\nA:\r\nB:\r\nC:\r\n\r\n") == .tooManyHeaders(limit: 2))
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", BodyFraming.length(5)),
        ("HTTP/1.1 200 OK\r\n\r\n", .untilClose),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .chunked), ("HTTP/1.1 204 No\r\n\r\n", .none),
        ("HTTP/1.1 101 S\r\nContent-Length: 5\r\n\r\n", .none), ("HTTP/1.1 304 N\r\nContent-Length: 5\r\n\r\n", .none),
    ]) func `tell how their body ends`(_ input: String, _ framing: BodyFraming) throws {
        #expect(try #require(Self.read(input).head).framing() == framing)
    }

    @Test(arguments: [
        ("Content-Length: 5\r\nContent-Length: 5", ResponseFault.badLength), ("Content-Length: -1", .badLength),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", .badTransferEncoding),
        ("Transfer-Encoding: gzip", .badTransferEncoding),
    ]) func `whose body has no sure end are faulty`(_ fields: String, _ fault: ResponseFault) throws {
        let head = try #require(Self.read("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n").head)
        #expect(throws: fault) { try head.framing() }
    }
}

@Suite struct `Bodies for a client` {
    static func read(_ framing: BodyFraming, _ pieces: [[UInt8]], limit: Int = 10, ends: Bool = false) throws
        -> BodyReader
    {
        var reader = BodyReader(framing, maximumBytes: limit)
        for piece in pieces { try reader.consume(piece.span) }
        if ends { try reader.end() }
        return reader
    }

    @Test(arguments: [
        (BodyFraming.length(5), "helloX", false), (.untilClose, "hello", true),
        (.chunked, "5\r\nhello\r\n0\r\n\r\nX", false),
        (.chunked, "2;a=\"b\"\r\nhe\r\n003 \r\nllo\r\n0\r\nT: v\r\nU: w\r\n\r\nX", false),
    ]) func `are whole for every cut`(_ framing: BodyFraming, _ input: String, _ ends: Bool) throws {
        for pieces in cuts(of: Array(input.utf8)) {
            let reader = try Self.read(framing, pieces, ends: ends)
            #expect(text(reader.bytes) == "hello" && reader.isDone && !reader.isTruncated)
        }
    }

    @Test func `are cut at their limit`() throws {
        for (framing, input) in [
            (BodyFraming.length(1 << 60), "12345678901"), (.chunked, "FFFFFFFFFFFFFF\r\n12345678901"),
        ] {
            let reader = try Self.read(framing, [Array(input.utf8)])
            #expect(text(reader.bytes) == "1234567890" && reader.isTruncated && reader.isDone)
        }
        #expect(try !Self.read(.untilClose, [Array("1234567890".utf8)], ends: true).isTruncated)
        #expect(try Self.read(.none, []).isDone && Self.read(.length(0), []).isDone)
    }

    @Test(arguments: ["\r\n", "g", "-1", " 5", "5\n", "5\r\nhelloX", "5\r\nhello\rX", "0000000000000000", "5;\u{1}"])
    func `in broken chunks are faulty`(_ input: String) {
        #expect(throws: ResponseFault.badChunk) { try Self.read(.chunked, [Array(input.utf8)]) }
    }

    @Test func `whose trailer never ends are faulty`() {
        let trailer = Array("0\r\n".utf8) + [UInt8](repeating: 0x61, count: 4097)
        #expect(throws: ResponseFault.badChunk) { try Self.read(.chunked, [trailer]) }
    }

    @Test func `that end early are faulty`() {
        #expect(throws: ResponseFault.truncated) { try Self.read(.length(5), [Array("hell".utf8)], ends: true) }
        #expect(throws: ResponseFault.truncated) { try Self.read(.chunked, [Array("5\r\nhello\r\n".utf8)], ends: true) }
    }
}

@Suite struct `The client's handshake` {
    static func offer() -> UpgradeOffer {
        UpgradeOffer(target: "/live/v1?a", host: "b:8080", key: "dGhlIHNhbXBsZSBub25jZQ==")
    }

    @Test func `is sent with what belongs to it`() throws {
        var offer = Self.offer()
        offer.protocols = ["livegate.v1", "x"]
        offer.extensions = "permessage-deflate"
        offer.headers = [("Authorization", "Bearer t"), ("upgrade", "h2c"), ("HOST", "evil")]
        #expect(
            text(try offer.serialized()) == """
                GET /live/v1?a HTTP/1.1\r
                Host: b:8080\r
                Upgrade: websocket\r
                Connection: Upgrade\r
                Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
                Sec-WebSocket-Version: 13\r
                Sec-WebSocket-Protocol: livegate.v1, x\r
                Sec-WebSocket-Extensions: permessage-deflate\r
                Authorization: Bearer t\r
                \r

                """)
    }

    @Test func `passes our own server's check`() throws {
        let head = try #require(parse(text(try Self.offer().serialized())).heads.first)
        #expect(throws: Never.self) { try UpgradeRequest.validate(head).get() }
    }

    @Test func `cannot be made two requests`() {
        var offer = Self.offer()
        offer.headers = [("X", "a\r\nY: b")]
        #expect(throws: RequestFault.headerValueHasControlByte(name: "X")) { try offer.serialized() }
        offer.headers = [("X Y", "a")]
        #expect(throws: RequestFault.headerNameNotToken("X Y")) { try offer.serialized() }
        offer = UpgradeOffer(target: "/ HTTP/1.1\r\nX: a", host: "a", key: "k")
        #expect(throws: RequestFault.targetNotVisibleASCII) { try offer.serialized() }
        offer = UpgradeOffer(target: "/", host: "a\nX: b", key: "k")
        #expect(throws: RequestFault.headerValueHasControlByte(name: "Host")) { try offer.serialized() }
    }

    static func answer(_ lines: String...) throws -> ResponseHead {
        let head = "HTTP/1.1 101 S\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"
        return try #require(`Responses for a client`.read(head).head)
    }

    @Test func `is agreed to`() throws {
        var offer = Self.offer()
        offer.protocols = ["a", "b"]
        offer.extensions = "permessage-deflate"
        let plain = try Self.answer("upgrade: WebSocket", "connection: x, upgrade", "sec-websocket-accept: A=")
        #expect(try offer.agreement(in: plain, accept: "A=") == UpgradeAgreement(subprotocol: nil, extensions: nil))
        let full = try Self.answer(
            "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: A=", "Sec-WebSocket-Protocol: b",
            "Sec-WebSocket-Extensions: permessage-deflate")
        #expect(
            try offer.agreement(in: full, accept: "A=")
                == UpgradeAgreement(subprotocol: "b", extensions: "permessage-deflate"))
    }

    @Test(arguments: [
        (["Connection: Upgrade", "Sec-WebSocket-Accept: A="], UpgradeFault.upgradeMissing),
        (["Upgrade: h2c", "Connection: Upgrade", "Sec-WebSocket-Accept: A="], .upgradeMissing),
        (["Upgrade: websocket", "Sec-WebSocket-Accept: A="], .connectionMissing),
        (["Upgrade: websocket", "Connection: Upgrade"], .acceptMissing),
        (["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: a="], .acceptWrong),
        (
            ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: A=", "Sec-WebSocket-Accept: A="],
            .acceptMissing
        ),
        (
            ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: A=", "Sec-WebSocket-Protocol: c"],
            .subprotocolNotOffered("c")
        ),
        (
            ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: A=", "Sec-WebSocket-Extensions: x"],
            .extensionsNotOffered
        ),
    ]) func `is not agreed to`(_ lines: [String], _ fault: UpgradeFault) throws {
        var offer = Self.offer()
        offer.protocols = ["a"]
        let head = "HTTP/1.1 101 S\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"
        let answer = try #require(`Responses for a client`.read(head).head)
        #expect(throws: fault) { try offer.agreement(in: answer, accept: "A=") }
    }
}
