// Tests: BrokerReach.swift, LineDiagnosis.swift, KafkaCause.swift, KafkaNotice.swift, NoticeQueue.swift

import CRdKafka
import Testing

@testable import Kafka

@Suite struct `What the operator is told` {
    private func cause(
        _ code: rd_kafka_resp_err_t, _ text: String, scram: Bool = false
    ) -> KafkaCause {
        let properties = scram ? [("sasl.mechanism", "SCRAM-SHA-256")] : []
        return BrokerErrorDiagnosis(properties, libraryVersion: 0x0200_02ff).notice(code: code, text: text).cause
    }

    @Test(arguments: [
        (
            RD_KAFKA_RESP_ERR__RESOLVE, "x:1/bootstrap: Failed to resolve 'x:1': Name or service not known",
            KafkaCause.hostUnknown
        ),
        (
            RD_KAFKA_RESP_ERR__TRANSPORT,
            "x:1/1: Connect to ipv4#10.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)",
            .connectionRefused
        ),
        (RD_KAFKA_RESP_ERR__TRANSPORT, "x:1/1: Connect to ipv4#10.0.0.1:1 failed: No route to host", .noRoute),
        (RD_KAFKA_RESP_ERR__TRANSPORT, "x:1/1: Connect to ipv4#10.0.0.1:1 failed: Network is unreachable", .noRoute),
        (RD_KAFKA_RESP_ERR__TRANSPORT, "x:1/1: Connection setup timed out in state CONNECT (after 30026ms)", .noRoute),
        (
            RD_KAFKA_RESP_ERR__TRANSPORT,
            "ssl://x:1/1: Connection setup timed out in state SSL_HANDSHAKE (after 30111ms in state SSL_HANDSHAKE)",
            .brokerSilent
        ),
        (
            RD_KAFKA_RESP_ERR__TRANSPORT,
            "x:1/1: ApiVersionRequest failed: Local: Timed out: probably due to broker version < 0.10 (see api.version.request configuration) (after 10021ms in state APIVERSION_QUERY)",
            .brokerSilent
        ),
        (RD_KAFKA_RESP_ERR__TRANSPORT, "x:1/1: Disconnected (after 600123ms in state UP)", .connectionLost),
        (RD_KAFKA_RESP_ERR__TRANSPORT, "x:1/1: Disconnected (after 3ms in state UP)", .connectionLost),
        (
            RD_KAFKA_RESP_ERR__TRANSPORT,
            "x:1/1: Receive failed: Connection reset by peer (after 3ms in state APIVERSION_QUERY)", .connectionLost
        ),
        (
            RD_KAFKA_RESP_ERR__TRANSPORT,
            "x:1/1: Disconnected while requesting ApiVersion: might be caused by incorrect security.protocol configuration (connecting to a SSL listener?) or broker version is < 0.10",
            .brokerSpeaksTLS
        ),
        (
            RD_KAFKA_RESP_ERR__TRANSPORT,
            "x:1/1: Disconnected: verify that security.protocol is correctly configured, broker might require SASL authentication",
            .brokerWantsSASL
        ),
        (RD_KAFKA_RESP_ERR__TIMED_OUT, "x:1/1: 3 request(s) timed out: disconnect", .requestTimedOut),
        (
            RD_KAFKA_RESP_ERR__AUTHENTICATION,
            "sasl_ssl://x:1/1: SASL authentication error: Authentication failed: Invalid username or password",
            .loginRefused
        ),
        (
            RD_KAFKA_RESP_ERR__AUTHENTICATION,
            "sasl_ssl://x:1/1: Unsupported SASL mechanism: broker's supported mechanisms: PLAIN", .mechanismRefused
        ),
        (
            RD_KAFKA_RESP_ERR__SSL,
            "ssl://x:1/1: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker certificate could not be verified",
            .certificateUntrusted
        ),
        (RD_KAFKA_RESP_ERR__SSL, "ssl://x:1/1: SSL handshake failed: hostname mismatch", .certificateName),
        (
            RD_KAFKA_RESP_ERR__SSL,
            "ssl://x:1/1: SSL handshake failed: error:0A00010B:SSL routines::wrong version number", .brokerSpeaksNoTLS
        ),
        (
            RD_KAFKA_RESP_ERR__SSL,
            "ssl://x:1/1: SSL handshake failed: error:0A000412:SSL routines::sslv3 alert bad certificate",
            .clientCertificateRefused
        ),
        (
            RD_KAFKA_RESP_ERR__SSL,
            "ssl://x:1/1: Failed to verify broker certificate: certificate has expired", .certificateExpired
        ),
        (
            RD_KAFKA_RESP_ERR__SSL,
            "ssl://x:1/1: SSL handshake failed: error:0A000415:SSL routines::sslv3 alert certificate expired",
            .clientCertificateExpired
        ),
        (RD_KAFKA_RESP_ERR__SSL, "ssl://x:1/1: SSL handshake failed: something new", .tlsFailed),
        (RD_KAFKA_RESP_ERR__FATAL, "fenced", .fatal),
        (RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE, "no threads", .trouble),
    ])
    func `an error of the library is diagnosed by code and text`(
        _ code: rd_kafka_resp_err_t, _ text: String, _ expected: KafkaCause
    ) {
        #expect(cause(code, text) == expected)
    }

    @Test func `a refused SCRAM login names the old library`() {
        let text =
            "sasl_ssl://x:1/1: SASL authentication error: Authentication failed during authentication due to "
            + "invalid credentials with SASL mechanism SCRAM-SHA-256"
        #expect(cause(RD_KAFKA_RESP_ERR__AUTHENTICATION, text, scram: true) == .scramWithOldLibrary)
        #expect(cause(RD_KAFKA_RESP_ERR__AUTHENTICATION, text) == .loginRefused)
    }

    @Test(
        arguments: [
            ("sasl_ssl://b1.example:9094/1: Connect failed: why", "b1.example:9094", "Connect failed: why"),
            ("[::1]:9092/bootstrap: why", "[::1]:9092", "why"),
            ("127.0.0.1:1/2: why", "127.0.0.1:1", "why"),
            ("no broker at all", nil, "no broker at all"),
            ("with a colon: but no broker", nil, "with a colon: but no broker"),
            ("a path like /etc/x: why", nil, "a path like /etc/x: why"),
            ("", nil, ""),
        ] as [(String, String?, String)])
    func `the broker is what stands before the first colon and blank`(
        _ text: String, _ broker: String?, _ reason: String
    ) {
        let split = BrokerErrorDiagnosis.split(text)
        #expect(split.broker == broker)
        #expect(split.reason == reason)
    }

    @Test(
        arguments: [
            ("plaintext", "Disconnected: closed by peer (after 2ms in state APIVERSION_QUERY)", .brokerSpeaksTLS),
            ("sasl_plaintext", "Disconnected (after 2ms in state APIVERSION_QUERY)", .brokerSpeaksTLS),
            ("ssl", "Disconnected (after 2ms in state APIVERSION_QUERY)", nil),
            ("plaintext", "Disconnected: closed by peer (after 1999ms in state UP)", .brokerWantsSASL),
            ("plaintext", "Disconnected (after 2000ms in state UP)", nil),
            ("sasl_plaintext", "Disconnected (after 2ms in state UP)", nil),
            ("plaintext", "Connect to ipv4#10.0.0.1:1 failed (after 2ms in state UP)", nil),
            ("plaintext", "Disconnected", nil),
        ] as [(String, String, KafkaCause?)])
    func `a line about a broker that hangs up suggests what we should speak`(
        _ spoken: String, _ text: String, _ expected: KafkaCause?
    ) {
        let diagnosis = BrokerErrorDiagnosis([("security.protocol", spoken)])
        let guess = diagnosis.guess(line: "[thrd:a:1/bootstrap]: a:1/bootstrap: \(text)")
        #expect(guess?.cause == expected)
        #expect(guess == nil || guess?[.broker] == "a:1")
        #expect(diagnosis.guess(line: text) == nil)
    }

    /// Each row: syslog's level, the facility, the line, what it is told as.
    static let lines: [(level: Int32, facility: String, text: String, told: (KafkaCause, KafkaNotice.Level))] = [
        // Behind these somebody has to act.
        (
            3, "CLUSTERID",
            "[thrd:main]: Broker b:1/1 reports different ClusterId \"x\" than previously known \"y\": a client must not be…",
            (.twoClusters, .warning)
        ),
        (
            4, "CONFWARN", "[thrd:app]: sasl.mechanism set to `PLAIN` but security.protocol is not configured for SASL",
            (.settingUnused, .warning)
        ),
        (
            3, "SASLREFRESH", "[thrd:main]: Kerberos ticket refresh failed: kinit: no keytab",
            (.kerberosRefused, .warning)
        ),
        (3, "OAUTHBEARER", "[thrd:main]: Failed to acquire SASL OAUTHBEARER token: 401", (.loginRefused, .error)),
        (3, "SASL", "[thrd:b:1/1]: b:1/1: Authentication failed: Invalid username", (.loginRefused, .error)),
        (3, "SSL", "[thrd:b:1/1]: b:1/1: Failed to verify broker certificate: x", (.certificateUntrusted, .error)),
        (3, "SSL", "[thrd:b:1/1]: b:1/1: certificate verify failed: y", (.certificateUntrusted, .error)),
        (3, "SSL", "[thrd:b:1/1]: b:1/1: verify: certificate has expired", (.certificateExpired, .error)),
        (3, "SSL", "[thrd:b:1/1]: b:1/1: sslv3 alert certificate expired", (.clientCertificateExpired, .error)),
        (4, "TOPICERR", "[thrd:main]: t [0]: Broker: Topic authorization failed", (.topicForbidden, .error)),
        (
            4, "APIVERSION",
            "[thrd:b:1/1]: b:1/1: SASL Handshake not supported by broker (required by mechanism PLAIN)",
            (.featureMissing, .warning)
        ),
        (4, "PROTOERR", "[thrd:b:1/1]: b:1/1: Broker: API version not supported", (.featureMissing, .warning)),
        // What passes by itself, and what comes as an error too.
        (
            4, "CONFWARN",
            "[thrd:app]: Configuration property acks is a producer property and will be ignored by this consumer instance",
            (.library, .info)
        ),
        (4, "SASLREFRESH", "[thrd:main]: Slow Kerberos ticket refresh: 9000ms: kinit", (.library, .info)),
        (4, "REQTMOUT", "[thrd:b:1/1]: b:1/1: Timed out FetchRequest in flight", (.library, .info)),
        (4, "MAXPOLL", "[thrd:main]: something new", (.library, .info)),
        (3, "FAIL", "[thrd:b:1/1]: b:1/1: SASL authentication error: Authentication failed", (.library, .debug)),
        (3, "ERROR", "[thrd:b:1/1]: b:1/1: SSL handshake failed: certificate verify failed", (.library, .debug)),
        (6, "PARTCNT", "[thrd:main]: Topic t partition count changed from 1 to 2", (.library, .debug)),
        (
            4, "AUTOCREATE",
            "[thrd:b:1/1]: b:1/1: allow.auto.create.topics=false not supported by broker: requires broker version >= 0.11.0.0",
            (.library, .info)
        ),
        (7, "FEATURE", "[thrd:b:1/1]: b:1/1: Feature LZ4 not supported by broker", (.library, .debug)),
    ]

    @Test(arguments: lines.indices) func `a line is a warning where somebody has to act, and else for those who look`(
        row: Int
    ) {
        let (level, facility, text, told) = Self.lines[row]
        let notice = LineDiagnosis.notice(level: level, facility: facility, text: text)
        #expect(notice.cause == told.0 && notice.level == told.1)
        #expect(notice[.facility] == facility && notice[.reason].map { text.hasSuffix($0) } == true)
        if told.1 >= .warning, text.contains("b:1/1: ") { #expect(notice[.broker] == "b:1") }
    }

    @Test func `notices of one cause and broker are one, of two brokers two`() {
        let queue = NoticeQueue()
        for _ in 0..<1_000 { queue.post(KafkaNotice(.connectionRefused, [(.broker, "a:1")])) }
        queue.post(KafkaNotice(.connectionRefused, [(.broker, "b:1")]))
        #expect(queue.take().notices.count == 2)
        #expect(queue.take().notices.isEmpty)
    }

    @Test(arguments: [0, 1, 7])
    func `as many notices and lines as the limits wait, and what is more is counted`(_ more: Int) {
        let queue = NoticeQueue()
        for number in 0..<NoticeQueue.maximumPending + more {
            queue.post(KafkaNotice(.topicMissing, [(.topic, "\(number)")]))
        }
        for number in 0..<NoticeQueue.maximumLines + more {
            queue.post(line: KafkaNotice(.library, [(.facility, "F"), (.reason, "\(number)")], level: .debug))
        }
        let notices = queue.take().notices
        #expect(notices.count == NoticeQueue.maximumPending + NoticeQueue.maximumLines + (more > 0 ? 1 : 0))
        #expect(notices.last?[.count] == (more > 0 ? "\(more)" : nil))
        #expect(queue.take().notices.isEmpty)
    }

    @Test func `every cause has a sentence of its own`() {
        for cause in KafkaCause.allCases where cause.level >= .warning {
            let says = ["check ", "grant ", "run with ", "is it running"].contains { "\(cause.sentence)".contains($0) }
            #expect(says || cause.advice != nil, "\(cause) does not tell what to do")
        }
        let sentences = KafkaCause.allCases.map { "\($0.sentence)" }
        #expect(Set(sentences).count == sentences.count)
        #expect(sentences.allSatisfy { !$0.isEmpty && !$0.contains("\n") })
    }
}

@Suite struct `Whether Kafka can be reached` {
    @Test(arguments: [
        ("kafka-1", "kafka-1:9092"), ("10.0.0.1", "10.0.0.1:9092"), ("fd00::1", "[fd00::1]:9092"),
    ])
    func `an address is written as librdkafka reads it`(_ host: String, _ expected: String) {
        #expect(BrokerAddress.text(host: host, port: 9092) == expected)
    }

    private let start = ContinuousClock.now
    private func after(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    @Test func `all brokers down is believed after a while, told now and then, and ended once`() {
        var reach = BrokerReach()
        #expect(reach.sort([], allBrokersDown: true, at: start).isEmpty)
        #expect(reach.downSince == start)
        #expect(reach.sort([], allBrokersDown: true, at: after(2.9)).isEmpty)
        #expect(reach.sort([], allBrokersDown: false, at: after(3)).map(\.cause) == [.allBrokersDown])
        #expect(reach.sort([], allBrokersDown: true, at: after(5)).isEmpty)
        #expect(reach.sort([], allBrokersDown: true, at: after(13)).map(\.cause) == [.allBrokersDown])
        reach.hasAnswered = true
        #expect(reach.sort([], allBrokersDown: false, at: after(14)).map(\.cause) == [.recovered])
        #expect(reach.downSince == nil)
        reach.hasAnswered = true
        #expect(reach.sort([], allBrokersDown: false, at: after(15)).isEmpty)
    }

    @Test func `a cut connection that is back at once is no outage`() {
        var reach = BrokerReach()
        #expect(reach.sort([], allBrokersDown: true, at: start).isEmpty)
        reach.hasAnswered = true
        #expect(reach.sort([], allBrokersDown: false, at: after(0.1)).isEmpty)
        #expect(reach.sort([], allBrokersDown: false, at: after(10)).isEmpty)
        #expect(reach.downSince == nil)
    }

    @Test func `connections cut one after the other, with answers between, are no outage`() {
        var reach = BrokerReach()
        for cut in 0..<10 {
            // What was answered and what was cut since the last look comes together.
            reach.hasAnswered = cut > 0
            #expect(reach.sort([], allBrokersDown: true, at: after(Double(cut))).isEmpty, "cut \(cut)")
        }
        #expect(reach.downSince == after(9))
        #expect(reach.sort([], allBrokersDown: true, at: after(11.9)).isEmpty)
        #expect(reach.sort([], allBrokersDown: true, at: after(12)).map(\.cause) == [.allBrokersDown])
    }

    @Test(arguments: [KafkaCause.brokerSpeaksTLS, .brokerWantsSASL])
    func `a guess is told only when the trouble lasts, and as one`(_ cause: KafkaCause) {
        let guess = KafkaNotice(cause, [(.broker, "a:1")])
        var reach = BrokerReach()
        #expect(reach.sort([guess, guess], allBrokersDown: true, at: start).isEmpty)
        #expect(reach.sort([guess], allBrokersDown: true, at: after(2)).isEmpty)
        #expect(reach.sort([], allBrokersDown: false, at: after(3)).map(\.cause) == [cause, .allBrokersDown])
        #expect(guess.level == .warning && "\(guess.sentence)".contains("possibly"))
    }

    @Test(arguments: [KafkaCause.brokerSpeaksTLS, .brokerWantsSASL])
    func `nothing is guessed once a broker has answered, however often connections are cut`(_ cause: KafkaCause) {
        let guess = KafkaNotice(cause, [(.broker, "a:1"), (.reason, "Disconnected")])
        let lost = KafkaNotice(.connectionLost, [(.broker, "a:1"), (.reason, "Disconnected")])
        var reach = BrokerReach()
        #expect(reach.sort([guess], allBrokersDown: true, at: start).isEmpty)
        reach.hasAnswered = true
        #expect(reach.sort([guess], allBrokersDown: true, at: after(1)) == [lost])
        for second in 2...30 {
            let told = reach.sort([guess], allBrokersDown: true, at: after(Double(second)))
            #expect(told.allSatisfy { $0 == lost || $0.cause == .allBrokersDown }, "second \(second): \(told)")
        }
    }

    @Test func `trouble that was told is said to have ended, however short it was`() {
        var reach = BrokerReach()
        let refused = KafkaNotice(.connectionRefused, [(.broker, "a:1")])
        #expect(reach.sort([refused], allBrokersDown: true, at: start) == [refused])
        reach.hasAnswered = true
        #expect(reach.sort([], allBrokersDown: false, at: after(1)).map(\.cause) == [.recovered])
    }

    @Test func `one broker of several that stays down has not recovered because others answer`() {
        var reach = BrokerReach()
        let refused = KafkaNotice(.connectionRefused, [(.broker, "a:1")])
        for second in stride(from: 0.0, to: 90, by: 30) {
            #expect(reach.sort([refused], allBrokersDown: false, at: after(second)) == [refused])
            reach.hasAnswered = true
            #expect(reach.sort([], allBrokersDown: false, at: after(second + 1)).isEmpty)
        }
    }
}
