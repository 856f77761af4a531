import CRdKafka
import Testing

@testable import Kafka

struct BrokerErrorDiagnosisTests {
    /// Texts as librdkafka 2.0.2 gave them against Apache Kafka 4.2.0 and 3.9.2.
    @Test(arguments: [
        (
            RD_KAFKA_RESP_ERR__SSL,
            """
            ssl://127.0.0.1:9093/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify \
            failed: broker certificate could not be verified, verify that ssl.ca.location is correctly configured \
            (after 14ms in state SSL_HANDSHAKE)
            """, KafkaCause.certificateUntrusted
        ),
        (
            RD_KAFKA_RESP_ERR__TRANSPORT,
            """
            ssl://127.0.0.1:9093/bootstrap: error:0A000086:SSL routines::certificate verify failed (after 18ms in \
            state SSL_HANDSHAKE)
            """, .certificateUntrusted
        ),
        (
            RD_KAFKA_RESP_ERR__TRANSPORT,
            """
            ssl://127.0.0.1:9092/bootstrap: error:0A000126:SSL routines::unexpected eof while reading (after 1ms in \
            state SSL_HANDSHAKE)
            """, .brokerSpeaksNoTLS
        ),
        (
            RD_KAFKA_RESP_ERR__TRANSPORT,
            """
            ssl://127.0.0.1:9093/1: error:0A000126:SSL routines::unexpected eof while reading (after 5021ms in state \
            UP)
            """, .connectionLost
        ),
        (
            RD_KAFKA_RESP_ERR__SSL,
            """
            ssl://127.0.0.1:9093/bootstrap: Receive failed: error:0A000412:SSL routines::sslv3 alert bad certificate: \
            SSL alert number 42 (after 13ms in state APIVERSION_QUERY)
            """, .clientCertificateRefused
        ),
    ])
    func `the text decides what a failed handshake was`(
        _ code: rd_kafka_resp_err_t, _ text: String, _ cause: KafkaCause
    ) {
        let notice = BrokerErrorDiagnosis([]).notice(code: code, text: text)
        #expect(notice.cause == cause)
        #expect(notice[.broker]?.hasPrefix("127.0.0.1:909") == true)
    }
}

struct BrokerReachTests {
    @Test func `an outage that lasts is told again with its reason, and its end once`() {
        var reach = BrokerReach()
        let start = ContinuousClock.now
        let refused = KafkaNotice(.connectionRefused, [(.broker, "b1:9092"), (.reason, "Connection refused")])
        #expect(reach.sort([refused], allBrokersDown: true, at: start) == [refused])
        let told = KafkaNotice(.allBrokersDown, [(.reason, "b1:9092: Connection refused")])
        for second in 1...30 {
            let now = start + .seconds(second)
            let expected = [3, 13, 23].contains(second) ? [told] : []
            #expect(reach.sort([], allBrokersDown: true, at: now) == expected, "second \(second)")
        }
        // Whoever asks the node is answered as the log says it.
        #expect(reach.explanation == "\(KafkaCause.connectionRefused.sentence) (b1:9092: Connection refused)")
        reach.hasAnswered = true
        #expect(reach.sort([], allBrokersDown: false, at: start + .seconds(31)) == [KafkaNotice(.recovered)])
        #expect(reach.downSince == nil && reach.explanation == nil)
        // The next outage does not inherit the reason.
        _ = reach.sort([], allBrokersDown: true, at: start + .seconds(40))
        let silent = reach.sort([], allBrokersDown: true, at: start + .seconds(43))
        #expect(silent == [KafkaNotice(.allBrokersDown)])
    }
}
