import LiveClient
import Options

/// What comes of a Livegate's archive.
extension Cat {
    /// Shows a page, a line an event or a thing; what is known besides goes to standard error.
    func receive(document answer: ServerAnswer) -> AfterAnswer {
        switch settings.document {
        case .sync: return .refused
        case .archive:
            guard let (page, lines) = ArchivePage.read(answer) else { return .refused }
            show(lines, older: page.more ? page.events.last?.aid : nil)
            for gap in page.gaps { screen.notice(gap.notice, .error) }
            if let at = page.at { showPlace(at) }
        case .inbox:
            guard let (page, lines) = InboxPage.read(answer) else { return .refused }
            show(lines, older: page.more ? page.things.last?.last.aid : nil)
            screen.notice("things with something unread: \(page.unreadThings)", .control)
            showPlace(page.at)
        case .mark:
            guard (200..<300).contains(answer.status) else { return .refused }
            screen.notice("marked as read", .control)
        }
        return .done
    }

    private func show(_ lines: [[UInt8]], older: EventID?) {
        for line in lines { print(.text, line) }
        if let older { screen.notice("more: --before \(older.text.printable)", .control) }
    }

    private func showPlace(_ at: LiveCursor) {
        screen.notice("live from here on: --since \(at.text.printable)", .control)
    }
}

extension ArchiveGap {
    /// What a person reads.
    var notice: String {
        "gap" + StreamMessage.time(" from ", from) + (to.map { StreamMessage.time(" to ", $0) } ?? " on")
            + ": the archive may lack what happened then"
    }
}
