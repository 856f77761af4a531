// Tests: Appearance.swift, Screen.swift

import Terminal
import Testing
import WebSocket

@testable import livecat

/// A screen whose output is kept.
private final class Shown {
    var (output, notices) = ("", "")
    private(set) var screen: Screen!

    init(_ options: [String] = [], in surroundings: Surroundings, columns: Int = 80) throws {
        let appearance = Appearance(try Words(options + ["ws://a"]).settings(), in: surroundings)
        screen = Screen(
            appearance, columns: { columns },
            write: { [unowned self] bytes, stream in
                let text = String(decoding: bytes, as: UTF8.self)
                if stream == .standardOutput { output += text } else { notices += text }
            })
    }
}

@Suite struct `The screen` {
    static let pipe = Surroundings(terminalName: "xterm")
    static let terminal = Surroundings(
        inputIsTerminal: true, outputIsTerminal: true, noticesAreTerminal: true, terminalName: "xterm", noColor: "")
    private static let (blue, green, yellow, plain) = ("\u{1B}[34m", "\u{1B}[32m", "\u{1B}[33m", "\u{1B}[39m")
    private static let clear = "\r\u{1B}[K"

    @Test func `of a pipe has a message a line, as it came`() throws {
        let shown = try Shown(in: Self.pipe)
        shown.screen.show(.text, Array("\u{1B}[31mtwo\u{FC}".utf8))
        shown.screen.show(.text, [])
        shown.screen.show(.binary, [0, 0x0A])
        shown.screen.notice("connected", .control)
        shown.screen.showControl("ping", [0x1B, 0x61])
        #expect(shown.output == "\u{1B}[31mtwo\u{FC}\n\n\0\n\n")
        #expect(shown.notices == "connected\nreceived ping (data: \"\\u{1b}a\")\n")
    }

    @Test func `of a terminal looks as wscat's`() throws {
        let shown = try Shown(in: Self.terminal)
        shown.screen.notice("connected", .control)
        shown.screen.notice("error", .error)
        #expect(shown.notices == "\(Self.green)connected\(Self.plain)\n\(Self.yellow)error\(Self.plain)\n")
        shown.screen.show(.text, Array(#"{"ent":"incident"}"#.utf8))
        shown.screen.showControl("ping", Array("p".utf8))
        #expect(
            shown.output == """
                \(Self.blue)< {"ent":"incident"}\(Self.plain)
                \(Self.blue)< received ping (data: "p")\(Self.plain)

                """)
    }

    @Test func `of a terminal is steered by no peer`() throws {
        let shown = try Shown(["--no-color"], in: Self.terminal)
        shown.screen.show(.text, Array("a\u{1B}[2Jb\nc\u{9B}d\u{2028}e".utf8))
        shown.screen.show(.binary, [0, 0x1B, 0xFF])
        #expect(shown.output == "< a\\u{1b}[2Jb\\nc\\u{9b}d\\u{2028}e\n< 001bff\n")
    }

    @Test(arguments: [
        (["--no-color"], "xterm", ""), ([], "xterm", "1"), ([], "dumb", nil), (["--no-color"], nil, nil),
    ]) func `has no colours where nobody wants them`(_ options: [String], _ name: String?, _ noColor: String?) throws {
        var place = Self.terminal
        (place.terminalName, place.noColor) = (name, noColor)
        let shown = try Shown(options, in: place)
        shown.screen.notice("connected (press CTRL+C to quit)", .control)
        shown.screen.show(.text, Array("one".utf8))
        #expect(shown.notices == "connected (press CTRL+C to quit)\n" && shown.output == "< one\n")
        #expect(shown.screen.appearance.isInteractive == (name != "dumb"))
    }

    @Test func `leaves the line being typed alone`() throws {
        let shown = try Shown(in: Self.terminal, columns: 20)
        var editor = LineEditor(prompt: "> ")
        _ = editor.type("half".utf8)
        shown.screen.editor = editor
        shown.screen.show(.text, Array("news".utf8))
        let prompt = "\(Self.clear)> half\r\u{1B}[6C"
        #expect(shown.output == "\(Self.clear)\(Self.blue)< news\(Self.plain)\n\(prompt)")
        shown.output = ""
        shown.screen.notice("reconnecting", .control)
        #expect(shown.output == Self.clear + prompt && shown.notices.contains("reconnecting"))
        shown.output = ""
        shown.screen.keepLine("half done\u{1B}")
        #expect(shown.output == "\(Self.clear)> half done\\u{1b}\n")
        _ = shown.screen.editor?.type(String(repeating: "0123456789", count: 3).utf8)
        shown.output = ""
        shown.screen.drawPrompt()
        #expect(shown.output == "\(Self.clear)> 34567890123456789\r\u{1B}[19C", "a long line stays on its row")
        shown.screen.removePrompt()
        shown.output = ""
        shown.screen.show(.text, Array("last".utf8))
        #expect(shown.output == "\(Self.blue)< last\(Self.plain)\n")
    }

    @Test func `has messages alone where some were executed`() throws {
        let shown = try Shown(["-x", "hi"], in: Self.terminal)
        shown.screen.show(.text, Array("hi".utf8))
        #expect(shown.output == "hi\n" && shown.screen.isTerse && !shown.screen.appearance.isInteractive)
        #expect(try !Shown(["-x", "hi"], in: Self.pipe).screen.isTerse)
    }

    @Test func `of JSON has an object a line, and no prompt`() throws {
        for place in [Self.pipe, Self.terminal] {
            let shown = try Shown(["--json"], in: place)
            #expect(!shown.screen.appearance.isInteractive && !shown.screen.isTerse)
            shown.screen.show(JSONLine(type: "open", milliseconds: 0))
            shown.screen.show(.text, Array("one".utf8))
            shown.screen.show(.binary, [0, 0xFF])
            let lines = shown.output.split(separator: "\n")
            #expect(lines.first == #"{"time":"1970-01-01T00:00:00.000Z","type":"open"}"#)
            #expect(lines.dropFirst().first?.hasSuffix(#","type":"message","text":"one"}"#) == true)
            #expect(lines.last?.hasSuffix(#","type":"message","base64":"AP8="}"#) == true && lines.count == 3)
        }
        let plain = try Shown(in: Self.pipe)
        plain.screen.show(JSONLine(type: "open", milliseconds: 0))
        #expect(plain.output == "", "what else happens is shown with --json alone")
    }

    @Test(arguments: [
        ([], true, true, true), ([], false, true, false), ([], true, false, false), (["--sse"], true, true, false),
        (["--json"], true, true, false), (["-x", "a"], true, true, false),
    ]) func `has a prompt between a keyboard and a terminal`(
        _ options: [String], _ input: Bool, _ output: Bool, _ isInteractive: Bool
    ) throws {
        var place = Self.terminal
        (place.inputIsTerminal, place.outputIsTerminal) = (input, output)
        #expect(try Shown(options, in: place).screen.appearance.isInteractive == isInteractive)
    }
}
