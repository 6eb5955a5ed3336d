/**
 * Tells screen readers about finished replies, once each and not word by word, and the tab about unread ones.
 */
import { byId, h } from '../dom.js'

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
    /** @param {string} text */
    reply(text) {
      region.append(h('p', {}, `Hermes: ${text.slice(0, maxChars)}`))
      while (region.childElementCount > kept) region.firstElementChild?.remove()
      if (page.hidden) page.title = `● ${title}`
    },
  }
}
