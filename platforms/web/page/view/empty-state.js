/**
 * The screen of an empty conversation, with a few suggestions.
 */
import { byId, h } from '../dom.js'
import { icon } from '../icons.js'

const prompts = [
  'What is in this folder, and what is it for?',
  'Explain in five lines what you can do here',
  'Write a script that lists the files that grew this week',
]

/** @param {(text: string) => void} onChoose */
export function createEmptyState(onChoose) {
  const root = byId('empty', HTMLElement)
  const buttons = prompts.map((text) => {
    const button = h('button', { type: 'button' }, h('span', {}, text), icon('right'))
    button.addEventListener('click', () => onChoose(text))
    return h('li', {}, button)
  })
  byId('prompts', HTMLElement).replaceChildren(...buttons)

  return {
    /** @param {boolean} visible */
    show(visible) {
      root.hidden = !visible
    },
  }
}
