/**
 * The list of the conversation. Keeps one view for every item and updates only changed items.
 */
import { h } from '../dom.js'
import { dayName, dayNumber } from '../time.js'
import { createActivityView } from './activity.js'
import { createAgentView, createNoticeView, createUserView } from './message.js'
import { createQuestionView } from './question.js'

/** @typedef {import('../items.js').Item} Item */
/** @typedef {{ node: HTMLElement, item: Item, update: (item: Item) => void }} Shown */

/**
 * @param {object} options
 * @param {HTMLElement} options.list
 * @param {() => number} options.now
 * @param {import('./message.js').MessageActions & import('./question.js').QuestionActions & import('./activity.js').ActivityActions} options.actions
 * @returns {{ render: (items: readonly Item[]) => void }}
 */
export function createLog({ list, now, actions }) {
  /** @type {Map<string, Shown>} */
  let views = new Map()
  /** @type {Map<number, HTMLElement>} */
  let days = new Map()

  return {
    render(items) {
      /** @type {typeof views} */
      const nextViews = new Map()
      /** @type {typeof days} */
      const nextDays = new Map()
      const today = dayNumber(now())
      let lastDay = items.length > 0 ? dayNumber(items[0]?.at ?? 0) : today
      // A date is shown only if the conversation started before today.
      let named = lastDay === today
      /** @type {HTMLElement[]} */
      const nodes = []
      for (const item of items) {
        const day = dayNumber(item.at)
        if (!named || day > lastDay) {
          const line = days.get(day) ?? h('li', { class: 'day' })
          line.textContent = dayName(item.at, now())
          nextDays.set(day, line)
          nodes.push(line)
        }
        named = true
        lastDay = Math.max(day, lastDay)
        const view = show(item)
        nextViews.set(item.key, view)
        nodes.push(view.node)
      }
      views = nextViews
      days = nextDays
      place(nodes)
      markLast(items)
    },
  }

  /** @param {Item} item @returns {Shown} */
  function show(item) {
    const known = views.get(item.key)
    if (known?.item === item) return known
    const view = known !== undefined && known.item.kind === item.kind ? known : create(item)
    view.update(item)
    view.item = item
    return view
  }

  /** @param {Item} item @returns {Shown} */
  function create(item) {
    if (item.kind === 'user') return adapt(createUserView(actions), isUser, item)
    if (item.kind === 'agent') return adapt(createAgentView(actions), isAgent, item)
    if (item.kind === 'notice') return adapt(createNoticeView(), isAgent, item)
    if (item.kind === 'question') return adapt(createQuestionView(actions), isQuestion, item)
    return adapt(createActivityView(actions), isActivity, item)
  }

  /** @param {HTMLElement[]} nodes */
  function place(nodes) {
    /** @type {ChildNode | null} */
    let at = list.firstChild
    for (const node of nodes) {
      if (node === at) at = at.nextSibling
      else list.insertBefore(node, at)
    }
    while (at !== null) {
      const next = at.nextSibling
      at.remove()
      at = next
    }
  }

  /** The newest answer keeps its buttons visible. @param {readonly Item[]} items */
  function markLast(items) {
    const last = items.findLast(({ kind }) => kind !== 'notice')
    for (const { node, item } of views.values()) node.classList.toggle('last', item === last)
  }
}

/**
 * @template {Item} Kind
 * @param {import('./message.js').View<Kind>} view
 * @param {(item: Item) => item is Kind} fits
 * @param {Item} item
 * @returns {Shown}
 */
function adapt(view, fits, item) {
  return { node: view.node, item, update: (next) => fits(next) && view.update(next) }
}

/** @param {Item} item @returns {item is import('../items.js').UserItem} */
function isUser(item) {
  return item.kind === 'user'
}

/** @param {Item} item @returns {item is import('../items.js').AgentItem} */
function isAgent(item) {
  return item.kind === 'agent' || item.kind === 'notice'
}

/** @param {Item} item @returns {item is import('../items.js').QuestionItem} */
function isQuestion(item) {
  return item.kind === 'question'
}

/** @param {Item} item @returns {item is import('../items.js').ActivityItem} */
function isActivity(item) {
  return item.kind === 'activity'
}
