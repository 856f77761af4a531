import Foundation
import Glibc
import LiveClient
import Options
import Reactor
import Synchronization
import Terminal

/// The terminal's screen while the program runs: a separate one, which disappears with it.
///
/// If the terminal accepts no output, only the loop that writes waits. The newest frame is written when it accepts output again.
final class Display: BoardDisplay {
    private struct State {
        /// What the terminal shows, or will show next; nil: not known.
        var shown: String?
        /// The next frame to write.
        var waiting: String?
        var isWriting = false
    }

    private let mode: TerminalMode
    private let isColored: Bool
    private let loop: EventLoop
    private let state = Mutex(State())

    /// Nil if there is no terminal.
    init?(isColored: Bool) {
        guard TerminalMode.isTerminal(STDOUT_FILENO), let mode = TerminalMode(),
            let loop = try? EventLoop(label: "display")
        else { return nil }
        self.mode = mode
        self.isColored = isColored
        self.loop = loop
    }

    var size: (columns: Int, rows: Int) { (TerminalMode.columns, TerminalMode.rows) }

    func begin() {
        mode.enterRaw()
        forget()
        // xterm's private modes: the alternate screen (1049), without a cursor (25), and without wrapping wide lines (7).
        loop.execute { StandardOutput.write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l") }
    }

    /// Marks the content of the terminal as unknown.
    func forget() { state.withLock { $0.shown = nil } }

    /// Writes the lines if they have changed. Each draw reads the size, because the terminal may change it at any time.
    func show(_ lines: (_ columns: Int, _ rows: Int) -> [BoardLine]) {
        let size = size
        // A line is cleared before it is written: after its last column there is nothing to clear.
        let frame = lines(size.columns, size.rows).map { "\u{1B}[K" + $0.drawn(isColored: isColored) }
        let text = "\u{1B}[H" + frame.joined(separator: "\n")
        let begins = state.withLock { state in
            guard state.waiting ?? state.shown != text else { return false }
            state.waiting = text
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if begins { loop.execute { [self] in write() } }
    }

    private func write() {
        while let (text, isAll) = next() {
            // Content in another size, or from another program, is cleared first. Terminals that know mode 2026 show all of it at
            // once.
            StandardOutput.write("\u{1B}[?2026h" + (isAll ? "\u{1B}[2J" : "") + text + "\u{1B}[?2026l")
        }
    }

    private func next() -> (text: String, isAll: Bool)? {
        state.withLock { state in
            guard let text = state.waiting.take() else {
                state.isWriting = false
                return nil
            }
            defer { state.shown = text }
            return (text, state.shown == nil)
        }
    }

    func end() async {
        await withCheckedContinuation { ended in
            loop.execute { [mode] in
                StandardOutput.write("\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
                mode.restore()
                ended.resume()
            }
        }
    }
}

/// The local time of day.
enum LocalTime {
    private static let day: Milliseconds = 86_400_000

    /// Hours, minutes and seconds; with the date if it is another day than now.
    static func text(_ time: Milliseconds, now: Milliseconds, zone: TimeZone = .current) -> String {
        let (then, today) = (local(time, zone), local(now, zone))
        let seconds = (then % day + day) % day / 1000
        let clock = [seconds / 3600, seconds / 60 % 60, seconds % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
            .joined(separator: ":")
        guard floor(then) != floor(today) else { return clock }
        let date = Date.ISO8601FormatStyle(timeZone: zone).year().month().day()
        return date.format(Date(timeIntervalSince1970: Double(time) / 1000)) + " " + clock
    }

    private static func local(_ time: Milliseconds, _ zone: TimeZone) -> Milliseconds {
        let date = Date(timeIntervalSince1970: Double(time) / 1000)
        return time + Milliseconds(zone.secondsFromGMT(for: date)) * 1000
    }

    private static func floor(_ time: Milliseconds) -> Milliseconds { (time - (time % day + day) % day) / day }
}
