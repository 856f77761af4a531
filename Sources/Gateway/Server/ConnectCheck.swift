import Archive
import Fetching
import GatewaySettings
import Kafka
import Options
import PostgreSQL
import Reactor
import Tokens

/// `livegate check --connect`: checks that everything named in the settings answers, and admits this node.
package struct ConnectCheck {
    /// What was checked, by the setting that names it, and the result.
    package struct Line: Equatable, Sendable, CustomStringConvertible {
        package let key: String
        package let text: String
        package let isGood: Bool

        package init(_ key: String, _ text: String, isGood: Bool) {
            self.key = key
            self.text = text
            self.isGood = isGood
        }

        package var description: String { "\(isGood ? "[+]" : "[-]")\(key) \(text)".printable }
    }

    /// The same time as the gateway itself has for a key set.
    private static let issuerMilliseconds = 5_000
    private static let databaseMilliseconds: UInt64 = 5_000
    /// PostgreSQL 15.
    private static let minimumServerVersion = 150_000

    private let material: SettingsMaterial
    private let report: (Line) -> Void
    private var settings: Settings { material.settings }

    /// - Parameter report: called with each line as it is known.
    package init(_ material: SettingsMaterial, report: @escaping (Line) -> Void) {
        self.material = material
        self.report = report
    }

    /// Makes all checks, one after the other. It blocks, up to ten seconds for each topic.
    package func run() async {
        kafka()
        await issuers()
        database()
        ports()
    }

    private func add(_ key: String, _ text: String, isGood: Bool) { report(Line(key, text, isGood: isGood)) }

    // MARK: - Kafka

    private func kafka() {
        let key = SettingsTable.path(of: \.kafka.brokers)
        let check: ClusterCheck
        do throws(KafkaError) {
            check = try ClusterCheck(
                brokers: settings.kafka.brokers, properties: settings.kafka.settings.map { ($0.name, $0.value) })
        } catch {
            return add(SettingsTable.path(of: \.kafka.settings), "\(error)", isGood: false)
        }
        let (addresses, why) = check.brokers()
        guard let addresses else { return add(key, why ?? "no broker answers", isGood: false) }
        add(key, "\(addresses.count) answer: \(addresses.joined(separator: ", "))", isGood: true)
        for topic in settings.kafka.topics {
            report(Self.line(SettingsTable.path(of: \.kafka.topics), topic, check.topic(topic)))
        }
        guard let topic = settings.control.topic else { return }
        let control = SettingsTable.path(of: \.control.topic)
        let state = check.topic(topic)
        report(Self.line(control, topic, state))
        if case .readable = state { report(Self.line(control, topic, mayWrite: check.mayWrite(to: topic))) }
    }

    /// What a topic's state means for a node.
    static func line(_ key: String, _ topic: String, _ state: ClusterCheck.TopicState) -> Line {
        switch state {
        case .readable(let partitions):
            Line(key, "\(topic) can be read, \(partitions) partition\(partitions == 1 ? "" : "s")", isGood: true)
        case .missing: Line(key, "\(topic) does not exist: create it, or correct \(key)", isGood: false)
        case .hidden: Line(key, "\(topic) is not shown to us: grant Describe and Read on it to our user", isGood: false)
        case .unreadable: Line(key, "\(topic) may not be read: grant Read on it to our user", isGood: false)
        case .unclear(let why): Line(key, "\(topic): \(why)", isGood: false)
        }
    }

    /// A node only reads it; where revoke runs with this file, it has to be written too.
    static func line(_ key: String, _ topic: String, mayWrite: Bool?) -> Line {
        switch mayWrite {
        case true?: Line(key, "\(topic) can be written, as livegate revoke does", isGood: true)
        case false?:
            Line(
                key, "\(topic) can be read alone: where livegate revoke is to run, grant Write on it to our user",
                isGood: true)
        case nil:
            Line(
                key,
                """
                \(topic): cannot check whether livegate revoke may write to it: librdkafka \
                \(KafkaLibrary.version) or the broker does not report the rights
                """, isGood: true)
        }
    }

    // MARK: - Issuers

    private func issuers() async {
        let sources = material.verifier.issuers.compactMap { $0.fetched?.source }
        let introspection = material.verifier.introspection
        guard !sources.isEmpty || introspection != nil else { return }
        let fetcher: Fetcher
        do throws(FetchError) {
            fetcher = try Fetcher()
        } catch {
            return add("auth", "\(error)", isGood: false)
        }
        defer { fetcher.stop() }
        for source in sources {
            let request = FetchRequest(
                url: source.url, authorities: source.authorities, headers: ["Accept: application/json"],
                maximumBytes: FetchedKeySet.maximumBytes, timeoutMilliseconds: Self.issuerMilliseconds)
            report(Self.line(source, await Self.answer(fetcher, request)))
        }
        guard let introspection else { return }
        let request = IntrospectionLookup.request(introspection, Array("livegate-check".utf8))
        let key = SettingsTable.path(of: \.auth.introspection.url)
        switch await Self.answer(fetcher, request) {
        case .success: add(key, "\(introspection.url) answers", isGood: true)
        case .failure(let error): add(key, "\(introspection.url): \(error)", isGood: false)
        }
    }

    private static func answer(_ fetcher: Fetcher, _ request: FetchRequest) async -> Result<[UInt8], FetchError> {
        await withCheckedContinuation { continuation in fetcher.fetch(request) { continuation.resume(returning: $0) } }
    }

    static func line(_ source: KeySource, _ answer: Result<[UInt8], FetchError>) -> Line {
        let key = SettingsTable.path(of: \.auth.jwt)
        switch answer {
        case .failure(let error): return Line(key, "\(source.issuer): \(source.url): \(error)", isGood: false)
        case .success(let text):
            do throws(FetchedKeySet.Problem) {
                let keys = try FetchedKeySet.read(text, algorithms: source.algorithms)
                return Line(
                    key, "\(source.issuer): \(keys.count) usable key\(keys.count == 1 ? "" : "s")", isGood: true)
            } catch {
                return Line(key, "\(source.issuer): \(source.url): \(error)", isGood: false)
            }
        }
    }

    // MARK: - The archive

    private func database() {
        let key = SettingsTable.path(of: \.archive.store)
        guard case .postgresql(let uri) = settings.archive.store else { return }
        let file = settings.archive.passwordFile
        let session = Session(
            Session.Settings(
                uri: uri, password: { () throws(PostgreSQLError) in try ArchiveStores.password(file) },
                milliseconds: Self.databaseMilliseconds), interruption: Interruption()
        ) { _ in }
        do {
            let version = try session.run { $0.serverVersion }
            guard version >= Self.minimumServerVersion else {
                return add(key, "the server is older than PostgreSQL 15: \(version)", isGood: false)
            }
            add(key, "PostgreSQL \(version / 10_000) lets us in", isGood: true)
        } catch {
            let text = "\(error)"
            add(key, text + (ArchiveReport.connectionAdvice(text).map { ": \($0)" } ?? ""), isGood: false)
        }
    }

    // MARK: - Ports

    private func ports() {
        let listeners = settings.listen.map { (SettingsTable.path(of: \.listen), $0) }
        for (key, address) in listeners + [(SettingsTable.path(of: \.admin), settings.admin)] {
            // The file of a Unix socket is left as it is.
            if case .unix = address { continue }
            do throws(ReactorError) {
                _ = try ListeningSocket.open(address)
                add(key, "\(address) is free", isGood: true)
            } catch {
                add(key, "\(error)", isGood: false)
            }
        }
    }
}
