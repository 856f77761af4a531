// The search of the front page. `search.json` has each section of each page: [address, page, heading, text].
"use strict"

const most = 30
const words = document.getElementById("words")
const count = document.getElementById("count")
const found = document.getElementById("found")
const ways = document.getElementById("ways")
let sections = null

function plain(text) {
  return text.toLowerCase()
}

// Loaded when somebody begins to search, once.
function load() {
  sections ??= fetch("search.json").then(async answer => {
    if (!answer.ok) throw new Error(`status ${answer.status}`)
    return (await answer.json()).map(([address, page, heading, text]) =>
      ({ address, page, heading, text, inPage: plain(page), inHeading: plain(heading), inText: plain(text) }))
  })
  sections.catch(() => { sections = null })
  return sections
}

// How well a section answers: each word has to be there. Zero: not at all.
function score(section, asked) {
  let sum = 0
  for (const word of asked) {
    const points = (section.inPage === word ? 40 : 0) + (section.inPage.includes(word) ? 12 : 0)
      + (section.inHeading === word ? 20 : 0) + (section.inHeading.includes(word) ? 8 : 0)
      + Math.min(4, section.inText.split(word).length - 1)
    if (points === 0) return 0
    sum += points
  }
  return sum
}

// A piece of the text around the first word that is in it.
function around(section, asked) {
  const at = Math.max(0, Math.min(...asked.map(word => section.inText.indexOf(word)).filter(index => index >= 0), section.text.length))
  const start = Math.max(0, (at === section.text.length ? 0 : at) - 60)
  return (start > 0 ? "…" : "") + section.text.slice(start, start + 200) + (section.text.length > start + 200 ? "…" : "")
}

function line(section, asked) {
  const item = document.createElement("li")
  const link = document.createElement("a")
  link.href = section.address
  link.textContent = section.heading && section.heading !== section.page ? `${section.page}: ${section.heading}` : section.page
  const text = document.createElement("small")
  text.textContent = around(section, asked)
  item.append(link, text)
  return item
}

let latest = 0
async function search() {
  const number = ++latest
  const asked = plain(words.value).split(/\s+/).filter(Boolean)
  ways.hidden = asked.length > 0
  if (asked.length === 0) {
    found.replaceChildren()
    count.textContent = ""
    return
  }
  let all
  try {
    all = await load()
  } catch {
    if (number === latest) count.textContent = "The search could not be loaded. Check the connection, and type again."
    return
  }
  if (number !== latest) return
  const hits = all.map(section => ({ section, points: score(section, asked) })).filter(({ points }) => points > 0)
  hits.sort((one, other) => other.points - one.points)
  found.replaceChildren(...hits.slice(0, most).map(({ section }) => line(section, asked)))
  count.textContent = hits.length === 0 ? "Nothing found."
    : hits.length > most ? `The best ${most} of ${hits.length} sections` : `${hits.length} ${hits.length === 1 ? "section" : "sections"}`
}

words.addEventListener("input", search)
document.getElementById("search").addEventListener("submit", event => {
  event.preventDefault()
  search()
})
const given = new URLSearchParams(location.search).get("q")
if (given !== null) {
  words.value = given
  words.focus()
  search()
}
