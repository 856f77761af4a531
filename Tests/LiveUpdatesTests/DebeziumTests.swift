// Tests: EventMapper+Presets.swift

import LiveUpdates
import Testing

/// What the recorded streams of Debezium do not show.
struct DebeziumTests {
    static func change(_ op: String, before: String = "null", after: String = "null", more: String = "") -> String {
        #"{"before":\#(before),"after":\#(after),"source":{"table":"incidents"},"op":\#(op)\#(more)}"#
    }

    static let row = #"{"id":1,"account_id":"P1"}"#
    static let old = #"{"id":1,"account_id":"P0"}"#

    static let changes: [(value: String, outcome: String)] = [
        (change("\"c\"", after: row), "P1 incidents/1/created"),
        (change("\"u\"", before: old, after: row), "P1 incidents/1/updated, left P0 incidents/1/updated"),
        (change("\"u\"", before: row, after: row), "P1 incidents/1/updated"),
        (change("\"u\"", before: #"{"id":1}"#, after: row), "P1 incidents/1/updated"),
        (change("\"u\"", before: #"{"id":1,"account_id":""}"#, after: row), "P1 incidents/1/updated"),
        (
            change("\"u\"", before: #"{"id":2,"account_id":7}"#, after: row),
            "P1 incidents/1/updated, left 7 incidents/2/updated"
        ),
        (change("\"u\"", before: #"{"account_id":"P0"}"#, after: row), "P1 incidents/1/updated"),
        (change("\"u\"", before: "[]", after: row), "P1 incidents/1/updated"),
        (change("\"u\"", before: old, after: #"{"id":1}"#), "no_account"),
        (change("\"d\"", before: row), "P1 incidents/1/deleted"),
        // A row that moves is an update for both accounts, a deletion one for the account that had it.
        (change("\"d\"", before: old, after: row), "P0 incidents/1/deleted"),
        (change("\"c\"", before: row), "no_account"), (change("\"d\"", after: row), "no_account"),
        (change("\"r\"", after: row), "ignored"), (change("\"t\""), "ignored"), (change("\"m\""), "ignored"),
        (change("\"x\"", after: row), "no_account"), (change("null", after: row), "no_account"),
        (change("1", after: row), "no_account"), (change("\"C\"", after: row), "no_account"),
        (change("\"c\"", after: "[]"), "no_account"), (change("\"c\"", after: "\"row\""), "no_account"),
        (change("\"c\"", after: row, more: ",\"op\":\"c\""), "ambiguous"),
        (change("\"c\"", after: row, more: ",\"after\":\(row)"), "ambiguous"),
        (change("\"c\"", after: row, more: ",\"before\":\(row)"), "P1 incidents/1/created"),
        (change("\"c\"", after: row, more: ",\"source\":{}"), "ambiguous"),
        (change("\"r\"", after: row, more: ",\"after\":\(row)"), "ignored"),
        (change(#""\ud800""#, after: row), "not_json"),
        (#"{"ts_ms":1}"#, "ignored"), (#"{"ts_ms":1,"x":2}"#, "no_entity"), (#"{"other":1}"#, "no_entity"),
        ("{}", "no_entity"),
        (#"{"status":"BEGIN","id":"7","event_count":null}"#, "ignored"),
        (#"{"status":"END","id":"7","event_count":3}"#, "ignored"), (#"{"status":"END","id":"7"}"#, "no_entity"),
        (#"{"status":"open","event_count":3}"#, "no_entity"),
    ]

    @Test func `changes are told by op and row`() throws {
        let mapper = try EventMapper.of("debezium")
        func short(_ value: String) -> String {
            let outcome = mapper.short(value)
            return outcome + (mapper.left.map { ", left " + MappingOutcome.event($0.account, $0.event).short } ?? "")
        }
        for (value, outcome) in Self.changes {
            #expect(short(value) == outcome, "\(value)")
            // With its schema beside it a value means the same.
            #expect(short(#"{"schema":{"type":"struct"},"payload":\#(value)}"#) == outcome, "\(value)")
            #expect(short(#"{"payload":\#(value)}"#) == outcome, "\(value)")
        }
    }

    @Test func `a deletion without its account says what the table lacks`() throws {
        func why(_ value: String, _ preset: String) throws -> String {
            guard case .skip(.noAccount, let why) = try EventMapper.of(preset).map(TestRecord(value)) else { return "" }
            return "\(why)"
        }
        let hint = "REPLICA IDENTITY FULL"
        for before in [#"{"id":1}"#, #"{"id":1,"account_id":""}"#, #"{"id":1,"account_id":null}"#] {
            #expect(try why(Self.change("\"d\"", before: before), "debezium").contains(hint))
        }
        #expect(try why(#"{"id":1,"account_id":"","__op":"d","__table":"t"}"#, "debezium-flat").contains(hint))
        #expect(try why(#"{"id":1,"__deleted":"true","__table":"t"}"#, "debezium-flat").contains(hint))
        let created = try why(Self.change("\"c\"", after: #"{"id":1}"#), "debezium")
        #expect(created == "no text at row:/account_id for events.account")
    }

    @Test func `an account of one's own source that is no column is left by nobody`() throws {
        let mapper = try EventMapper.of("debezium") { $0.account = ["/source/tenant", "row:/account_id"] }
        let value = #"{"op":"u","source":{"table":"t","tenant":"P5"},"before":\#(Self.old),"after":\#(Self.row)}"#
        #expect(mapper.short(value) == "P5 t/1/updated" && mapper.left == nil)
        // What the next record yields is its own.
        #expect(
            mapper.short(#"{"op":"u","source":{"table":"t"},"before":\#(Self.old),"after":\#(Self.row)}"#)
                == "P1 t/1/updated")
        #expect(mapper.left?.account == Account("P0"))
        #expect(mapper.short("x") == "not_json" && mapper.left == nil)
    }

    @Test func `what an account falls back to owned no older row that lacks the column`() throws {
        let mapper = try EventMapper.of("debezium") { $0.account = ["row:/account_id", "topic:0", "row:/id"] }
        for before in ["null", #"{"id":1}"#, #"{"id":1,"account_id":null}"#, "[]"] {
            #expect(mapper.short(Self.change("\"u\"", before: before, after: Self.row)) == "P1 incidents/1/updated")
            #expect(mapper.left == nil, "\(before)")
        }
        _ = mapper.short(Self.change("\"u\"", before: Self.old, after: Self.row))
        #expect(mapper.left?.account == Account("P0"))
    }

    @Test func `a payload that stands twice is ambiguous and one beside op is not looked into`() throws {
        let mapper = try EventMapper.of("debezium")
        let value = Self.change("\"c\"", after: Self.row)
        #expect(mapper.short(#"{"payload":\#(value),"payload":\#(value)}"#) == "ambiguous")
        let both = Self.change("\"c\"", after: Self.row, more: ",\"payload\":\(Self.change("\"d\"", before: Self.old))")
        #expect(mapper.short(both) == "P1 incidents/1/created")
        #expect(mapper.short(#"{"payload":"text"}"#) == "no_entity")
        #expect(mapper.short(#"{"payload":null}"#) == "no_entity")
        #expect(mapper.short(#"{"payload":[]}"#) == "no_entity")
    }

    @Test func `pointers of one's own count from the payload and else from the value`() throws {
        let mapper = try EventMapper.of("debezium") {
            $0.account = ["/source/tenant", "/tenant"]
            $0.type = ["row:/status", "/op"]
        }
        let change = #"{"source":{"table":"t","tenant":"P5"},"op":"c","after":{"id":1,"status":"c"}}"#
        #expect(mapper.short(change) == "P5 t/1/c")
        #expect(mapper.short(#"{"payload":\#(change)}"#) == "P5 t/1/c")
        let outside = #"{"tenant":"P6","payload":{"source":{"table":"t"},"op":"u","after":{"id":1}}}"#
        #expect(mapper.short(outside) == "P6 t/1/u")
    }

    @Test func `types of changes are translated by either name`() throws {
        func translated(_ from: String) throws -> String {
            let mapper = try EventMapper.of("debezium") { $0.types = [.init(from: from, to: "opened")] }
            return mapper.short(Self.change("\"c\"", after: Self.row))
        }
        #expect(try translated("c") == "P1 incidents/1/opened")
        #expect(try translated("created") == "P1 incidents/1/opened")
        #expect(try translated("u") == "P1 incidents/1/created")
    }

    static let rows: [(value: String, outcome: String)] = [
        (#"{"id":1,"account_id":"P1","__op":"c","__deleted":"false","__table":"notes"}"#, "P1 notes/1/created"),
        (#"{"id":1,"account_id":"P1","__op":"u"}"#, "P1 incidents/1/updated"),
        (#"{"id":1,"account_id":"P1","__op":"d"}"#, "P1 incidents/1/deleted"),
        (#"{"id":1,"account_id":"P1","__deleted":"true"}"#, "P1 incidents/1/deleted"),
        (#"{"id":1,"account_id":"P1","__deleted":"true","__op":"u"}"#, "P1 incidents/1/deleted"),
        (#"{"id":1,"account_id":"P1","__deleted":"false"}"#, "no_type"),
        (#"{"id":1,"account_id":"P1"}"#, "no_type"), (#"{"id":1,"account_id":"P1","__op":"x"}"#, "no_type"),
        (#"{"id":1,"account_id":"P1","__op":"r","__deleted":"false"}"#, "ignored"),
        (#"{"id":1,"account_id":"P1","__op":"t"}"#, "ignored"), (#"{"id":1,"account_id":"P1","__op":"m"}"#, "ignored"),
        (#"{"id":1,"account_id":"P1","__op":"c","__op":"c"}"#, "ambiguous"),
        (#"{"id":1,"account_id":"P1","__op":"c","__deleted":"false","__deleted":"true"}"#, "ambiguous"),
        (#"{"id":1,"account_id":"P1","__op":"c","__table":null}"#, "P1 incidents/1/created"),
        (#"{"id":1,"account_id":"P1","__op":"c","op":"m"}"#, "P1 incidents/1/created"),
        (#"{"id":1,"account_id":"P1","__op":"c","payload":{"id":9,"account_id":"P9"}}"#, "P1 incidents/1/created"),
        (#"{"id":1,"account_id":"P1","payload":{"id":9,"account_id":"P9","__op":"c"}}"#, "no_type"),
        (#"{"schema":{},"payload":{"id":1,"account_id":"P1","__op":"c"}}"#, "P1 incidents/1/created"),
        (#"{"op":"m","source":{},"message":{}}"#, "ignored"), (#"{"op":"m","id":1}"#, "no_account"),
        (#"{"ts_ms":1}"#, "ignored"), (#"{"status":"END","id":"7","event_count":3}"#, "ignored"),
        (#"{"status":"END","event_count":3,"__op":"c","id":7,"account_id":"P1"}"#, "P1 incidents/7/created"),
    ]

    @Test func `flat rows are told by what was added to them`() throws {
        let mapper = try EventMapper.of("debezium-flat")
        for (value, outcome) in Self.rows {
            #expect(mapper.short(TestRecord(value, topic: "shop.public.incidents")) == outcome, "\(value)")
        }
        #expect(mapper.short(TestRecord(nil)) == "tombstone")
    }

    @Test func `an outbox record is read without its value`() throws {
        let mapper = try EventMapper.of("debezium-outbox")
        let headers = [("account_id", "P1"), ("eventType", "incident.triggered")]
        for value in ["{}", "null", "no json", "", nil] {
            let record = TestRecord(value, topic: "outbox.event.incident", key: "I1", headers: headers)
            #expect(mapper.short(record) == "P1 incident/I1/triggered")
        }
        let bare = TestRecord(nil, topic: "outbox.event.incident", key: "I1")
        #expect(mapper.short(bare) == "tombstone")
        #expect(mapper.short(TestRecord("{}", topic: "outbox.event.incident", headers: headers)) == "no_id")
    }
}
