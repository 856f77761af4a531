import Glibc
import Terminal

/// The environment of livecat: which of its streams are terminals, and the variables that concern them.
struct Surroundings: Sendable {
    var inputIsTerminal = false
    var outputIsTerminal = false
    var noticesAreTerminal = false
    /// `TERM`.
    var terminalName: String?
    /// `NO_COLOR`; an empty value has no effect.
    var noColor: String?

    /// The surroundings of this process.
    static var current: Surroundings {
        Surroundings(
            inputIsTerminal: TerminalMode.isTerminal(STDIN_FILENO),
            outputIsTerminal: TerminalMode.isTerminal(STDOUT_FILENO),
            noticesAreTerminal: TerminalMode.isTerminal(STDERR_FILENO), terminalName: variable("TERM"),
            noColor: variable("NO_COLOR"))
    }

    private static func variable(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    fileprivate var isDumb: Bool { terminalName == "dumb" }

    fileprivate var allowsColor: Bool { !isDumb && noColor?.isEmpty ?? true }
}

/// How livecat shows what happens, by its options and its surroundings.
struct Appearance: Equatable, Sendable {
    let form: Screen.Form
    let colorsOutput: Bool
    let colorsNotices: Bool
    /// Whether there is a prompt and a line editor.
    let isInteractive: Bool

    init(_ settings: CatSettings, in surroundings: Surroundings) {
        let allowsColor = settings.allowsColor && surroundings.allowsColor
        colorsOutput = allowsColor && surroundings.outputIsTerminal
        colorsNotices = allowsColor && surroundings.noticesAreTerminal
        form =
            if settings.isJSON { .json } else if surroundings.outputIsTerminal {
                .terminal(marksMessages: settings.execute.isEmpty)
            } else { .pipe }
        isInteractive =
            surroundings.inputIsTerminal && surroundings.outputIsTerminal && !surroundings.isDumb && !settings.isJSON
            && settings.execute.isEmpty && settings.connection.form == .webSocket
    }
}
