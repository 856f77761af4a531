// Tests: DeflateNegotiation.swift, DeflateParameters.swift, ExtensionList.swift

import Testing

@testable import WebSocket

@Suite struct ExtensionListTests {
    private func parse(_ text: String) -> [ExtensionElement]? { try? ExtensionListParser.parse(utf8(text)) }

    @Test func `elements, parameters and quoted values are read as RFC 6455 §9.1 writes them`() {
        #expect(
            parse("foo, bar; baz=2 ;\tqux;a=\"b\\c\" ,, mux; max=4") == [
                ExtensionElement(name: "foo", parameters: []),
                ExtensionElement(
                    name: "bar",
                    parameters: [
                        .init(name: "baz", value: "2"), .init(name: "qux", value: nil), .init(name: "a", value: "bc"),
                    ]),
                ExtensionElement(name: "mux", parameters: [.init(name: "max", value: "4")]),
            ])
    }

    @Test func `several lines are one list`() throws {
        #expect(try ExtensionListParser.parse(lines: [utf8("a;b"), utf8("c, d")]).map(\.name) == ["a", "c", "d"])
    }

    @Test(arguments: [
        "", " ", ",", ";", "a;", "a;;b", "a;b=", "a;b=\"", "a;b=\"\"", "a;b=\"x y\"", "a;b=\"x\\", "a b", "a=1", "é",
        "a;b=c d", "a;\"b\"", "a;b=\"c\"d",
    ])
    func `what is not a list is refused`(text: String) { #expect(parse(text) == nil) }

    @Test func `both sides of the limits on elements and parameters`() {
        let sixteen = Array(repeating: "a", count: 16)
        #expect(parse(sixteen.joined(separator: ","))?.count == 16)
        #expect(parse((sixteen + ["a"]).joined(separator: ",")) == nil)
        #expect(parse((["x"] + sixteen).joined(separator: ";"))?.first?.parameters.count == 16)
        #expect(parse((["x"] + sixteen + ["a"]).joined(separator: ";")) == nil)
    }
}

@Suite struct DeflateNegotiationTests {
    private let name = DeflateParameters.extensionName

    private func accept(_ policy: DeflatePolicy, _ text: String) throws -> (DeflateParameters, String)? {
        let offers = try ExtensionListParser.parse(utf8(text))
        return policy.accept(offers).map { ($0.parameters, $0.answer) }
    }

    @Test func `a plain offer gets what the policy says, and only that is named`() throws {
        let open = try #require(try accept(.accommodating, name))
        #expect(open.0 == DeflateParameters())
        #expect(open.1 == name)
        let shared = try #require(try accept(.shared, name))
        #expect(
            shared.0
                == DeflateParameters(
                    serverContextTakeover: false, clientContextTakeover: false, serverWindowBits: 8))
        #expect(shared.1 == "\(name); server_no_context_takeover; client_no_context_takeover")
    }

    @Test func `what the offer asks for is granted and named`() throws {
        let (parameters, answer) = try #require(
            try accept(
                .accommodating,
                "\(name); client_max_window_bits=9; server_max_window_bits=\"10\"; server_no_context_takeover"))
        #expect(
            parameters
                == DeflateParameters(serverContextTakeover: false, serverWindowBits: 10, clientWindowBits: 9))
        #expect(
            answer == "\(name); server_no_context_takeover; server_max_window_bits=10; client_max_window_bits=9")
    }

    @Test func `the smallest window can be given, and the shared form fits it`() throws {
        for policy in [DeflatePolicy.accommodating, .shared] {
            let agreed = try #require(try accept(policy, "\(name); server_max_window_bits=8"))
            #expect(agreed.0.serverWindowBits == 8)
            #expect(agreed.1.hasSuffix("server_max_window_bits=8"))
        }
    }

    @Test func `a client's window is chosen only where it lets us`() throws {
        var policy = DeflatePolicy.accommodating
        policy.clientWindowBits = 10
        let silent = try #require(try accept(policy, name))
        #expect(silent.0.clientWindowBits == 15 && silent.1 == name)
        let willing = try #require(try accept(policy, "\(name); client_max_window_bits"))
        #expect(willing.0.clientWindowBits == 10)
        #expect(willing.1 == "\(name); client_max_window_bits=10")
        let smaller = try #require(try accept(policy, "\(name); client_max_window_bits=9"))
        #expect(smaller.0.clientWindowBits == 9)
    }

    @Test func `an offer under a fixed window is passed over for the next`() throws {
        var policy = DeflatePolicy.shared
        policy.serverWindowBits = 12
        let agreed = try #require(
            try accept(policy, "\(name); server_max_window_bits=11, \(name); server_max_window_bits=13, \(name)"))
        #expect(agreed.0.serverWindowBits == 12)
        #expect(agreed.1.hasSuffix("server_max_window_bits=12"))
        #expect(try accept(policy, "\(name); server_max_window_bits=11") == nil)
    }

    @Test(arguments: [
        "x-other", "permessage-deflate; unknown", "permessage-deflate; server_no_context_takeover=1",
        "permessage-deflate; server_max_window_bits", "permessage-deflate; server_max_window_bits=7",
        "permessage-deflate; server_max_window_bits=16", "permessage-deflate; server_max_window_bits=08",
        "permessage-deflate; client_max_window_bits=+9", "permessage-deflate; client_max_window_bits=99999999999999999",
        "permessage-deflate; client_no_context_takeover; client_no_context_takeover", "Permessage-Deflate",
    ])
    func `an offer that breaks a rule is declined, and the next one taken`(offer: String) throws {
        #expect(try accept(.accommodating, offer) == nil)
        #expect(try accept(.accommodating, offer + ", permessage-deflate") != nil)
    }

    @Test func `a client's offer is written and its answer read`() throws {
        let offer = DeflateOffer(serverNoContextTakeover: true, serverWindowBits: 12, clientWindowBits: 11)
        #expect(
            offer.text == "\(name); server_no_context_takeover; server_max_window_bits=12; client_max_window_bits=11")
        let (parameters, answer) = try #require(try accept(.accommodating, offer.text))
        #expect(offer.read(answer: try ExtensionListParser.parse(utf8(answer))) == parameters)
        #expect(DeflateOffer().text == "\(name); client_max_window_bits")
        let shared = try #require(try accept(.shared, DeflateOffer().text))
        let read = DeflateOffer().read(answer: try ExtensionListParser.parse(utf8(shared.1)))
        // The server binds itself to a smaller window than it says; reading with the larger one serves.
        #expect(read?.serverWindowBits == 15 && read?.serverContextTakeover == false)
    }

    @Test(arguments: [
        "permessage-deflate", "permessage-deflate; server_no_context_takeover",
        "permessage-deflate; server_no_context_takeover; server_max_window_bits=13",
        "permessage-deflate; server_no_context_takeover; server_max_window_bits=12; client_max_window_bits",
        "permessage-deflate; server_no_context_takeover; server_max_window_bits=12; client_max_window_bits=12",
        "permessage-deflate; server_no_context_takeover; server_max_window_bits=12, permessage-deflate",
        "permessage-deflate; server_no_context_takeover; server_max_window_bits=12; x", "x-other",
    ])
    func `an answer that does not fit the offer is refused`(answer: String) throws {
        let offer = DeflateOffer(serverNoContextTakeover: true, serverWindowBits: 12, clientWindowBits: 11)
        #expect(offer.read(answer: try ExtensionListParser.parse(utf8(answer))) == nil)
    }
}
