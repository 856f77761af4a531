// What machines decide, for a developer who sets `debug: true`. No decision contains a token or a ticket.

/** So many characters of a decision's facts are written: a commit may name a thousand things. */
const maximumFacts = 200

/** Writes one line for each decision; for an environment's `debug`. */
export function writeDecision(who, decision) {
    const [[name, facts]] = Object.entries(decision), text = JSON.stringify(facts)
    console.debug(`livegate ${who}: ${name} ${text === "{}" ? "" : text.slice(0, maximumFacts)}`.trimEnd())
}
