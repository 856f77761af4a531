// Tests: Connection+Archive.swift, ArchiveRequests.swift, ArchiveAnswer.swift

import Archive
import LiveUpdates
import TestHarness
import Testing

@testable import Gateway

struct ArchiveRequestTests {
    private static let page = ArchiveRig.get("/archive/v1")
    private static let inbox = ArchiveRig.get("/inbox/v1")

    /// An id of the year 1970.
    static let aid = ArchiveID(stamp: 5, topic: ArchiveID.hash(ofTopic: "t"), partition: 0, offset: 0, check: 7).text
    static let mark = ArchiveRig.post("{\"aid\":\"\(aid)\"}")

    @Test func `a page of a real store is answered with its cursor`() async throws {
        let folder = TemporaryFolder()
        defer { folder.remove() }
        let store = try await SQLiteArchive.open(path: folder.path("archive"), server: "S")
        let events = (0..<3).map { number in
            ArchivedEvent(
                account: Account(number == 1 ? "B" : "A"),
                event: ThinEvent(entity: "note", id: "N\(number)", type: "created"), offset: Int64(number),
                stamp: 1_000 + Int64(number), arrival: .max)
        }
        let run = ArchiveBatch.Run(
            topic: "t", partition: 0, from: 0, next: 3, stamps: .init(first: 1_000, last: 1_002), events: events)
        _ = try await store.append(ArchiveBatch(runs: [run]))
        let rig = try await ArchiveRig.start(store)
        rig.read.update { $0 = 5 }
        func id(_ number: Int) -> String {
            ArchiveID(
                stamp: 1_000 + Int64(number), topic: ArchiveID.hash(ofTopic: "t"), partition: 0,
                offset: Int64(number),
                check: ArchiveID.hash(of: events[number].event, account: Account("A"))
            ).text
        }
        func line(_ number: Int, _ more: String = "") -> String {
            "{\"ent\":\"note\",\"id\":\"N\(number)\",\"type\":\"created\",\"ts\":\(1_000 + number),\"aid\":\"\(id(number))\"\(more)}"
        }
        let page = try await rig.answer(Self.page)
        #expect(page.hasPrefix("HTTP/1.1 200 OK\r\n") && page.contains("\r\nCache-Control: no-store\r\n"))
        #expect(
            page.hasSuffix("\r\n\r\n{\"events\":[\(line(2)),\(line(0))],\"more\":false,\"at\":\"c3\",\"gaps\":[]}"))
        let older = try await rig.answer(ArchiveRig.get("/archive/v1?before=\(id(2))&limit=1"))
        #expect(older.hasSuffix("{\"events\":[\(line(0))],\"more\":false,\"gaps\":[]}"))
        let inbox = try await rig.answer(Self.inbox)
        #expect(
            inbox.hasSuffix(
                "{\"things\":[\(line(2, ",\"unread\":1")),\(line(0, ",\"unread\":1"))],\"unread_things\":2,\"more\":false,\"at\":\"c3\"}"
            ))
        let mark = try await rig.answer(ArchiveRig.post("{\"aid\":\"\(id(0))\"}"))
        #expect(mark.hasPrefix("HTTP/1.1 204 No Content\r\n") && mark.hasSuffix("\r\n\r\n"))
        #expect(try await rig.answer(ArchiveRig.get("/inbox/v1?unread=1")).contains("\"unread_things\":1,"))
        await rig.stop()
        await store.close()
    }

    /// Each row: what the store says, a request, and the beginning of the answer.
    @Test(
        arguments: [
            (.stored(0), page, "200"), (.stored(0), inbox, "200"), (.stored(0), mark, "204"),
            (.fails(.full), page, "503 not_ready"), (.fails(.closed), inbox, "503 not_ready"),
            (.fails(.readOnly), mark, "503 not_ready"),
            (.fails(.overloaded(maximumWaiting: 1)), page, "503 overloaded"),
            (.hangs, page, "503 not_ready"), (.hangs, inbox, "503 not_ready"), (.hangs, mark, "503 not_ready"),
        ] as [(ScriptedStore.Say, String, String)])
    func `every request is answered, whatever the store does`(
        row: (say: ScriptedStore.Say, request: String, answer: String)
    ) async throws {
        let store = ScriptedStore(row.say)
        let hangs = if case .hangs = row.say { true } else { false }
        let rig = try await ArchiveRig.start(store, patience: hangs ? 100 : 600_000)
        let answer = try await rig.answer(row.request)
        for word in row.answer.split(separator: " ") { #expect(answer.contains(word), "\(answer)") }
        #expect(try await eventually { rig.requests.waitingCount == 0 })
        #expect(answer.contains("\r\nCache-Control: no-store\r\n"))
        await rig.stop()
    }

    /// Each row: a stamp, what the store says of a mark up to there, and the beginning of the answer.
    @Test(
        arguments: [
            (5, .moved, "204"), (1 << 62, .moved, "204"), (1 << 62, .unknown, "400 bad_request"),
            (1 << 62, .behind, "503 not_ready"), (1 << 62, .tooMany, "429 too_many"),
        ] as [(Int64, MarkOutcome, String)])
    func `a mark that is stamped ahead has to be an event`(
        row: (stamp: Int64, outcome: MarkOutcome, answer: String)
    ) async throws {
        let store = ScriptedStore(.stored(0))
        store.outcome.update { $0 = row.outcome }
        let rig = try await ArchiveRig.start(store)
        let id = ArchiveID(stamp: row.stamp, topic: 1, partition: 0, offset: 0, check: 7)
        let answer = try await rig.answer(ArchiveRig.post("{\"aid\":\"\(id.text)\"}"))
        for word in row.answer.split(separator: " ") { #expect(answer.contains(word), "\(answer)") }
        #expect(store.marks.value.map(\.mustBeStored) == [row.stamp > 5])
        await rig.stop()
    }

    @Test func `without a store every request is refused at once, and with one that comes late answered`() async throws
    {
        let rig = try await ArchiveRig.start(nil)
        for request in [Self.page, Self.inbox, Self.mark] {
            #expect(try await rig.answer(request).contains("\"code\":\"not_ready\""))
        }
        rig.requests.use(ScriptedStore(.stored(0)))
        #expect(try await rig.answer(Self.page).hasPrefix("HTTP/1.1 200 "))
        await rig.stop()
    }

    @Test func `a page has the cursor of what its store held, and is refused where that is not read here`()
        async throws
    {
        let store = ScriptedStore(.stored(4))
        let rig = try await ArchiveRig.start(store)
        for request in [Self.page, Self.inbox] {
            // A store that is behind, and one that is written by nobody: it is asked once.
            rig.read.update { $0 = 9 }
            store.asked.update { $0 = [] }
            #expect(try await rig.answer(request).contains("\"at\":\"c4\""))
            #expect(store.asked.value == ["A"])
            rig.read.update { $0 = 3 }
            #expect(try await rig.answer(request).contains("\"code\":\"not_ready\""))
        }
        // What needs no cursor is served meanwhile.
        #expect(
            try await rig.answer(ArchiveRig.get("/archive/v1?order=asc")).contains(
                "{\"events\":[],\"more\":false,\"gaps\":[]}"))
        #expect(rig.requests.waitingCount == 0)
        await rig.stop()
    }

    @Test func `what the node had read is waited for, and a store that stays behind is served`() async throws {
        let store = ScriptedStore(.stored(4))
        let patient = try await ArchiveRig.start(store, repetitions: 1_000_000)
        for offsets in [patient.read, patient.wanted] { offsets.update { $0 = 5 } }
        let client = await patient.client(Self.inbox)
        #expect(try await eventually { store.asked.value.count >= 3 })
        #expect(!client.hasAnswer)
        store.say.update { $0 = .stored(5) }
        #expect(try await eventually { client.hasAnswer })
        #expect(client.seen.value.contains("\"at\":\"c5\""))
        await patient.stop()
        store.asked.update { $0 = [] }
        let rig = try await ArchiveRig.start(store, repetitions: 2)
        for offsets in [rig.read, rig.wanted] { offsets.update { $0 = 9 } }
        #expect(try await rig.answer(Self.page).contains("\"at\":\"c5\""))
        #expect(store.asked.value.count == 3)
        await rig.stop()
    }

    /// Each row: what the store says when a page is read once more.
    @Test(arguments: [.fails(.full), .fails(.overloaded(maximumWaiting: 1)), .hangs] as [ScriptedStore.Say])
    func `a page that was behind is answered where it cannot be read once more`(say: ScriptedStore.Say) async throws {
        let store = ScriptedStore(.stored(4))
        let rig = try await ArchiveRig.start(store, repetitions: 1_000_000)
        for offsets in [rig.read, rig.wanted] { offsets.update { $0 = 5 } }
        let client = await rig.client(Self.page)
        #expect(try await eventually { store.asked.value.count >= 2 })
        store.say.update { $0 = say }
        if case .hangs = say {
            // Within the time that it has, whenever that is over.
            #expect(try await eventually { store.open.value == 1 })
            await rig.onLoop { $0.connections[slot: 0]?.timerFired(Connection.Alarm.deadline.rawValue) }
        }
        #expect(try await eventually { client.hasAnswer })
        #expect(client.seen.value.hasPrefix("HTTP/1.1 200 ") && client.seen.value.contains("\"at\":\"c4\""))
        store.say.update { $0 = .stored(4) }
        #expect(try await eventually { store.open.value == 0 && rig.requests.waitingCount == 0 })
        await rig.stop()
    }

    @Test func `who goes while a page is to be read once more has asked for it no more`() async throws {
        let store = ScriptedStore(.stored(4))
        let rig = try await ArchiveRig.start(store, repetitions: 1_000_000)
        rig.wanted.update { $0 = 5 }
        let client = await rig.client(Self.page)
        #expect(try await eventually { store.asked.value.count >= 2 })
        await rig.cut()
        #expect(try await eventually { await rig.onLoop { $0.connections.count == 0 } })
        #expect(try await eventually { client.hasEnded.value && rig.requests.waitingCount == 0 })
        // Whoever came later has been asked for several times since.
        let asked = store.asked.value.count
        let later = await rig.client(Self.page)
        #expect(try await eventually { store.asked.value.count >= asked + 5 })
        #expect(await rig.onLoop { $0.connections.count } == 1)
        await rig.cut()
        #expect(try await eventually { later.hasEnded.value })
        await rig.stop()
    }

    @Test func `requests behind each other on one connection are answered in their order`() async throws {
        let rig = try await ArchiveRig.start(ScriptedStore(.stored(0)))
        let client = await rig.client(Self.page + Self.mark + Self.inbox + ArchiveRig.get("/archive/v1?order=x"))
        #expect(try await eventually { client.hasEnded.value })
        let answers = client.seen.value.split(separator: "HTTP/1.1 ").map { String($0.prefix(3)) }
        #expect(answers == ["200", "204", "200", "400"])
        await rig.stop()
    }

    @Test func `who asks is refused when an operator disconnects the account, and no drain is told`() async throws {
        let store = ScriptedStore(.hangs)
        let rig = try await ArchiveRig.start(store)
        let client = await rig.client(ArchiveRig.get("/archive/v1?order=asc"))
        #expect(try await eventually { rig.requests.waitingCount == 1 })
        let account = try #require(await rig.onLoop { $0.connections[slot: 0]?.identity?.account })
        #expect(await rig.onLoop { $0.disconnect(fromSlot: 0, account: account, subject: nil).closed } == 1)
        #expect(try await eventually { client.hasEnded.value })
        #expect(client.seen.value.hasPrefix("HTTP/1.1 503 ") && client.seen.value.contains("\"overloaded\""))
        #expect(rig.requests.waitingCount == 0)
        store.say.update { $0 = .stored(0) }
        #expect(try await eventually { store.open.value == 0 })
        await rig.stop()
    }

    @Test func `a connection that goes takes its question back`() async throws {
        let store = ScriptedStore(.hangs)
        let rig = try await ArchiveRig.start(store)
        let client = await rig.client(ArchiveRig.get("/archive/v1?order=asc"))
        #expect(try await eventually { rig.requests.waitingCount == 1 })
        await rig.cut()
        #expect(try await eventually { client.hasEnded.value && rig.requests.waitingCount == 0 })
        store.say.update { $0 = .stored(0) }
        #expect(try await eventually { store.open.value == 0 })
        await rig.stop()
    }
}
