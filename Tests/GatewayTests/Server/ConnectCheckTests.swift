import Fetching
import GatewaySettings
import Kafka
import LiveUpdates
import Reactor
import Testing
import Tokens

@testable import Gateway

struct ConnectCheckTests {
    static let topics: [(state: ClusterCheck.TopicState, line: String)] = [
        (.readable(partitions: 1), "[+]kafka.topics t can be read, 1 partition"),
        (.readable(partitions: 12), "[+]kafka.topics t can be read, 12 partitions"),
        (.missing, "[-]kafka.topics t does not exist: create it, or correct kafka.topics"),
        (.hidden, "[-]kafka.topics t is not shown to us: grant Describe and Read on it to our user"),
        (.unreadable, "[-]kafka.topics t may not be read: grant Read on it to our user"),
        (.unclear("nothing\ncame"), "[-]kafka.topics t: nothing\\ncame"),
    ]

    @Test(arguments: topics.indices) func `a topic that a node cannot read comes with what to do`(row: Int) {
        let (state, line) = Self.topics[row]
        #expect("\(ConnectCheck.line("kafka.topics", "t", state))" == line)
    }

    @Test func `a node needs no right to write, and who revokes is told what is missing`() {
        let lines = [true, false, nil].map { ConnectCheck.line("control.topic", "c", mayWrite: $0) }
        #expect(lines.map(\.isGood) == [true, true, true])
        #expect(lines[0].text == "c can be written, as livegate revoke does")
        #expect(lines[1].text.hasSuffix("grant Write on it to our user"))
        #expect(lines[2].text.contains("cannot check whether livegate revoke may write to it"))
    }

    @Test func `an issuer is good with keys that can be used`() {
        let source = KeySource(
            issuer: "https://id", url: "https://id/keys", authorities: nil, algorithms: [.es256],
            timing: .init(refreshMilliseconds: 1, cooldownMilliseconds: 1, maximumAgeMilliseconds: 2))
        let rows: [(answer: Result<[UInt8], FetchError>, line: String)] = [
            (.failure(.status(404)), "[-]auth.jwt https://id: https://id/keys: the answer has the status 404, not 200"),
            (.success(Array("<html>".utf8)), "[-]auth.jwt https://id: https://id/keys: the answer is no JWKS"),
        ]
        for (answer, line) in rows { #expect("\(ConnectCheck.line(source, answer))".hasPrefix(line)) }
    }

    @Test func `each thing that is named is a line, and what does not answer is told with its setting`() async throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t")
        let taken = try ListeningSocket.open(.loopback(port: 0))
        let text = """
            listen: [\(taken[0].address)]
            admin: unix:/tmp/livegate-nobody.sock
            kafka: {brokers: '\(cluster.bootstrap)', topics: t}
            auth: {anonymous: A, jwt: {issuer: i, keys_url: 'http://127.0.0.1:1/keys'}}
            archive: {store: 'postgresql://me@127.0.0.1:1/live'}
            """
        let material = try #require(Settings.load(text: Array(text.utf8), file: "gate.yaml").check(now: 0).material)
        var lines: [ConnectCheck.Line] = []
        await ConnectCheck(material) { lines.append($0) }.run()
        #expect(lines.map(\.key) == ["kafka.brokers", "kafka.topics", "auth.jwt", "archive.store", "listen"])
        #expect(lines.map(\.isGood) == [true, true, false, false, false], "\(lines)")
        #expect(lines[3].text.contains("check that PostgreSQL runs"), "\(lines)")
    }
}
