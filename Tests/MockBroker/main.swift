import Glibc
import Kafka

// librdkafka's embedded broker as a program, for tests end to end: the real protocol in another process, without Java.
//
//     mockbroker TOPIC:PARTITIONS…
//
// prints its address and then obeys lines on standard input until it ends: `topic NAME PARTITIONS`, `down`, `up`. Each is
// answered by `ok` or `error: …`.

/// A line that a pipe's reader gets at once.
func say(_ line: String) {
    print(line)
    fflush(nil)
}

func obey(_ words: [Substring], _ cluster: MockCluster) throws(KafkaError) -> Bool {
    switch words.first {
    case "topic" where words.count == 3:
        guard let partitions = Int(words[2]) else { return false }
        try cluster.createTopic(String(words[1]), partitions: partitions)
    case "down": try cluster.setDown()
    case "up": try cluster.setUp()
    default: return false
    }
    return true
}

do throws(KafkaError) {
    let cluster = try MockCluster()
    for topic in CommandLine.arguments.dropFirst() { _ = try obey(["topic"] + topic.split(separator: ":"), cluster) }
    say(cluster.bootstrap)
    while let line = readLine() {
        do throws(KafkaError) {
            say(try obey(line.split(separator: " "), cluster) ? "ok" : "error: unknown order")
        } catch {
            say("error: \(error)")
        }
    }
} catch {
    say("error: \(error)")
}
