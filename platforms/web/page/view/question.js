/**
 * A question of the gateway: its text with a button for each answer, and afterwards its result.
 */
import { ApiError } from '../api.js'
import { h, setText } from '../dom.js'
import { icon } from '../icons.js'
import { createProse } from '../prose.js'

/** @typedef {import('../items.js').QuestionItem} QuestionItem */
/** @typedef {import('../../protocol.ts').WireButton} WireButton */
/**
 * @typedef {object} QuestionActions
 * @property {import('../api.js').Api['press']} onPress
 * @property {() => void} onWrite the answer is the next message
 */

/** @type {Record<QuestionItem['question']['state'], string>} */
const titles = { open: 'Question', accepted: 'Answered', refused: 'Refused', unanswered: 'Not answered' }

/**
 * @param {QuestionActions} actions
 * @returns {import('./message.js').View<QuestionItem>}
 */
export function createQuestionView({ onPress, onWrite }) {
  const title = h('h2', { class: 'question-title' })
  const body = h('div', { class: 'prose', dir: 'auto' })
  const choices = h('div', { class: 'choices', role: 'group', 'aria-label': 'Answers' })
  const result = h('p', { class: 'question-result', role: 'status' })
  const card = h('div', { class: 'card', tabindex: '-1' }, title, body, choices, result)
  const node = h('li', { class: 'entry question' }, card)
  const prose = createProse(body)
  let entryId = ''
  let shown = ''

  return {
    node,
    update(item) {
      const { state, buttons } = item.question
      entryId = item.entryId
      if (node.dataset['state'] !== state) {
        node.dataset['state'] = state
        title.replaceChildren(titles[state], ...mark(state))
      }
      prose.update(item.text, true)
      const next = JSON.stringify(buttons)
      if (next === shown) return
      shown = next
      const hadFocus = choices.contains(document.activeElement)
      choices.replaceChildren(...buttons.map(createButton))
      choices.hidden = buttons.length === 0
      if (buttons.length === 0) setText(result, '')
      if (hadFocus) card.focus({ preventScroll: true })
    },
  }

  /** @param {WireButton} choice */
  function createButton(choice) {
    const button = h('button', { type: 'button', 'data-style': choice.style }, choice.label)
    button.addEventListener('click', () => void press(choice))
    return button
  }

  /** The buttons stay disabled until the result arrives, which replaces them. @param {WireButton} choice */
  async function press(choice) {
    enable(false)
    // A disabled button loses the focus. The next question must not receive it: a second Enter would answer that one.
    card.focus({ preventScroll: true })
    try {
      const { status, text } = await onPress(choice.id, entryId)
      setText(result, text)
      if (status === 'refused' || choice.isText === true) enable(true)
      if (choice.isText === true) onWrite()
    } catch (error) {
      enable(true)
      const reason = error instanceof ApiError ? `${error.message} ${error.hint}` : 'The gateway cannot be reached.'
      setText(result, `The answer was not stored. ${reason}`)
    }
  }

  /** @param {boolean} enabled */
  function enable(enabled) {
    for (const button of choices.querySelectorAll('button')) button.disabled = !enabled
  }
}

/** @param {QuestionItem['question']['state']} state */
function mark(state) {
  if (state === 'open') return []
  return [icon(state === 'accepted' ? 'check' : 'cross')]
}
