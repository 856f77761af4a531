// Tests: Revocation.swift

import LiveUpdates
import Testing

@testable import Tokens

/// Values of records, byte by byte, and what a node makes of them.
@Suite struct ControlRecordTests {
    static let now: Int64 = 1_795_240_000_000

    private static func read(
        _ text: String, at timestamp: Int64? = now
    ) -> Result<ControlRecord, ControlRecord.Problem> {
        Result { () throws(ControlRecord.Problem) in try ControlRecord.read(Array(text.utf8), timestamp: timestamp) }
    }

    private static func revoke(_ target: Revocation.Target, _ before: Int64, at time: Int64 = now) -> ControlRecord {
        .revoke(Revocation(target, before: before, recordedAt: time))
    }

    private static func name(_ subject: String) -> String { TokenClaims.subject(of: Array(subject.utf8)) ?? "" }

    private static let long = String(repeating: "x", count: 255)

    static let accepted: [(String, ControlRecord)] = [
        (#"{"revoke":{"account":"A"}}"#, revoke(.account(Account("A")), 1_795_240_000)),
        (#" { "revoke" : { "account" : "A" } } "#, revoke(.account(Account("A")), 1_795_240_000)),
        (#"{"revoke":{"account":42}}"#, revoke(.account(Account("42")), 1_795_240_000)),
        (#"{"revoke":{"account":-1}}"#, revoke(.account(Account("-1")), 1_795_240_000)),
        (#"{"revoke":{"subject":"S","account":"A"}}"#, revoke(.subject(Account("A"), .init(text: "S")), 1_795_240_000)),
        (#"{"revoke":{"account":"A","subject":7}}"#, revoke(.subject(Account("A"), .init(text: "7")), 1_795_240_000)),
        (#"{"revoke":{"token":"T","before":0}}"#, revoke(.token(.init(text: "T")), 0)),
        (#"{"revoke":{"account":"A","before":1795240060}}"#, revoke(.account(Account("A")), 1_795_240_060)),
        (#"{"revoke":{"account":"\u00e9\u0041"}}"#, revoke(.account(Account("éA")), 1_795_240_000)),
        ("{\"revoke\":{\"account\":\"\(long)\"}}", revoke(.account(Account(long)), 1_795_240_000)),
        (
            "{\"revoke\":{\"account\":\"A\",\"subject\":\"\(long)\"}}",
            revoke(.subject(Account("A"), .init(text: long)), 1_795_240_000)
        ),
        (#"{"erase":{"account":"A"}}"#, .erase(Account("A"), until: now)),
        (#"{"erase":{"account":42}}"#, .erase(Account("42"), until: now)),
        ("{\"erase\":{\"account\":\"\(long)\"}}", .erase(Account(long), until: now)),
        // Longer names are kept as the hashes by which those of tokens are known, and strange ones of people.
        (
            "{\"revoke\":{\"account\":\"A\",\"subject\":\"\(long)x\"}}",
            revoke(.subject(Account("A"), .init(text: name("\(long)x"))), 1_795_240_000)
        ),
        (
            #"{"revoke":{"account":"A","subject":"\n"}}"#,
            revoke(.subject(Account("A"), .init(text: name("\n"))), 1_795_240_000)
        ),
        (
            "{\"revoke\":{\"token\":\"\(long)\"}}",
            revoke(.token(.init(text: TokenClaims.tokenID(of: Array(long.utf8)) ?? "")), 1_795_240_000)
        ),
    ]

    @Test(arguments: accepted.indices) func `what is written to the letter is done`(_ row: Int) {
        let (text, record) = Self.accepted[row]
        #expect(Self.read(text) == .success(record), "\(text)")
    }

    static let rejected: [(String, ControlRecord.Problem)] = [
        ("", .notJSON), ("{}", .nothingAsked), ("[]", .notJSON), ("null", .notJSON), ("{\"revoke\":", .notJSON),
        (#"{"revoke":{"account":"A"}} x"#, .notJSON),
        (#"{"revoke":{"account":"A"},"revoke":{"account":"B"}}"#, .notJSON),
        (#"{"revoke":{"account":"A"},"comment":"x"}"#, .unknownMember), (#"{"revok":{"account":"A"}}"#, .unknownMember),
        (#"{"Revoke":{"account":"A"}}"#, .unknownMember), (#"{"Erase":{"account":"A"}}"#, .unknownMember),
        (#"{"erase":"A"}"#, .erasure), (#"{"erase":null}"#, .erasure), (#"{"erase":{}}"#, .erasure),
        (#"{"erase":{"account":"A","account":"A"}}"#, .erasure), (#"{"erase":{"account":""}}"#, .account),
        (#"{"erase":{"account":"a\nb"}}"#, .account), (#"{"erase":{"account":1.0}}"#, .account),
        ("{\"erase\":{\"account\":\"\(long)x\"}}", .account),
        (#"{"erase":{"account":"A","subject":"S"}}"#, .unknownMember),
        (#"{"erase":{"account":"A","before":1}}"#, .unknownMember),
        (#"{"erase":{"account":"A"},"revoke":{"account":"A"}}"#, .severalAsked),
        (#"{"revoke":"A"}"#, .target), (#"{"revoke":null}"#, .target), (#"{"revoke":{}}"#, .target),
        (#"{"revoke":{"account":"A","account":"A"}}"#, .target),
        (#"{"revoke":{"account":"A","\u0061ccount":"B"}}"#, .target),
        (#"{"revoke":{"subject":"S"}}"#, .target), (#"{"revoke":{"before":1}}"#, .target),
        (#"{"revoke":{"account":"A","token":"T"}}"#, .target),
        (#"{"revoke":{"account":"A","subject":"S","token":"T"}}"#, .target),
        (#"{"revoke":{"account":"A","reason":"x"}}"#, .unknownMember),
        (#"{"revoke":{"account":""}}"#, .account), (#"{"revoke":{"account":null}}"#, .account),
        (#"{"revoke":{"account":1.0}}"#, .account), (#"{"revoke":{"account":["A"]}}"#, .account),
        (#"{"revoke":{"account":"a\nb"}}"#, .account), ("{\"revoke\":{\"account\":\"\(long)x\"}}", .account),
        (#"{"revoke":{"account":"\ud800"}}"#, .account),
        (#"{"revoke":{"account":"A","subject":7.0}}"#, .subject),
        (#"{"revoke":{"account":"A","subject":""}}"#, .subject),
        (#"{"revoke":{"account":"A","subject":null}}"#, .subject),
        (#"{"revoke":{"token":7}}"#, .token), (#"{"revoke":{"token":""}}"#, .token),
        (#"{"revoke":{"token":"a\u0000"}}"#, .token),
        (#"{"revoke":{"account":"A","before":"1"}}"#, .before), (#"{"revoke":{"account":"A","before":-1}}"#, .before),
        (#"{"revoke":{"account":"A","before":1.5}}"#, .before), (#"{"revoke":{"account":"A","before":1e9}}"#, .before),
        (#"{"revoke":{"account":"A","before":null}}"#, .before),
        (#"{"revoke":{"account":"A","before":1795240061}}"#, .beforeTooLate),
        (#"{"revoke":{"account":"A","before":18446744073709551615}}"#, .beforeTooLate),
        (#"{"revoke":{"account":"A","before":18446744073709551616}}"#, .before),
    ]

    @Test(arguments: rejected.indices) func `anything else is rejected whole, with its reason`(_ row: Int) {
        let (text, problem) = Self.rejected[row]
        #expect(Self.read(text) == .failure(problem), "\(text)")
    }

    @Test func `a record without a value, without a time or over the limit is rejected`() throws {
        #expect(throws: ControlRecord.Problem.noValue) { try ControlRecord.read(nil, timestamp: Self.now) }
        #expect(Self.read(Self.accepted[0].0, at: nil) == .failure(.noTime))
        #expect(Self.read(Self.accepted[0].0, at: -1) == .failure(.noTime))
        let pad = String(repeating: " ", count: ControlRecord.maximumBytes - Self.accepted[0].0.utf8.count)
        #expect(Self.read(Self.accepted[0].0 + pad) == .success(Self.accepted[0].1))
        #expect(Self.read(Self.accepted[0].0 + pad + " ") == .failure(.tooLarge))
        #expect(throws: ControlRecord.Problem.notJSON) { try ControlRecord.read([0xFF], timestamp: Self.now) }
    }

    @Test(
        arguments: [
            (0, 0), (1, 1), (999, 1), (1_000, 1), (1_001, 2), (1_795_240_000_001, 1_795_240_001),
            (Int64.max, Int64.max / 1000 + 1),
        ] as [(Int64, Int64)])
    func `without before the record's time counts, rounded up`(time: Int64, before: Int64) {
        let record = Self.revoke(.account(Account("A")), before, at: time)
        #expect(Self.read(#"{"revoke":{"account":"A"}}"#, at: time) == .success(record))
    }

    static let names: [(String?, String?, String?)] = [
        ("A", nil, nil), ("a\"\\\u{E9}", "S", nil), (nil, nil, "T\u{2028}"),
    ]

    @Test(arguments: names)
    func `what is written is what is read`(account: String?, subject: String?, token: String?) throws {
        func bytes(_ text: String?) -> [UInt8]? { text.map { Array($0.utf8) } }
        let value = ControlRecord.value(account: account, subject: subject, token: token)
        let target = try Revocation.Target(account: bytes(account), subject: bytes(subject), token: bytes(token))
        #expect(try ControlRecord.read(value, timestamp: Self.now) == Self.revoke(target, Self.now / 1000))
    }

    @Test(arguments: ["A", "a\"\\\u{E9}"]) func `what is written to erase is what is read`(account: String) throws {
        let record = try ControlRecord.read(ControlRecord.value(erasing: account), timestamp: Self.now)
        #expect(record == .erase(Account(account), until: Self.now))
    }

    @Test func `the key of a record is what it revokes`() {
        #expect(
            String(decoding: ControlRecord.key(account: "A", subject: "S", token: nil), as: UTF8.self)
                == #"{"account":"A","subject":"S"}"#)
        #expect(
            String(decoding: ControlRecord.value(account: nil, subject: nil, token: "T"), as: UTF8.self)
                == #"{"revoke":{"token":"T"}}"#)
    }

    @Test func `who names nothing, or too much, is told what is to be named`() {
        let rows: [(String?, String?, String?)] = [(nil, nil, nil), (nil, "S", nil), ("A", nil, "T")]
        for (account, subject, token) in rows {
            let value = ControlRecord.value(account: account, subject: subject, token: token)
            #expect(throws: ControlRecord.Problem.target) { try ControlRecord.read(value, timestamp: 0) }
        }
    }

    @Test func `each reason is a sentence of its own`() {
        let texts = Set(ControlRecord.Problem.allCases.map { "\($0)" })
        #expect(texts.count == ControlRecord.Problem.allCases.count)
    }
}
