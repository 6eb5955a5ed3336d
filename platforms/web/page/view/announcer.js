/**
 * Announces each finished reply once to screen readers, and marks unread replies in the title of the tab.
 */
import { byId, h } from '../dom.js'
import { parseMarkdown, renderBlock } from '../markdown.js'

const maxChars = 1_000
const kept = 3

/** @param {Document} page */
export function createAnnouncer(page) {
  const region = byId('announcer', HTMLElement)
  const title = page.title
  page.addEventListener('visibilitychange', () => {
    if (!page.hidden) page.title = title
  })

  return {
    /** @param {import('../../protocol.ts').WireEntry} entry */
    reply({ text, question }) {
      region.append(h('p', {}, question === undefined ? `Hermes: ${spoken(text)}` : spokenQuestion(text, question)))
      while (region.childElementCount > kept) region.firstElementChild?.remove()
      if (page.hidden) page.title = `● ${title}`
    },
  }
}

/**
 * The command of a question is read, too. A result is only its last line.
 *
 * @param {string} text
 * @param {import('../../protocol.ts').WireQuestion} question
 */
function spokenQuestion(text, { state, buttons }) {
  const blocks = parseMarkdown(text.slice(0, maxChars)).flatMap((token) => renderBlock(token)?.textContent ?? [])
  if (state !== 'open') return `Hermes: ${blocks.at(-1) ?? ''}`
  return `Hermes asks: ${[...blocks, `Answers: ${buttons.map(({ label }) => label).join(', ')}.`].join('\n')}`
}

/** A reply as one would read it aloud: without markup, and without the code. @param {string} text */
function spoken(text) {
  const blocks = parseMarkdown(text.slice(0, maxChars * 2)).map((token) =>
    token.type === 'code' ? 'A block of code.' : (renderBlock(token)?.textContent ?? ''),
  )
  return blocks.filter(Boolean).join('\n').slice(0, maxChars)
}
