import Testing

@testable import Tokens

@Suite struct IntrospectionTests {
    private static let now: Int64 = 1_795_240_000

    private static func read(_ text: String) throws -> Result<Identity, TokenRefusal> {
        try Introspection.read(Array(text.utf8), about: [7], from: source(), now: now * 1000)
    }

    private static func source(
        url: String = "https://a", client: String = "c", secret: String = "", claim: String = "account_id",
        cache: UInt64 = 60_000
    ) -> IntrospectionSource {
        IntrospectionSource(
            url: url, authorities: nil, client: client, authorization: secret, accountClaim: claim,
            cacheMilliseconds: cache, timeoutMilliseconds: 1)
    }

    @Test func `an active token is who its answer says`() throws {
        let identity = try Self.read(
            #"{"active":true,"account_id":"PACC1","sub":"u1","exp":1795240100,"iat":1795230000,"jti":"t1","aud":[1],"x":{}}"#
        ).get()
        #expect(identity.account.text == "PACC1" && identity.subject == "u1" && identity.expiresAt == 1_795_240_100)
        #expect(identity.issuedAt == 1_795_230_000 && identity.tokenID == "t1")
        #expect(!identity.isOpenEnded && identity.askedToken == nil)
    }

    @Test func `without exp the answer ends, and the token is asked about once more`() throws {
        let identity = try Self.read(#"{"active":true,"account_id":42}"#).get()
        #expect(identity.account.text == "42" && identity.expiresAt == Self.now + 60 && identity.issuedAt == nil)
        #expect(identity.isOpenEnded && identity.askedToken == [7])
    }

    @Test(arguments: [0, 1, 500, 999] as [Int64], [1_000, 1_500, 60_000] as [UInt64])
    func `whoever comes back at the end of a token without exp is asked about anew`(
        milliseconds: Int64, cache: UInt64
    ) throws {
        let (source, came) = (Self.source(cache: cache), Self.now * 1000 + milliseconds)
        let text = Array(#"{"active":true,"account_id":"A"}"#.utf8)
        let verdict = try Introspection.read(text, about: [7], from: source, now: came)
        let end = try #require(try verdict.get().expiresAt) * 1000
        // The answer is kept for its time, and not any more when the token ends, which is less than a second later.
        let kept = came + Int64(source.keeps(verdict, now: came))
        #expect(kept == came + Int64(cache) && end >= kept && end < kept + 1_000)
    }

    @Test func `what another name, address or claim has said is not what this one says`() {
        let source = Self.source()
        #expect(Self.source(secret: "new", cache: 1_000).answers(as: source))
        for other in [Self.source(url: "https://b"), Self.source(client: "d"), Self.source(claim: "sub")] {
            #expect(!other.answers(as: source))
        }
    }

    static let refused: [(String, TokenRefusal)] = [
        (#"{"active":false}"#, .inactive), (#"{"active":false,"account_id":"PACC1"}"#, .inactive),
        (#"{"active":true}"#, .account), (#"{"active":true,"account_id":""}"#, .account),
        (#"{"active":true,"account_id":null}"#, .account), (#"{"active":true,"account_id":["PACC1"]}"#, .account),
        (#"{"active":true,"account_id":"a\u0000"}"#, .account),
        (#"{"active":true,"account_id":"PACC1","exp":1795240000}"#, .expired(at: 1_795_240_000)),
        (#"{"active":true,"account_id":"PACC1","exp":"1795240100"}"#, .claim(.exp)),
        (#"{"active":true,"account_id":"PACC1","exp":-1}"#, .claim(.exp)),
        (#"{"active":true,"account_id":"PACC1","exp":1795240100.5}"#, .claim(.exp)),
        (
            #"{"active":true,"account_id":"PACC1","exp":1795240100,"nbf":1795240031}"#,
            .notYetValid(before: 1_795_240_031)
        ),
        // A beginning counts without an end too.
        (#"{"active":true,"account_id":"PACC1","nbf":1795240031}"#, .notYetValid(before: 1_795_240_031)),
        (#"{"active":true,"account_id":"PACC1","nbf":"0"}"#, .claim(.nbf)),
    ]

    @Test(arguments: refused.indices) func `another one is refused, with its reason`(row: Int) throws {
        #expect(try Self.read(Self.refused[row].0).refusal == Self.refused[row].1)
    }

    @Test(
        arguments: [
            ("", .notJSON), ("{", .notJSON), ("[]", .notJSON), ("null", .notJSON), ("<html>", .notJSON),
            (#"{"active":true,"active":true}"#, .notJSON), (#"{"active":true} x"#, .notJSON), ("{}", .noActive),
            (#"{"active":"true"}"#, .noActive), (#"{"active":1}"#, .noActive), (#"{"active":null}"#, .noActive),
            (#"{"error":"invalid_client"}"#, .noActive),
        ] as [(String, Introspection.Problem)])
    func `what is no answer says nothing of the token`(text: String, problem: Introspection.Problem) {
        #expect(throws: problem) { _ = try Self.read(text) }
    }

    @Test func `an answer has at most 64 KiB`() throws {
        let text = #"{"active":true,"account_id":"PACC1"}"#
        func padded(_ count: Int) -> String { text + String(repeating: " ", count: count - text.utf8.count) }
        #expect(try Self.read(padded(65_536)).get().account.text == "PACC1")
        #expect(throws: Introspection.Problem.notJSON) { _ = try Self.read(padded(65_537)) }
    }

    // MARK: - The question

    @Test func `a token is form-encoded in the question`() {
        let question = Introspection.question(Array("a-b.c_d*e~f+g/h=i j&k%".utf8))
        #expect(
            String(decoding: question, as: UTF8.self)
                == "token=a-b.c_d*e%7Ef%2Bg%2Fh%3Di+j%26k%25&token_type_hint=access_token")
    }

    @Test func `name and secret are form-encoded before they are joined`() {
        // "my%3Aclient:s%C3%A9cret+%25" in base64.
        let line = Introspection.authorization(client: "my:client", secret: Array("sécret %".utf8))
        #expect(line == "Authorization: Basic bXklM0FjbGllbnQ6cyVDMyVBOWNyZXQrJTI1")
    }

    @Test func `an answer is kept for its time, and never past the end of its token`() throws {
        func kept(_ text: String, at milliseconds: Int64 = 0) throws -> UInt64 {
            Self.source().keeps(try Self.read(text), now: Self.now * 1000 + milliseconds)
        }
        #expect(try kept(#"{"active":true,"account_id":"A"}"#) == 60_000)
        #expect(try kept(#"{"active":true,"account_id":"A","exp":1795240059}"#) == 59_000)
        #expect(try kept(#"{"active":true,"account_id":"A","exp":1795240059}"#, at: 999) == 58_001)
        #expect(try kept(#"{"active":true,"account_id":"A","exp":1795240061}"#) == 60_000)
        #expect(try kept(#"{"active":true,"account_id":"A","exp":18446744073709551615}"#) == 60_000)
        #expect(try kept(#"{"active":false}"#) == 10_000)
    }

    @Test(arguments: [
        ("opaque", true), ("a.b", true), ("a.b.c.d", true), ("a.b.c", false), ("..", false),
        ("", false),
        ("AAAA~/+=", true),
    ])
    func `what has not the form of a JWT is asked for`(token: String, isAsked: Bool) {
        let verifier = TokenVerifier(issuers: [], introspection: Self.source())
        let refusal = verifier.verify(Array(token.utf8), now: Self.now).refusal
        #expect(refusal == (isAsked ? .undecided(.introspection(token: Array(token.utf8))) : .unknownToken))
        #expect(!verifier.letsNobodyIn)
    }
}

extension Result where Success == Identity, Failure == TokenRefusal {
    fileprivate var refusal: TokenRefusal? {
        if case .failure(let refusal) = self { refusal } else { nil }
    }
}
