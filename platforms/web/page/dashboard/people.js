/**
 * The people: who asks for access, who has it, and what runs without a question.
 */
import { h } from '../dom.js'
import { clockTime, sinceTime } from '../time.js'
import { createCounter, createList, pageOf } from './list.js'
import { createButton, createSection } from './section.js'

/** @typedef {import('./now.js').ListContext} ListContext */

/** @param {import('./views.js').ViewContext} context */
export async function show(context) {
  const { root, onChange } = context
  const parts = [
    { title: 'Who asks for access', create: pairingList, topics: ['pairing'] },
    { title: 'Who has access', create: namedList, topics: ['pairing', 'config'] },
    { title: 'Who has written', create: seenList, topics: ['sessions', 'pairing', 'config'] },
    { title: 'What runs without a question', create: rememberedList, topics: ['approvals', 'config'] },
  ]
  const lists = parts.map(({ title, create, topics }) => {
    const section = createSection(title)
    const list = create({ ...context, onCount: createCounter(section) })
    section.append(list.element)
    root.append(section)
    onChange(topics, list.refresh)
    return list
  })
  await Promise.all(lists.map((list) => list.refresh()))
}

/** People who wrote to the bot and wait for an owner. @param {ListContext} context */
export function pairingList(context) {
  const { api, say } = context
  const clear = createButton('Refuse all', async () => {
    await api.clearPairingRequests()
    say('All requests were refused.')
    await list.refresh()
  })
  const list = createList({
    label: 'Who asks for access',
    load: pageOf(api.pairingRequests),
    row: ({ platform, requestId, userId, userName, createdAt }) => ({
      key: requestId,
      name: userName || userId,
      facts: [platform, userId, `since ${clockTime(createdAt)}`],
      state: 'warn',
      stateName: 'Waits for your decision',
      actions: [
        {
          label: 'Give access',
          act: () => api.approvePerson(platform, requestId),
          problem: 'The person has no access.',
          said: `${userName || userId} has access now.`,
        },
        {
          label: 'Refuse',
          act: () => api.denyPerson(platform, requestId),
          problem: 'The request could not be refused.',
          said: `The request of ${userName || userId} was refused.`,
        },
      ],
    }),
    empty: 'No one. Who writes to the bot without access can ask for it here; a request ends after one hour.',
    ...context,
    onCount(count, isAll) {
      clear.hidden = count < 2
      context.onCount?.(count, isAll)
    },
  })
  list.element.append(clear)
  return list
}

/** Owners, members and guests that the configuration or a pairing names. @param {ListContext} context */
function namedList(context) {
  const { api } = context
  return createList({
    label: 'Who has access',
    load: pageOf(async () => (await api.request('/api/people')).people),
    row: (person) => ({
      ...personRow(person),
      actions:
        person.reason === pairedReason
          ? [
              {
                label: 'Take back',
                act: () =>
                  api.request('/api/pairing/revoke', { body: { platform: person.platform, user_id: person.user_id } }),
                problem: 'The person still has access.',
                said: `${person.user_id} has no access now.`,
                isDanger: true,
                confirm: {
                  title: `Take the access of ${person.user_id} back?`,
                  text: 'Messages that wait are not answered.',
                },
              },
            ]
          : [],
    }),
    empty: 'No one besides you. Approve a request above, or name people in the allow list of a platform.',
    ...context,
  })
}

/** @param {ListContext} context */
function seenList(context) {
  const { api } = context
  return createList({
    label: 'Who has written',
    async load(cursor) {
      const query = new URLSearchParams({ of: 'seen', ...(cursor === undefined ? {} : { cursor }) })
      const { people, next_cursor } = await api.request(`/api/people?${query}`)
      return { entries: people, next: next_cursor }
    },
    row: personRow,
    empty: 'No one yet. Who writes to Hermes on a platform appears here.',
    ...context,
  })
}

/** How the gateway says that a person has access by pairing. */
const pairedReason = 'an owner has approved the user'

/**
 * @typedef {object} Person
 * @property {string} platform
 * @property {string} user_id
 * @property {string | null} user_name
 * @property {string} role
 * @property {boolean} is_allowed
 * @property {string} reason
 * @property {number | null} conversations
 * @property {string | null} last_at
 */

/** @param {Person} person @returns {import('./list.js').Row} */
function personRow({ platform, user_id, user_name, role, is_allowed, reason, conversations, last_at }) {
  return {
    key: `${platform} ${user_id}`,
    name: user_name ?? (user_id === '*' ? `Everybody on ${platform}` : user_id),
    facts: [
      platform,
      user_name !== null && user_name !== user_id && user_id,
      is_allowed ? role : 'no access',
      conversations !== null && `${conversations} ${conversations === 1 ? 'conversation' : 'conversations'}`,
      last_at !== null && sinceTime(last_at),
      reason,
    ],
    state: is_allowed ? (role === 'owner' ? 'good' : 'off') : 'bad',
  }
}

/** @param {ListContext} context */
function rememberedList(context) {
  const { api } = context
  return createList({
    label: 'What runs without a question',
    load: pageOf(api.approvals),
    row: ({ id, covers, where, by }) => ({
      key: id,
      name: h('code', {}, covers),
      facts: [where, by !== '' && `allowed by ${by}`],
      actions: [
        {
          label: 'Ask again',
          act: () => api.revoke(id),
          problem: 'It could not be taken back.',
          said: `Asked again from now on: ${covers}`,
        },
      ],
    }),
    empty: 'Nothing. Hermes asks about each command that needs approval.',
    ...context,
  })
}
