// The code of Archive.md in LiveClient.docc, block by block; ArticleTests.swift compares the two, and test_past_devices.py runs it
// on two devices.
// swift-format-ignore-file

import Foundation
import LiveClientReactor

// Archive.md 1
/// What the screen shows. In SwiftUI make it `@Observable`, and leave `changed` out.
@MainActor final class PastScreen {
    /// The newest first, without a hole.
    private(set) var events: [LiveEvent] = []
    /// Nothing is older than the last of them.
    private(set) var isComplete = false
    /// Something may be missing: this is not live, or what was kept is not loaded again yet.
    var isOld: Bool { isStale || !isLive }
    private var isStale = true
    private var isLive = false
    /// Why nothing comes any more, for example because nobody is signed in; nil: it does, or somebody has closed it.
    private(set) var error: (any Error)?
    /// Times of which the archive may lack events.
    private(set) var gaps: [ArchiveGap] = []
    private(set) var things: [InboxThing] = []
    /// Nil: nobody has told yet.
    private(set) var badge: Int?
    /// Called after each change: draw.
    var changed: @MainActor () -> Void = {}

    func show(_ list: ListState<LiveEvent>) {
        guard let stretch = list.stretch else { return }
        let values = Dictionary(list.items.map { ($0.id, $0.value) }, uniquingKeysWith: { $1 })
        events = stretch.ids.compactMap { values[$0] ?? nil }
        (isComplete, isStale) = (stretch.isComplete, stretch.isStale)
        changed()
    }

    func show(isLive: Bool, ended error: (any Error)? = nil) {
        (self.isLive, self.error) = (isLive, error)
        changed()
    }

    func show(_ gaps: [ArchiveGap]) {
        self.gaps = gaps
        changed()
    }

    func show(_ inbox: InboxPage) {
        (things, badge) = (inbox.things, inbox.unreadThings)
        changed()
    }
}
// Archive.md 1

// Archive.md 2
/// A person's past on one device: from the store at once, by the page as somebody scrolls, and live on top.
actor Past {
    static let area = "past"
    let client: LiveClient
    let store: SQLiteStore
    private let source: ArchivePageSource
    private let screens: LiveScreens<ArchivePageSource>
    private let keeper: ListKeeper<ArchivePageSource>
    private let states: AsyncStream<ListState<LiveEvent>>
    /// How many events somebody has use for.
    private var count = 20
    let screen: PastScreen

    init(
        of person: String, in account: String, url: String, path: String, on screen: PastScreen,
        token: @escaping @Sendable () async throws -> String
    ) async throws {
        store = try await SQLiteStore.open(
            path: path, identity: SQLiteStore.Identity(schema: 1, account: "\(account) \(person)", server: url)
        ) { transaction in
            try transaction.execute("CREATE TABLE marks (id TEXT PRIMARY KEY, aid TEXT NOT NULL) STRICT")
            try transaction.execute("CREATE TABLE gaps (first INTEGER PRIMARY KEY, last INTEGER NOT NULL) STRICT")
            try transaction.execute("CREATE TABLE inbox (page TEXT NOT NULL) STRICT")
        }
        let kept = try await SQLiteListStore<LiveEvent>(
            store, encode: { Array(try JSONEncoder().encode($0)) },
            decode: { try JSONDecoder().decode(LiveEvent.self, from: Data($0)) })
        let finger = try await kept.loadLists(area: Self.area)?.finger

        var configuration = LiveClientConfiguration(url: url)
        configuration.asksForEventIDs = true
        configuration.cursor = finger.map { LiveCursor($0) }
        client = try LiveClient(configuration, token: token)
        // A list does not keep gaps, and without them the kept events would look whole.
        source = ArchivePageSource(client.archive) { [store] found in
            await screen.show(try await store.transaction { try Self.keep(found, in: $0) })
        }
        screens = LiveScreens(source)
        states = await screens.makeList("past", of: "past") { event in event.aid.map { ListKey($0) } }
        keeper = ListKeeper(screens, in: kept, area: Self.area)
        self.screen = screen

        try await keeper.load(finger: finger)
        // The stream goes on from where the list stands.
        if finger != nil { await screens.setFinger(true) }
        await keeper.restore()
        keeper.fingerMoved(to: finger)
        await screen.show(try await store.transaction { try Self.gaps(in: $0) })
        // Here, where nobody can have asked for more yet.
        await screens.show("past", from: .end, .backward, count: count)
    }

    /// What a page says now, in place of what another one said of the same time.
    private static func keep(_ found: [ArchiveGap], in transaction: StoreTransaction) throws -> [ArchiveGap] {
        for gap in found {
            let (first, last) = (StoreValue.integer(gap.from), StoreValue.integer(gap.to ?? .max))
            try transaction.execute("DELETE FROM gaps WHERE first <= ? AND last >= ?", [last, first])
            try transaction.execute("INSERT INTO gaps VALUES (?, ?)", [first, last])
        }
        return try gaps(in: transaction)
    }

    private static func gaps(in transaction: StoreTransaction) throws -> [ArchiveGap] {
        try transaction.rows("SELECT first, last FROM gaps").map { row in
            ArchiveGap(from: row[0].integer ?? 0, to: row[1].integer == .max ? nil : row[1].integer)
        }
    }

    /// Draws until the task is cancelled.
    func run() async {
        for await state in states { await screen.show(state) }
    }

    /// Somebody has use for so many events, from the newest on.
    func show(_ count: Int) async {
        self.count = count
        await screens.show("past", from: .end, .backward, count: count)
    }

    /// Keeps it live until the client is closed, or nobody is signed in.
    func follow(_ inbox: Inbox) async {
        do {
            for try await update in client.updates {
                await handle(update)
                // With a token that is good: what was refused with one before is asked for again.
                if case .live = update {
                    if await screens.isUnauthorized { await screens.tokenChanged() }
                    await inbox.actions.tokenChanged()
                }
                if let cursor = update.cursor { keeper.fingerMoved(to: cursor.text) }
                await inbox.handle(update)
            }
            await screen.show(isLive: false)
        } catch {
            await screen.show(isLive: false, ended: error)
        }
    }

    private func handle(_ update: LiveUpdate) async {
        switch update {
        case .resync:
            source.forget()
            _ = try? await store.transaction { try $0.execute("DELETE FROM gaps") }
            await screen.show([])
            // All that comes from now on is delivered. What was known before may lack something.
            await screens.setFinger(false)
            await screens.setFinger(true)
            // Whatever is drawn is loaded again.
            let drawn = await screen.events.count
            await show(max(count, drawn))
        case .event(let event):
            guard source.keep(event), let aid = event.aid else { break }
            _ = try? await screens.reload(Thing(entity: "past", id: aid.text), types: ["created"])
        case .live, .source(.live): await screen.show(isLive: true)
        case .disconnected, .source(.stalled): await screen.show(isLive: false)
        default: break
        }
    }

    /// The same person has signed in again, after ``PastScreen/error`` said that nobody is.
    func signedIn(_ inbox: Inbox) async {
        await screens.tokenChanged()
        await inbox.actions.tokenChanged()
        await follow(inbox)
    }

    /// Somebody has signed out, or the screen is not needed any more.
    func close(_ inbox: Inbox) async {
        await inbox.close()
        keeper.close()
        await screens.close()
        await client.close()
        await store.close()
    }
}
// Archive.md 2

// Archive.md 3
/// What this person has read, and the badge.
actor Inbox {
    let actions: LiveActions
    private let kept: SQLiteActionStore
    private let archive: LiveArchive
    private let store: SQLiteStore
    private let screen: PastScreen
    private var page: InboxPage?
    private var asking: Task<Void, Never>?
    private var isAskedAgain = false
    private var isClosed = false
    private var retry = Retry(seed: .random(in: 0 ... .max))
    private var drawings = 0
    private let report: AsyncStream<ActionNews>.Continuation

    init(_ past: Past) async throws {
        (archive, store, screen) = (past.client.archive, past.store, past.screen)
        let archive = archive
        kept = try await SQLiteActionStore(store) { _, id, aid, transaction in
            guard let aid else { return try transaction.execute("DELETE FROM marks WHERE id = ?", [.text(id)]) }
            try transaction.execute(
                "INSERT INTO marks VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET aid = max(aid, excluded.aid)",
                [.text(id), .text(aid)])
        }
        let (news, report) = AsyncStream.makeStream(of: ActionNews.self)
        self.report = report
        actions = try await LiveActions.open(
            store: kept, tokens: past.client.tokens,
            functions: LiveActions.Functions(
                send: { try await archive.sendReadMarks($0) }, report: { report.yield($0) }))
        let json = try await store.transaction { try $0.rows("SELECT page FROM inbox").first?[0].text }
        page = json.flatMap { try? JSONDecoder().decode(InboxPage.self, from: Data($0.utf8)) }
        await draw()
        // A mark that was refused does not count any more.
        Task { [weak self] in for await _ in news { await self?.refresh() } }
    }

    /// Somebody has seen all of a thing: shown at once, kept, and sent when there is a network.
    func read(_ line: InboxThing) async throws {
        guard let aid = line.last.aid else { return }
        try await actions.markRead(line.thing, upTo: aid)
        await draw()
    }

    /// What the stream says. A mark of another device may be lost between two nodes, so the inbox is fetched after each `live`.
    func handle(_ update: LiveUpdate) {
        switch update {
        case .event, .live, .read: refresh()
        default: break
        }
    }

    /// One question at a time, and one more where something happened meanwhile, or where there was no answer.
    private func refresh() {
        guard asking == nil, !isClosed else {
            isAskedAgain = true
            return
        }
        asking = Task { [weak self] in
            while await self?.ask() == true {}
            await self?.asked()
        }
    }

    private func asked() {
        asking = nil
        if isAskedAgain { refresh() }
    }

    private func ask() async -> Bool {
        isAskedAgain = false
        let known = await marksOfServer()
        let found: InboxPage
        do {
            found = try await archive.inbox(InboxRequest(limit: 20))
        } catch .unavailable(_, let retryAfter) {
            return await pause(retryAfter.map { retry.wait(retryAfter: $0) } ?? retry.wait())
        } catch .unreachable {
            return await pause(retry.wait())
        } catch {
            // There is none, or nobody is signed in.
            return false
        }
        retry.reset()
        page = found
        try? await store.transaction { transaction in
            try transaction.execute("DELETE FROM inbox")
            let json = String(decoding: try JSONEncoder().encode(found), as: UTF8.self)
            try transaction.execute("INSERT INTO inbox VALUES (?)", [.text(json)])
            for mark in known { try transaction.execute("DELETE FROM marks WHERE id = ? AND aid = ?", mark) }
        }
        await draw()
        // One event is told to all devices of an account at once.
        return await pause(.random(in: 500...1_500)) && isAskedAgain
    }

    /// False: it is closed.
    private func pause(_ wait: Milliseconds) async -> Bool {
        (try? await Task.sleep(for: .milliseconds(wait))) != nil && !isClosed
    }

    /// Marks that the server has: an answer to what is asked from now on knows them. An older one does not.
    private func marksOfServer() async -> [[StoreValue]] {
        let kept = kept
        let marks = try? await store.transaction { transaction in
            try transaction.rows("SELECT id, aid FROM marks").filter { row in
                try kept.pending(LiveActions.readKind, row[0].text ?? "", in: transaction) == nil
            }
        }
        return marks ?? []
    }

    private func draw() async {
        drawings += 1
        let drawing = drawings
        let rows = try? await store.transaction { try $0.rows("SELECT id, aid FROM marks") }
        // A later one knows more.
        guard drawing == drawings, let rows, var page else { return }
        let marks = rows.compactMap { row in
            ReadMark(actionID: row[0].text ?? "", value: row[1].text ?? "")
        }
        // What this device has marked, and the server may not have yet.
        for (index, line) in page.things.enumerated() where line.unread > 0 {
            guard let aid = line.last.aid, marks.contains(where: { $0.covers(aid, of: line.thing) }) else { continue }
            page.things[index].unread = 0
            page.unreadThings -= 1
        }
        await screen.show(page)
    }

    /// Called by the past.
    func close() async {
        isClosed = true
        asking?.cancel()
        report.finish()
        await actions.close()
    }
}
// Archive.md 3

// Archive.md 4
/// Opens the past of a person, and begins to keep it live. The file at the path is this person's alone.
@MainActor func showPast(
    of person: String, in account: String, url: String, path: String,
    token: @escaping @Sendable () async throws -> String
) async throws -> (screen: PastScreen, past: Past, inbox: Inbox) {
    let screen = PastScreen()
    let past = try await Past(of: person, in: account, url: url, path: path, on: screen, token: token)
    let inbox = try await Inbox(past)
    Task { await past.run() }
    Task { await past.follow(inbox) }
    return (screen, past, inbox)
}
// Archive.md 4
