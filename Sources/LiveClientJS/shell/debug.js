// What machines decide, for a developer who asks for it by `debug: true`. No decision has a token or a ticket in it.

/** So many characters of a decision's facts are written: a commit may name a thousand things. */
const maximumFacts = 200

/** Writes one line for each decision; for an environment's `debug`. */
export function writeDecision(who, decision) {
    const [[name, facts]] = Object.entries(decision), text = JSON.stringify(facts)
    console.debug(`livegate ${who}: ${name} ${text === "{}" ? "" : text.slice(0, maximumFacts)}`.trimEnd())
}
