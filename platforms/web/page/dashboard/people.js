/**
 * The people: who asks for access, who has it, and what runs without a question.
 */
import { h } from '../dom.js'
import { clockTime } from '../time.js'
import { createCounter, createList, pageOf } from './list.js'
import { createButton, createSection } from './section.js'

/** @typedef {import('./now.js').ListContext} ListContext */

/** @param {import('./views.js').ViewContext} context */
export async function show(context) {
  const { root, onChange } = context
  const parts = [
    { title: 'Who asks for access', create: pairingList, topics: ['pairing'] },
    { title: 'Who has access by pairing', create: pairedList, topics: ['pairing'] },
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

/** @param {ListContext} context */
function pairedList(context) {
  const { api } = context
  return createList({
    label: 'Who has access by pairing',
    load: pageOf(async () => (await api.request('/api/pairing')).approved),
    row: ({ platform, userId, userName, approvedAt }) => ({
      key: `${platform} ${userId}`,
      name: userName || userId,
      facts: [platform, userId, approvedAt > 0 && `since ${new Date(approvedAt).toLocaleDateString()}`],
      actions: [
        {
          label: 'Take back',
          act: () => api.request('/api/pairing/revoke', { body: { platform, user_id: userId } }),
          problem: 'The person still has access.',
          said: `${userName || userId} has no access now.`,
          isDanger: true,
          confirm: {
            title: `Take the access of ${userName || userId} back?`,
            text: 'Messages that wait are not answered.',
          },
        },
      ],
    }),
    empty: 'No one yet. Approve a request above, or name people in the allow list of a platform.',
    ...context,
  })
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
