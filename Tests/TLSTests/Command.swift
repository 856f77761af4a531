import Glibc

/// A program run to its end, or left running, without a shell.
enum Command {
    struct Result {
        let status: Int32
        let output: String
    }

    /// Runs a program with everything it prints in one string.
    static func run(_ arguments: [String], in directory: String, input: String = "") -> Result {
        let outputPath = "\(directory)/output-\(getpid())-\(pthread_self())"
        let inputPath = outputPath + ".in"
        write(input, to: inputPath)
        let child = start(arguments, in: directory, input: inputPath, output: outputPath)
        guard child > 0 else { return Result(status: -1, output: "cannot start \(arguments[0])") }
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) < 0 && errno == EINTR {}
        let output = String(decoding: read(outputPath), as: UTF8.self)
        unsafe unlink(outputPath)
        unsafe unlink(inputPath)
        return Result(status: status & 0x7F == 0 ? status >> 8 & 0xFF : -1, output: output)
    }

    /// - Returns: the process, or a negative number.
    static func start(_ arguments: [String], in directory: String, input: String, output: String) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        unsafe posix_spawn_file_actions_adddup2(&actions, 1, 2)
        let line = ["env", "-C", directory] + arguments
        var words: [UnsafeMutablePointer<CChar>?] = unsafe line.map { unsafe strdup($0) } + [nil]
        defer { for index in unsafe words.indices { unsafe free(words[index]) } }
        var child: pid_t = -1
        let error = unsafe posix_spawnp(&child, "env", &actions, nil, &words, environ)
        return error == 0 ? child : -error
    }

    static func write(_ text: String, to path: String) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        precondition(descriptor >= 0, "cannot write \(path)")
        let bytes = Array(text.utf8)
        precondition(unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
        close(descriptor)
    }

    static func read(_ path: String) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
            guard count > 0 else { return content }
            content += chunk.prefix(count)
        }
    }
}
