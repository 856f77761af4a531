/// Everything of which the operator may be notified about Kafka, with its sentence: one table.
package enum KafkaCause: String, Sendable, CaseIterable {
    // The connection to a broker.
    case hostUnknown, connectionRefused, noRoute, brokerSilent, connectionLost, requestTimedOut, allBrokersDown,
        recovered
    // Logins and certificates.
    case loginRefused, scramWithOldLibrary, mechanismRefused
    case certificateUntrusted, certificateName, certificateExpired, clientCertificateRefused, clientCertificateExpired,
        tlsFailed, brokerSpeaksNoTLS, brokerSpeaksTLS, brokerWantsSASL, kerberosRefused
    // Topics and partitions.
    case topicMissing, topicForbidden, topicUnreadable, topicGone, topicFound, partitionsAdded, partitionWithoutLeader
    case positionOutOfRange, topicRecreated, partitionTrouble, batchUnreadable, brokersDisagree
    case recordRepeated, recordsPassedOver
    // The library, and what it reports about the cluster.
    case twoClusters, settingUnused, featureMissing, fatal, trouble, library, linesDropped
}

extension KafkaCause {
    package var sentence: StaticString {
        switch self {
        case .hostUnknown: "the name of the Kafka broker is not known; check kafka.brokers and the resolver"
        case .connectionRefused: "the Kafka broker refuses connections; is it running, and is kafka.brokers right?"
        case .noRoute: "there is no route to the Kafka broker; check the network, the firewall and kafka.brokers"
        case .brokerSilent:
            """
            the Kafka broker accepts our connections and does not answer; check that it runs well, kafka.brokers and \
            security.protocol
            """
        case .connectionLost: "a connection to the Kafka broker ended; it is opened again"
        case .requestTimedOut: "the Kafka broker does not answer"
        case .allBrokersDown: "no Kafka broker can be reached; consumption goes on where it stopped"
        case .recovered: "Kafka answers again"
        case .loginRefused: "the Kafka broker refuses the login; check the user and password in kafka.settings"
        case .scramWithOldLibrary:
            """
            the Kafka broker refuses the SCRAM login; Kafka 4 does so with librdkafka before 2.6.1, even when the \
            password is right: run with a newer librdkafka, or use PLAIN over TLS
            """
        case .mechanismRefused: "the Kafka broker does not offer this SASL mechanism; check sasl.mechanism"
        case .certificateUntrusted:
            """
            the Kafka broker's certificate is not signed by an authority that is trusted here, or is for another name; \
            check ssl.ca.location, then kafka.brokers
            """
        case .certificateName:
            "the Kafka broker's certificate is for another name; check kafka.brokers and advertised.listeners"
        case .certificateExpired:
            "the Kafka broker's certificate has expired; renew it there, and check the clock of this machine"
        case .clientCertificateExpired:
            "the Kafka broker reports that our client certificate has expired; renew it, and check ssl.certificate.location"
        case .kerberosRefused:
            "the Kerberos ticket cannot be refreshed; check sasl.kerberos.kinit.cmd, the keytab and the principal"
        case .clientCertificateRefused:
            """
            the Kafka broker refuses our client certificate, or asks for one; check ssl.certificate.location and \
            ssl.key.location
            """
        case .tlsFailed: "the TLS handshake with the Kafka broker failed; check the ssl settings in kafka.settings"
        case .brokerSpeaksNoTLS: "the Kafka broker speaks no TLS on this port; check security.protocol and the port"
        case .brokerSpeaksTLS:
            """
            the Kafka broker ends our connections at the first request; possibly the port speaks TLS, and we do not: \
            check security.protocol and the port
            """
        case .brokerWantsSASL:
            """
            the Kafka broker ends our connections right after they open; possibly it wants a login, and we do not log \
            in: check security.protocol and sasl.mechanism
            """
        case .topicMissing: "the topic does not exist; it is read as soon as it is created"
        case .topicForbidden: "Kafka does not let us see the topic; grant Describe and Read on it to our user"
        case .topicUnreadable: "Kafka does not let us read the topic; grant Read on it to our user"
        case .topicGone: "the topic was deleted; it is read from its beginning when it is created again"
        case .topicFound: "the topic is there now, and is read from its beginning"
        case .partitionsAdded: "partitions were added to the topic, and are read from their beginning"
        case .partitionWithoutLeader: "a partition has no leader; nothing comes from it until it has one"
        case .positionOutOfRange:
            "the log no longer holds our position; reading goes on at its start, and records in between are lost"
        case .topicRecreated: "the topic was recreated; it is read from its beginning"
        case .partitionTrouble: "a partition cannot be read for now"
        case .batchUnreadable: "records could not be read, twice; reading goes on behind them, and they are lost"
        case .recordRepeated: "a record came that was read before, or lies before the window; it is left out"
        case .recordsPassedOver:
            "a record is below our position and was never delivered; reading goes on with it, and all clients get a resync"
        case .brokersDisagree: "the brokers disagree about the topics; waiting until they agree"
        case .twoClusters:
            "brokers of two clusters answer; check kafka.brokers, and what names and balancers lead to"
        case .settingUnused:
            "librdkafka does not use a property as it is set; check the one of kafka.settings that the reason names"
        case .featureMissing:
            "the Kafka broker lacks a feature that librdkafka wants to use; run with a newer Kafka, or change kafka.settings"
        case .fatal: "librdkafka reports an error that it cannot survive"
        case .trouble: "Kafka trouble"
        case .library: "librdkafka message"
        case .linesDropped: "lines of librdkafka were dropped"
        }
    }

    /// What the operator should do, when the sentence does not contain it.
    package var advice: StaticString? {
        switch self {
        case .requestTimedOut: "check whether the broker is overloaded, and check the network to it"
        case .allBrokersDown: "clients stay connected; check that the brokers run, and check kafka.brokers"
        case .topicMissing: "create it, or correct kafka.topics"
        case .topicGone: "create it again, or remove it from kafka.topics"
        case .partitionWithoutLeader: "check which broker is down: Kafka elects a leader once a replica is back"
        case .positionOutOfRange: "let the topic keep records for longer, or find out why this node was so far behind"
        case .topicRecreated:
            "clients fetch everything again by themselves; if this was not intended, check who may delete topics"
        case .partitionTrouble: "it is tried again; if it continues, see the leader's log for the reason"
        case .batchUnreadable: "check the brokers' log of this partition for damage"
        case .recordRepeated: "nothing is missing; if it continues, run with a newer librdkafka"
        case .recordsPassedOver:
            "clients fetch everything again by themselves; check whether a leader changed; report this line with those before it"
        case .brokersDisagree: "wait for a minute; if it continues, check that all brokers are of one cluster"
        case .fatal: "the node stops and must be started again; look up the reason in librdkafka's documentation"
        case .trouble: "the reason names what to check; it is tried again"
        default: nil
        }
    }

    package var level: KafkaNotice.Level {
        switch self {
        case .library: .debug
        case .connectionLost, .linesDropped: .info
        case .recovered, .topicFound, .partitionsAdded: .notice
        case .hostUnknown, .connectionRefused, .noRoute, .brokerSilent, .requestTimedOut, .allBrokersDown,
            .partitionWithoutLeader,
            .positionOutOfRange, .topicRecreated, .partitionTrouble, .brokersDisagree, .trouble, .topicGone,
            .recordRepeated,
            .brokerSpeaksTLS, .brokerWantsSASL, .kerberosRefused, .twoClusters, .settingUnused, .featureMissing:
            .warning
        case .loginRefused, .scramWithOldLibrary, .mechanismRefused, .certificateUntrusted, .certificateName,
            .certificateExpired, .clientCertificateRefused, .clientCertificateExpired, .tlsFailed, .brokerSpeaksNoTLS,
            .topicMissing, .topicForbidden, .topicUnreadable,
            .batchUnreadable, .recordsPassedOver, .fatal:
            .error
        }
    }

    /// Whether the cause is about reaching brokers, so that the end of it is worth a line.
    var isConnectionTrouble: Bool {
        switch self {
        case .hostUnknown, .connectionRefused, .noRoute, .brokerSilent, .requestTimedOut, .allBrokersDown,
            .loginRefused,
            .scramWithOldLibrary, .mechanismRefused, .certificateUntrusted, .certificateName, .certificateExpired,
            .clientCertificateRefused, .clientCertificateExpired, .tlsFailed, .brokerSpeaksNoTLS, .brokerSpeaksTLS,
            .brokerWantsSASL:
            true
        default: false
        }
    }

    /// Whether the cause is only a guess. A restarting broker, or a balancer without a broker, can cut a connection at the same
    /// moment. The operator is notified when the trouble has lasted, and only before any broker has answered.
    var isGuess: Bool { self == .brokerSpeaksTLS || self == .brokerWantsSASL }
}
