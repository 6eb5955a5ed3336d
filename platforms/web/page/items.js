/**
 * The items of the conversation and their order.
 */

/** @typedef {import('../protocol.ts').WireEntry} WireEntry */
/** @typedef {import('../protocol.ts').ToolEvent} ToolEvent */

/**
 * `waiting`: for the connection. `queued`: stored by the gateway, which is still handling an earlier message.
 *
 * @typedef {'sending' | 'waiting' | 'queued' | 'sent' | 'failed'} SendState
 */
/**
 * A file of a message. `local`: the id of a file that this page has sent, which needs no download.
 *
 * @typedef {object} ShownFile
 * @property {boolean} isPicture
 * @property {'audio' | 'video' | 'document'} otherwise what it is if it is no picture
 * @property {string} name
 * @property {number | undefined} bytes
 * @property {string | undefined} path behind `/web/files/`
 * @property {string | undefined} local
 */
/**
 * @typedef {object} UserItem
 * @property {'user'} kind
 * @property {string} key
 * @property {string} text
 * @property {number} at
 * @property {string} turnId '' until the history knows it
 * @property {SendState} state
 * @property {string} problem why it failed
 * @property {readonly ShownFile[]} files
 * @property {string} [entryId] once the history has it
 * @property {string} [session] of a stored conversation
 */
/**
 * @typedef {object} AgentItem
 * @property {'agent' | 'notice'} kind
 * @property {string} key
 * @property {string} text
 * @property {number} at
 * @property {string} turnId
 * @property {boolean} live still being written
 * @property {readonly ShownFile[]} files
 * @property {string} [entryId] once the history has it
 * @property {string} [session] of a stored conversation
 */
/**
 * @typedef {object} ActivityItem
 * @property {'activity'} kind
 * @property {string} key
 * @property {number} at
 * @property {string} turnId
 * @property {readonly ToolEvent[]} tools
 * @property {boolean} running
 */
/**
 * @typedef {object} QuestionItem
 * @property {'question'} kind
 * @property {string} key
 * @property {string} text
 * @property {number} at
 * @property {string} turnId
 * @property {string} entryId
 * @property {import('../protocol.ts').WireQuestion} question
 * @property {string} [session] of a stored conversation
 */
/** @typedef {UserItem | AgentItem | QuestionItem | ActivityItem} Item */

/**
 * Converts an entry of the history.
 *
 * @param {WireEntry} entry
 * @returns {UserItem | AgentItem | QuestionItem}
 */
export function itemOf({ id, from, kind, text: written, at, turnId = '', question, files: sent = [] }) {
  // A file of the agent is a message of its own, whose text names the file.
  const text = from === 'agent' && sent[0] !== undefined ? (sent[0].caption ?? '') : written
  const files = sent.map(shownFile)
  const common = { key: `entry:${id}`, text, at, turnId, entryId: id, files }
  if (from === 'user') return { kind: 'user', ...common, state: 'sent', problem: '' }
  // The result of a question has its key and replaces it.
  if (question !== undefined) return { kind: 'question', ...common, key: `question:${question.id}`, question }
  return { kind: kind === 'notice' ? 'notice' : 'agent', ...common, live: false }
}

/**
 * @param {import('../protocol.ts').WireFile | import('./uploads.js').LocalFile} file
 * @returns {ShownFile}
 */
export function shownFile(file) {
  const isLocal = 'id' in file
  const type = (isLocal ? file.type : file.mimeType) ?? ''
  const isPicture = /^image\/(?:png|jpeg|gif|webp|avif|bmp)$/.test(type)
  const group = type.split('/', 1)[0]
  return {
    isPicture,
    otherwise: group === 'audio' || group === 'video' ? group : 'document',
    name: (isLocal ? file.name : file.fileName) || (isPicture ? 'Picture' : 'File'),
    bytes: file.bytes,
    path: isLocal ? undefined : file.path,
    local: isLocal ? file.id : undefined,
  }
}

/**
 * The files of a message of this page, once the history has them.
 *
 * @param {readonly ShownFile[]} own
 * @param {readonly ShownFile[]} stored
 * @returns {readonly ShownFile[]}
 */
export function withPaths(own, stored) {
  if (own.length !== stored.length) return stored
  return own.map((file, index) => ({ ...file, path: stored[index]?.path }))
}

/** @param {Item} item @param {SendState} state @param {string} problem @returns {Item} */
export function withSendState(item, state, problem) {
  if (item.kind !== 'user') return item
  // A message in the history was sent, even if the response was lost.
  if (item.entryId !== undefined && state !== 'sent' && state !== 'queued') return item
  return { ...item, state, problem }
}

/**
 * The items with the new state of a tool call. Calls that follow each other are one item; a text between them divides them.
 *
 * @param {readonly Item[]} items
 * @param {ToolEvent} event
 * @param {boolean} running the turn goes on
 * @returns {readonly Item[]}
 */
export function withTool(items, event, running) {
  const { turnId, callId, startedAt } = event
  const known = items.findIndex(
    (item) => isActivityOf(item, turnId) && item.tools.some((tool) => tool.callId === callId),
  )
  if (known !== -1) return items.with(known, addTool(items[known], event, running))
  const at = placeOf(items, turnId, startedAt)
  for (const near of [at - 1, at]) {
    const item = items[near]
    if (item !== undefined && isActivityOf(item, turnId)) return items.with(near, addTool(item, event, running))
  }
  const item = { kind: /** @type {const} */ ('activity'), key: `tools:${turnId}:${callId}`, at: startedAt, turnId }
  return items.toSpliced(at, 0, { ...item, tools: [event], running })
}

/**
 * @param {Item | undefined} item
 * @param {ToolEvent} event
 * @param {boolean} running
 * @returns {ActivityItem}
 */
function addTool(item, event, running) {
  if (item?.kind !== 'activity') throw new TypeError('only an activity has tools')
  const others = item.tools.filter(({ callId }) => callId !== event.callId)
  const at = others.findIndex(({ startedAt }) => startedAt > event.startedAt)
  const position = item.tools.findIndex(({ callId }) => callId === event.callId)
  const tools = others.toSpliced(position !== -1 ? position : at === -1 ? others.length : at, 0, event)
  return { ...item, tools, running: running || item.running }
}

/**
 * After what the turn has written before the call. A text that is being written comes after it.
 *
 * @param {readonly Item[]} items
 * @param {string} turnId
 * @param {number} startedAt
 */
function placeOf(items, turnId, startedAt) {
  const isEarlier = (/** @type {Item} */ item) =>
    item.turnId === turnId && item.at <= startedAt && !(item.kind === 'agent' && item.live)
  const before = items.findLastIndex(isEarlier)
  if (before !== -1) return before + 1
  const first = items.findIndex((item) => item.turnId === turnId)
  return first !== -1 ? first : items.findLastIndex((item) => !unsent(item)) + 1
}

/** @param {Item} item @param {string} turnId @returns {item is ActivityItem} */
function isActivityOf(item, turnId) {
  return item.kind === 'activity' && item.turnId === turnId
}

/**
 * Inserts an item before another one or after the items of its turn, so that a reply follows its question. Otherwise it is
 * added at the end, before messages that are not sent yet.
 *
 * @param {readonly Item[]} items
 * @param {Item} item
 * @param {string} [beforeKey]
 */
export function insert(items, item, beforeKey) {
  let at = items.findIndex(({ key }) => key === beforeKey)
  if (at === -1 && item.kind !== 'user' && item.turnId !== '') {
    at = items.findLastIndex(({ turnId }) => turnId === item.turnId) + 1 || -1
  }
  if (at === -1) at = items.findLastIndex((other) => !unsent(other)) + 1
  return items.toSpliced(at, 0, item)
}

/** @param {Item} item */
function unsent(item) {
  return item.kind === 'user' && (item.state === 'waiting' || item.state === 'failed' || item.state === 'sending')
}

/**
 * `ended`: the call has worked, but its program says that it has not, or not found anything.
 * @param {ToolEvent} tool
 * @param {boolean} running the turn it belongs to
 */
export function shownState({ state, summary }, running) {
  if (state === 'running' && !running) return 'interrupted'
  return state === 'done' && /^exit (?!0\b)/.test(summary) ? 'ended' : state
}
