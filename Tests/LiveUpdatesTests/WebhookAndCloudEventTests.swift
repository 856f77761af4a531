import Testing

@testable import LiveUpdates

/// What the recorded webhooks and CloudEvents do not show.
struct WebhookAndCloudEventTests {
    static func webhook(_ data: String, type: String = "incident.annotated", resource: String = "incident")
        -> TestRecord
    {
        TestRecord(
            #"{"event":{"event_type":"\#(type)","resource_type":"\#(resource)","data":\#(data)}}"#,
            headers: [("account_id", "P1")])
    }

    static let hooks: [(data: String, outcome: String)] = [
        (#"{"type":"incident","id":"I1"}"#, "P1 incident/I1/annotated"),
        (#"{"type":"incident","id":"I1","incident":{"id":"I2"}}"#, "P1 incident/I1/annotated"),
        // The id of the resource itself is missing: that of a thing within it is another's.
        (#"{"type":"incident","incident":{"id":"I2"}}"#, "no_id"),
        (#"{"type":"incident_note","id":"N1","incident":{"id":"I2"}}"#, "P1 incident/I2/annotated"),
        (#"{"id":"N1","incident":{"id":"I2"}}"#, "P1 incident/I2/annotated"),
        (#"{"type":"incident_note","id":"N1","service":{"id":"S1"}}"#, "no_id"),
        (
            #"{"incident_role_assignments":[{"id":"A","incident":{"id":"I3"}},{"incident":{"id":"I4"}}]}"#,
            "P1 incident/I3/annotated"
        ),
        (
            #"{"incident":{"id":null},"incident_role_assignments":[{"incident":{"id":"I3"}}]}"#,
            "P1 incident/I3/annotated"
        ),
        (#"{"incident_role_assignments":[]}"#, "no_id"), (#"{"incident_role_assignments":{"0":1}}"#, "no_id"),
        (#"{"incident":{"id":"I1","id":"I2"}}"#, "ambiguous"),
        (#"{"incident":{},"incident":{"id":"I2"}}"#, "ambiguous"),
        (#"{"type":"incident","type":"incident","id":"I1"}"#, "ambiguous"),
        (#"{"type":"incident","id":"I1","id":"I1"}"#, "ambiguous"),
        (#"{"type":"\ud800","id":"I1","incident":{"id":"I2"}}"#, "not_json"), ("null", "no_id"), ("[]", "no_id"),
    ]

    @Test func `the id of a webhook is that of its resource`() throws {
        let mapper = try EventMapper.of("pagerduty-webhook-v3")
        for (data, outcome) in Self.hooks { #expect(mapper.short(Self.webhook(data)) == outcome, "\(data)") }
    }

    @Test func `a ping is ignored and other events of the test resource are not`() throws {
        let mapper = try EventMapper.of("pagerduty-webhook-v3")
        #expect(mapper.short(Self.webhook("{}", type: "pagey.ping", resource: "pagey")) == "ignored")
        #expect(mapper.short(Self.webhook("{}", type: "incident.ping")) == "no_id")
    }

    static func structured(_ more: String) -> TestRecord {
        TestRecord(#"{"accountid":"P1","subject":"I1","type":"com.x.incident.created"\#(more)}"#)
    }

    @Test func `a structured event is known by its specversion`() throws {
        let mapper = try EventMapper.of("cloudevents")
        #expect(mapper.short(Self.structured(#","specversion":"1.0""#)) == "P1 incident/I1/created")
        #expect(mapper.short(Self.structured("")) == "ignored")
        #expect(mapper.short(Self.structured(#","specversion":null"#)) == "ignored")
        #expect(mapper.short(Self.structured(#","specversion":"1.0","specversion":"1.0""#)) == "ambiguous")
        #expect(mapper.short(Self.structured(#","specversion":"1.0","subject":"I2""#)) == "ambiguous")
        #expect(mapper.short(Self.structured(#","specversion":"1.0","type":"a.b""#)) == "ambiguous")
        #expect(mapper.short("[]") == "not_json")
        #expect(mapper.short(TestRecord(nil)) == "tombstone")
        #expect(mapper.short("") == "not_json")
    }

    @Test func `of a binary event nothing but headers is read`() throws {
        let mapper = try EventMapper.of("cloudevents")
        let headers = [
            ("ce_specversion", "1.0"), ("ce_type", "com.x.incident.created"), ("ce_subject", "I1"),
            ("ce_accountid", "P1"),
        ]
        for value in [#"{"specversion":"1.0","accountid":"P9","subject":"I9","type":"a.b"}"#, "no json", "", nil] {
            #expect(mapper.short(TestRecord(value, headers: headers)) == "P1 incident/I1/created")
        }
        let inner = #"{"specversion":"1.0","accountid":"P9","subject":"I9","type":"a.b"}"#
        #expect(mapper.short(TestRecord(inner, headers: Array(headers.dropLast()))) == "no_account")
        #expect(mapper.short(TestRecord(inner, headers: [headers[0]])) == "no_entity")
        #expect(mapper.short(TestRecord(nil, headers: [headers[0]])) == "tombstone")
        var broken = TestRecord(inner, headers: headers)
        broken.headers[3].value = [0xFF]
        #expect(mapper.short(broken) == "no_account")
    }

    @Test func `a row of one's own may look into the value of a binary event`() throws {
        let mapper = try EventMapper.of("cloudevents") { $0.id = ["/incident/id"] }
        let headers = [("ce_specversion", "1.0"), ("ce_type", "x.incident.created"), ("ce_accountid", "P1")]
        #expect(mapper.short(TestRecord(#"{"incident":{"id":"I1"}}"#, headers: headers)) == "P1 incident/I1/created")
        #expect(mapper.short(TestRecord("no json", headers: headers)) == "not_json")
        #expect(mapper.short(TestRecord(nil, headers: headers)) == "tombstone")
    }

    @Test(arguments: [
        ("incident.created", "P1 incident/I1/created"), ("created", "no_entity"), (".created", "no_entity"),
        ("incident.", "no_type"), ("a..b", "no_entity"), ("", "no_entity"), ("..", "no_entity"),
        ("a.b.c.d", "P1 c/I1/d"),
    ]) func `the last two parts of a type are entity and type`(type: String, outcome: String) throws {
        let mapper = try EventMapper.of("cloudevents")
        let value = #"{"specversion":"1.0","accountid":"P1","subject":"I1","type":"\#(type)"}"#
        #expect(mapper.short(value) == outcome)
    }
}
