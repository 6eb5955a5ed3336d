/**
 * What happens now: what needs a person, what runs, what waits, and how the platforms are.
 */
import { addressOfChat, addressOfView } from '../address.js'
import { h } from '../dom.js'
import { clockTime, sinceTime } from '../time.js'
import { createCounter, createList, pageOf } from './list.js'
import { pairingList } from './people.js'
import { createSection } from './section.js'

/** @typedef {import('./views.js').ViewContext} ViewContext */
/** @typedef {ViewContext & Pick<Parameters<typeof createList>[0], 'onCount' | 'onFail'>} ListContext */

/** @param {ViewContext} context */
export async function show(context) {
  const { root, api, onChange } = context
  /** @type {Promise<any> | undefined} */
  let reading
  /** Lists that are drawn together share one answer. */
  const now = () => {
    reading ??= api.request('/api/now').finally(() => {
      reading = undefined
    })
    return reading
  }
  const parts = [
    { title: 'Needs you', create: warnings, topics: ['status', 'platforms', 'config', 'pause', 'plugins', 'hooks'] },
    { title: 'Questions', create: questions, topics: ['approvals', 'turns'] },
    { title: 'People who ask for access', create: pairingList, topics: ['pairing'] },
    {
      title: 'Turns',
      create: (/** @type {ListContext} */ each) => turns(each, now),
      topics: ['turns', 'inbox'],
      isAlways: true,
    },
    {
      title: 'Messages that failed',
      create: (/** @type {ListContext} */ each) => deadLetters(each, 'messages'),
      topics: ['turns', 'inbox'],
    },
    {
      title: 'Replies that were not delivered',
      create: (/** @type {ListContext} */ each) => deadLetters(each, 'replies'),
      topics: ['outbox'],
    },
    {
      title: 'Waiting',
      create: (/** @type {ListContext} */ each) => queues(each, now),
      topics: ['turns', 'inbox', 'outbox'],
      isAlways: true,
    },
    {
      title: 'Platforms',
      create: (/** @type {ListContext} */ each) => platforms(each, now),
      topics: ['platforms', 'turns', 'status'],
      isAlways: true,
    },
  ]
  const calm = h('p', { class: 'fine calm', hidden: true }, 'Nothing needs you.')
  const counts = new Map()
  root.append(calm)
  const lists = parts.map(({ title, create, topics, isAlways = false }) => {
    const section = createSection(title)
    const count = createCounter(section)
    const list = create({
      ...context,
      onCount(entries, isAll) {
        if (isAlways) return
        count(entries, isAll)
        counts.set(title, entries)
        section.hidden = entries === 0
        calm.hidden = [...counts.values()].some((each) => each > 0)
      },
      onFail() {
        section.hidden = false
      },
    })
    section.hidden = !isAlways
    section.append(list.element)
    root.append(section)
    onChange(topics, list.refresh)
    return list
  })
  await Promise.all(lists.map((list) => list.refresh()))
}

/** What `hermes status` warns of. @param {ListContext} context */
function warnings({ api, ...context }) {
  return createList({
    label: 'Warnings',
    load: pageOf(async () => warningsOf(await api.request('/api/status'))),
    row: ({ text, todo, href, action }) => ({
      key: text,
      name: text.charAt(0).toUpperCase() + text.slice(1),
      facts: [href === undefined ? todo : h('a', { href }, todo)],
      state: 'warn',
      stateName: 'Warning',
      actions: action === undefined ? [] : [{ ...action, act: () => api.request(action.path, { body: action.body }) }],
    }),
    empty: 'All is well.',
    ...context,
  })
}

/**
 * @typedef {object} Warning
 * @property {string} text
 * @property {string} todo what to do
 * @property {string} [href] where
 * @property {{ label: string, path: string, body: object, problem: string, said: string, confirm?: { title: string, text: string } }} [action]
 */

/** @param {any} status @returns {Warning[]} */
function warningsOf({ degraded, pendingRestart, hooks, plugins, daemons }) {
  const end = {
    label: 'End the pause',
    path: '/api/pause',
    body: { off: true },
    problem: 'The agent is still paused.',
    said: 'The agent works again.',
  }
  const restart = {
    label: 'Restart',
    path: '/api/restart',
    body: {},
    problem: 'The gateway was not restarted.',
    said: 'The gateway restarts.',
    confirm: { title: 'Restart the gateway?', text: 'Open turns go on after the restart.' },
  }
  const log = { todo: 'Look in the log', href: addressOfView('logs', { level: 'warn' }) }
  const extensions = { todo: 'Look at the extensions', href: addressOfView('automations') }
  return [
    ...degraded.map((/** @type {string} */ text) =>
      text.startsWith('the agent is paused')
        ? { text, todo: 'Messages wait until the pause ends.', action: end }
        : { text, ...log },
    ),
    ...pendingRestart.map((/** @type {string} */ path) => ({
      text: `${path} was changed`,
      todo: 'It applies after a restart.',
      action: restart,
    })),
    ...[...hooks, ...plugins, ...daemons.filter(({ state = '' }) => state === 'restarting')].map(
      ({ name = '', id = name, state = '', reason = '' }) => ({
        text: `${id} ${state}${reason === '' ? '' : `: ${reason}`}`,
        ...extensions,
      }),
    ),
  ]
}

/** @param {ListContext} context */
function questions({ api, ...context }) {
  return createList({
    label: 'Questions',
    load: pageOf(async () => (await api.request('/api/approvals/pending')).questions),
    row: ({ id, platform, chat_name, user_name, user_id, text, command, choices, accepts_text, expires_at }) => ({
      key: id,
      name: command ?? text,
      facts: [
        platform,
        chat_name,
        user_name ?? user_id,
        `until ${clockTime(Date.parse(expires_at))}`,
        accepts_text && choices.length === 0 ? 'The answer is written in the chat.' : '',
      ],
      text: command === null ? '' : text,
      state: 'busy',
      stateName: 'Waits for an answer',
      actions: choices.map((/** @type {{ answer: string, label: string }} */ { answer, label }) => ({
        label,
        act: () => api.request('/api/approvals/decide', { body: { id, answer } }),
        problem: 'The answer was not taken.',
        said: `Answered: ${label}`,
        isDanger: answer === 'deny',
      })),
    }),
    empty: 'No question waits.',
    ...context,
  })
}

/** @param {ListContext} context @param {() => Promise<any>} now */
function turns({ api, ...context }, now) {
  return createList({
    label: 'Turns',
    load: pageOf(async () => (await now()).turns),
    row: (turn) => ({
      key: turn.id,
      name: turn.title || turn.chat_name || turn.user_name || turn.chat_id,
      href:
        turn.platform === 'web'
          ? addressOfChat(turn.chat_id)
          : `/?${new URLSearchParams({ session: turn.session_id })}`,
      facts: [
        turn.platform,
        turn.user_name,
        turn.model,
        turn.outage_since === null ? (turn.tool ?? turn.state) : 'the model does not answer',
        sinceTime(turn.started_at),
        h('a', { href: `/?${new URLSearchParams({ trace: turn.id })}` }, 'Trace'),
      ],
      state: turn.state === 'waiting' || turn.outage_since !== null ? 'warn' : 'busy',
      stateName: turn.state,
      actions: turn.is_stopping
        ? []
        : [
            {
              label: 'Stop',
              act: () => api.request('/api/turns/stop', { body: { turn_id: turn.id } }),
              problem: 'The turn was not stopped.',
              said: 'The turn was stopped.',
              isDanger: true,
            },
          ],
    }),
    empty: 'No turn runs. A message in any chat begins one.',
    ...context,
  })
}

/** @param {ListContext} context @param {'messages' | 'replies'} of */
function deadLetters({ api, ...context }, of) {
  const path = of === 'messages' ? '/api/inbox' : '/api/outbox'
  const one = of === 'messages' ? 'message' : 'reply'
  return createList({
    label: of === 'messages' ? 'Messages that failed' : 'Replies that were not delivered',
    load: async (cursor) => {
      const query = new URLSearchParams({ of, state: 'dead', limit: '50', ...(cursor === undefined ? {} : { cursor }) })
      const { entries, next_cursor } = await api.request(`/api/queue?${query}`)
      return { entries, next: next_cursor }
    },
    row: ({ id, platform, chat_id, text, reason, tries, at }) => ({
      key: String(id),
      name: text || `A ${one} without words`,
      facts: [
        platform,
        chat_id,
        sinceTime(at),
        `${tries} ${tries === 1 ? 'attempt' : 'attempts'}`,
        of === 'messages' && h('a', { href: `/?${new URLSearchParams({ trace: String(id) })}` }, 'Trace'),
      ],
      text: reason ?? '',
      state: 'bad',
      stateName: 'Failed',
      actions: [
        {
          label: 'Retry',
          act: () => api.request(`${path}/retry`, { body: { id } }),
          problem: `The ${one} was not retried.`,
          said: 'It is tried again.',
        },
        {
          label: 'Drop',
          act: () => api.request(`${path}/drop`, { body: { id } }),
          problem: `The ${one} was not dropped.`,
          said: 'It was dropped.',
          isDanger: true,
          confirm: { title: `Drop this ${one}?`, text: 'It is not tried again.' },
        },
      ],
    }),
    empty: 'None.',
    ...context,
  })
}

/** @param {ListContext} context @param {() => Promise<any>} now */
function queues(context, now) {
  return createList({
    label: 'Waiting',
    load: pageOf(async () => {
      const { messages, replies } = await now()
      return [
        { name: 'Messages', ...messages },
        { name: 'Replies', ...replies },
      ]
    }),
    row: ({ name, open, oldest_at }) => ({
      key: name,
      name,
      facts: [open === 0 ? 'none' : `${open}`, oldest_at !== null && `the oldest ${sinceTime(oldest_at)}`],
    }),
    empty: '',
    ...context,
  })
}

/** @param {ListContext} context @param {() => Promise<any>} now */
function platforms(context, now) {
  return createList({
    label: 'Platforms',
    load: pageOf(async () =>
      (await now()).platforms.filter((/** @type {{ state: string }} */ { state }) => state !== 'disabled'),
    ),
    row: ({ name, state, reason, receiving, last_event_at }) => ({
      key: name,
      name,
      facts: [
        reason !== undefined && state === 'connected' ? 'degraded' : state,
        receiving === false && 'not receiving',
        reason,
        last_event_at !== null && `last used ${sinceTime(last_event_at)}`,
      ],
      state:
        state !== 'connected'
          ? state === 'failed'
            ? 'bad'
            : 'warn'
          : reason !== undefined || receiving === false
            ? 'warn'
            : 'good',
    }),
    empty: 'No platform is connected.',
    ...context,
  })
}
