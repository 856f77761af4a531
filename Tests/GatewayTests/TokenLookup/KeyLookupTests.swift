// Tests: KeyLookup.swift, TokenLookup.swift, TokenLookupMessages.swift

import Fetching
import Logging
import Reactor
import TestHarness
import TestTokens
import Testing
import Tokens

@testable import Gateway

/// Requests that wait for keys, and a server of keys that answers when the test says so.
@Suite struct KeyLookupTests {
    /// All of it stands on one loop.
    private final class Rig {
        let lookup: TokenLookup
        let verifier: TokenVerifier
        var requests: [FetchRequest] = []
        var answers: [Fetcher.Done] = []
        /// So often loops were told that keys may be gone.
        var withdrawals = 0

        init(_ loop: EventLoop, _ told: Shared<[TokenLookupAnswer]>, _ source: KeySource) {
            let issuer = TrustedIssuer(
                issuer: "id", audiences: [], algorithms: [.es256], accountClaim: "account_id",
                fetched: FetchedKeys(source))
            verifier = TokenVerifier(issuers: [issuer])
            var begin: LazyFetcher.Fetch?
            lookup = TokenLookup(loop: loop, fetching: LazyFetcher { begin?($0, $1) })
            begin = { [unowned self] request, done in
                requests.append(request)
                answers.append(done)
            }
            let outlet = Mailbox<TokenLookupAnswer>(loop: loop) { answers in told.update { $0 += answers } }
            lookup.open(
                verifier, outlets: [outlet], readiness: NodeReadiness(graceMilliseconds: nil),
                counters: TokenLookupCounters(), logger: Logger("test", to: SilentLog())
            ) { [unowned self] in withdrawals += 1 }
        }

        func ask(_ numbers: Range<UInt64>) {
            lookup.receive(
                numbers.map {
                    TokenLookupRequest(question: .keys(issuer: "id"), loop: 0, connection: ConnectionID(number: $0))
                })
        }

        func answer(_ result: Result<[UInt8], FetchError>) {
            for done in exchange(&answers, with: []) { done(result) }
        }
    }

    private struct Started {
        let loop: EventLoop
        let rig: LoopBound<Rig>
        let told: Shared<[TokenLookupAnswer]>

        /// In words, by what the connections were told.
        var words: [String] {
            told.value.map {
                switch $0.finding {
                case .decideAgain: "again"
                case .checked(.failure(.unavailable)): "unavailable"
                case .checked: "judged"
                }
            }
        }

        /// Until the server was asked so often in all.
        func asked(_ count: Int) async throws -> Bool {
            try await eventually { await loop.perform { [rig] in rig.value.requests.count } == count }
        }
    }

    /// With keys that were fetched once.
    private static func start() async throws -> Started {
        let loop = try EventLoop(label: "test")
        let told = Shared<[TokenLookupAnswer]>([])
        let hour: UInt64 = 3_600_000
        let source = KeySource(
            issuer: "id", url: "https://a", authorities: nil, algorithms: [.es256],
            timing: .init(refreshMilliseconds: hour, cooldownMilliseconds: hour, maximumAgeMilliseconds: hour))
        let rig = await loop.perform { LoopBound(Rig(loop, told, source), loop: loop) }
        let started = Started(loop: loop, rig: rig, told: told)
        #expect(try await started.asked(1))
        return started
    }

    private static let keys = Array("{\"keys\":[\(TokenForge.webKey(.p256, .p256, more: ",\"kid\":\"a\""))]}".utf8)

    @Test(arguments: [0, 7] as [UInt32])
    func `an answer names who asked, and as which time its stream did`(recheck: UInt32) {
        let request = TokenLookupRequest(
            question: .keys(issuer: "id"), loop: 1, connection: ConnectionID(number: 5), recheck: recheck)
        let answer = TokenLookupAnswer(request, .decideAgain)
        #expect(answer.connection == ConnectionID(number: 5) && answer.recheck == recheck)
    }

    @Test func `a server of keys has five seconds and one MiB`() async throws {
        let started = try await Self.start()
        let request = await started.loop.perform { [started] in started.rig.value.requests[0] }
        #expect(request.url == "https://a" && request.body == nil)
        #expect(request.timeoutMilliseconds == 5_000 && request.maximumBytes == 1 << 20)
        await started.loop.stopped()
    }

    @Test func `a thousand wait for one fetch, one more is refused, and within the cooldown nobody waits`() async throws
    {
        let started = try await Self.start()
        await started.loop.perform { [started] in
            // Before the first keys nobody waits.
            started.rig.value.ask(0..<1)
            started.rig.value.answer(.success(Self.keys))
        }
        #expect(try await eventually { started.words == ["unavailable"] })
        // The answer was given before this has its turn.
        await started.loop.perform { [started] in started.rig.value.ask(1..<1_002) }
        #expect(try await started.asked(2))
        #expect(try await eventually { started.words == ["unavailable", "unavailable"] })
        #expect(started.told.value.last?.connection == ConnectionID(number: 1_001))
        await started.loop.perform { [started] in started.rig.value.answer(.success(Self.keys)) }
        #expect(try await eventually { started.words.count == 1_002 })
        #expect(started.words.dropFirst(2).allSatisfy { $0 == "again" })
        #expect(Set(started.told.value.dropFirst(2).map(\.connection.number)) == Set(1...1_000))
        // Their places are free again, and the server is not asked for them.
        await started.loop.perform { [started] in started.rig.value.ask(2_000..<3_100) }
        #expect(try await eventually { started.words.count == 2_102 })
        #expect(started.words.suffix(1_100).allSatisfy { $0 == "again" })
        let requests = await started.loop.perform { [started] in started.rig.value.requests.count }
        #expect(requests == 2)
        await started.loop.stopped()
    }

    private static func set(_ keys: String...) -> [UInt8] { Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8) }

    @Test func `loops are told when a key may be gone, and the set is fetched whenever settings are read again`()
        async throws
    {
        let started = try await Self.start()
        func key(_ key: TestKey, _ name: String) -> String {
            TokenForge.webKey(key, .p256, more: ",\"kid\":\"\(name)\"")
        }
        for (index, (set, withdrawals)) in [
            (Self.set(key(.p256, "a")), 1), (Self.set(key(.p256, "a")), 1),
            (Self.set(key(.otherP256, "b"), key(.p256, "a")), 1), (Self.set(key(.p256, "a")), 2),
            (Self.set(key(.otherP256, "a")), 3), (Self.set(key(.otherP256, "a")), 3),
        ].enumerated() {
            await started.loop.perform { [started] in
                started.rig.value.answer(.success(set))
                started.rig.value.lookup.adopt(started.rig.value.verifier)
            }
            // The next fetch begins behind the answer.
            #expect(try await started.asked(index + 2))
            let told = await started.loop.perform { [started] in started.rig.value.withdrawals }
            #expect(told == withdrawals, "\(index)")
        }
        await started.loop.stopped()
    }

    @Test func `who waits for a fetch that fails is told so, and the keys of before count on`() async throws {
        let started = try await Self.start()
        await started.loop.perform { [started] in started.rig.value.answer(.success(Self.keys)) }
        await started.loop.perform { [started] in started.rig.value.ask(0..<3) }
        #expect(try await started.asked(2))
        await started.loop.perform { [started] in started.rig.value.answer(.failure(.stopped)) }
        #expect(try await eventually { started.words == ["unavailable", "unavailable", "unavailable"] })
        await started.loop.perform { [started] in started.rig.value.ask(3..<4) }
        #expect(try await eventually { started.words.last == "again" })
        await started.loop.stopped()
    }
}
