/**
 * What is known of one conversation, and how each event changes it. Pure data: the views draw it, and tests need no terminal.
 *
 * A reply arrives twice, as a message and as the result of its turn, in either order; it is one entry.
 */
import type { TurnResult } from '../../message/turn-result.ts'
import type { ChatEvent } from '../chat/chat-client.ts'

export type Entry =
  | { readonly kind: 'person'; readonly text: string; readonly state: 'sending' | 'sent' | 'failed' }
  /** Markdown. `isDraft`: it still grows. */
  | { readonly kind: 'agent'; readonly id: string; readonly text: string; readonly isDraft: boolean }
  | { readonly kind: 'notice'; readonly text: string }
  | { readonly kind: 'error'; readonly text: string }
  | ToolEntry

export interface ToolEntry {
  readonly kind: 'tool'
  readonly callId: string
  readonly tool: string
  /** What it was asked for. */
  readonly label: string
  /** What came of it. */
  readonly summary: string
  readonly state: 'running' | 'done' | 'failed'
}

export interface Choice {
  /** The id of its button. */
  readonly id: string
  readonly label: string
}

export interface Question {
  /** The id of its message. */
  readonly id: string
  readonly text: string
  readonly choices: readonly Choice[]
  /** Whether an answer in the person's own words is taken; it is sent as a message. */
  readonly takesText: boolean
  /** All buttons, which name the question when it is settled. */
  readonly buttons: readonly string[]
}

export interface Conversation {
  /** The name of its chat. */
  readonly chat: string
  readonly title: string
  readonly entries: readonly Entry[]
  readonly questions: readonly Question[]
  /** Sent messages without a result. */
  readonly pending: number
  /** A turn runs, also one that this terminal did not start. */
  readonly isTurnRunning: boolean
  readonly isStopping: boolean
  readonly isUnread: boolean
  readonly connection: 'connecting' | 'live' | 'lost'
  readonly history: 'unknown' | 'shown' | 'failed'
  /** The usage of the whole conversation. `cost`: US dollars, of the tokens whose price is known. */
  readonly spent: { readonly input: number; readonly output: number; readonly cost: number }
  /** Replies that will arrive again, as a message or as a result. */
  readonly expected: { readonly messages: readonly string[]; readonly results: readonly string[] }
}

export type ConversationEvent =
  | { readonly type: 'sent'; readonly text: string }
  | { readonly type: 'accepted'; readonly text: string }
  | { readonly type: 'not-sent'; readonly text: string; readonly reason: string }
  | { readonly type: 'chat'; readonly event: ChatEvent }
  | { readonly type: 'result'; readonly result: TurnResult }
  /** The result of a message will not be known. */
  | { readonly type: 'lost-result'; readonly reason: string }
  | { readonly type: 'history'; readonly entries: readonly Entry[] }
  | { readonly type: 'history-failed'; readonly reason: string }
  | { readonly type: 'answered'; readonly button: string; readonly text: string; readonly isTaken: boolean }
  | { readonly type: 'stopping' }
  | { readonly type: 'notice'; readonly text: string }
  | { readonly type: 'error'; readonly text: string }
  | { readonly type: 'described'; readonly title: string; readonly spent: Conversation['spent'] }
  /** Another conversation goes on in the chat, or a part of it was taken back. */
  | { readonly type: 'replaced'; readonly entries: readonly Entry[] }
  | { readonly type: 'read' }

/** Older entries are dropped: `hermes sessions show` prints the whole conversation. */
const maxEntries = 2_000
const maxExpected = 50
const maxTitleChars = 200
/** At least the number of messages that are sent again after a lost connection. */
const maxRecent = 200

export function newConversation(chat: string, history: Conversation['history'] = 'shown'): Conversation {
  return {
    chat,
    title: '',
    entries: [],
    questions: [],
    pending: 0,
    isTurnRunning: false,
    isStopping: false,
    isUnread: false,
    connection: 'connecting',
    history,
    spent: { input: 0, output: 0, cost: 0 },
    expected: { messages: [], results: [] },
  }
}

export function isWorking({ pending, isTurnRunning }: Conversation): boolean {
  return pending > 0 || isTurnRunning
}

/** Its title, or else the beginning of its first message; empty for a new one. */
export function titleOf({ title, entries }: Conversation): string {
  if (title !== '') return title
  const first = entries.find(({ kind }) => kind === 'person')
  return first?.kind === 'person' ? first.text.slice(0, maxTitleChars) : ''
}

export function reduceConversation(state: Conversation, event: ConversationEvent): Conversation {
  switch (event.type) {
    case 'sent':
      return { ...add(state, { kind: 'person', text: event.text, state: 'sending' }), pending: state.pending + 1 }
    case 'accepted':
      return withPersonState(state, event.text, 'sent')
    case 'not-sent':
      return ended(add(withPersonState(state, event.text, 'failed'), { kind: 'error', text: event.reason }))
    case 'chat':
      return reduceChatEvent(state, event.event)
    case 'result':
      return withResult(state, event.result)
    case 'lost-result':
      return ended(add(state, { kind: 'error', text: event.reason }))
    case 'history':
      return withHistory(state, event.entries)
    case 'history-failed':
      return { ...add(state, { kind: 'error', text: event.reason }), history: 'failed' }
    case 'answered':
      return withAnswer(state, event)
    case 'stopping':
      return { ...state, isStopping: true }
    case 'notice':
    case 'error':
      return add(state, { kind: event.type, text: event.text })
    case 'described':
      return { ...state, title: event.title, spent: event.spent }
    case 'replaced':
      return withNewHistory(state, event.entries)
    case 'read':
      return state.isUnread ? { ...state, isUnread: false } : state
  }
}

function reduceChatEvent(state: Conversation, event: ChatEvent): Conversation {
  switch (event.type) {
    case 'ready':
      return { ...state, connection: 'live' }
    case 'lost':
      return { ...state, connection: 'lost' }
    case 'draft':
      return withDraft(state, event.id, event.text)
    case 'settled':
      return withoutQuestion(state, event.button, lastParagraph(event.text))
    case 'message':
    case 'missed':
      return withMessage(state, event)
    case 'activity':
      return withActivity(state, event.activity)
  }
}

type ChatMessage = Extract<ChatEvent, { readonly type: 'message' | 'missed' }>

function withMessage(state: Conversation, event: ChatMessage): Conversation {
  if (event.buttons !== undefined) return withQuestion(state, event, event.buttons)
  const { id, text, kind } = event
  const before = state.expected.messages
  // The result of the turn was first.
  if (before.includes(text)) {
    const settled = { ...state.expected, messages: without(before, text) }
    return { ...endDraft(state, id), expected: settled, isUnread: true }
  }
  if (event.type === 'missed' && hasRecent(state, text)) return state
  const results = isWorking(state) ? [...state.expected.results, text].slice(-maxExpected) : state.expected.results
  const entry: Entry = kind === 'notice' ? { kind, text } : { kind: 'agent', id, text, isDraft: false }
  return { ...replaceDraft(state, id, entry), expected: { ...state.expected, results }, isUnread: true }
}

function withResult(state: Conversation, { status, text, usage }: TurnResult): Conversation {
  const { expected } = state
  const isShown = text === '' || expected.results.includes(text)
  const matched = {
    messages: isShown ? expected.messages : [...expected.messages, text].slice(-maxExpected),
    results: without(expected.results, text),
  }
  const entry: Entry =
    status === 'failed' ? { kind: 'error', text } : { kind: 'agent', id: `result-${text}`, text, isDraft: false }
  const shown = isShown ? state : replaceDraft(state, newestDraft(state), entry)
  const remark = { stopped: 'Stopped.', interrupted: 'Interrupted by your next message.' }[String(status)]
  const remarked = remark === undefined ? shown : add(shown, { kind: 'notice', text: remark })
  const spent = {
    input: state.spent.input + usage.inputTokens,
    output: state.spent.output + usage.outputTokens,
    cost: state.spent.cost + (usage.cost ?? 0),
  }
  return ended({ ...remarked, spent, expected: matched, isUnread: true })
}

/** One message less waits for its result. */
function ended(state: Conversation): Conversation {
  const pending = Math.max(0, state.pending - 1)
  if (pending > 0) return { ...state, pending }
  const expected = { ...state.expected, results: [] }
  return { ...closeTurn(state), pending, isTurnRunning: false, isStopping: false, expected }
}

function withDraft(state: Conversation, id: string, text: string): Conversation {
  const at = state.entries.findLastIndex((entry) => entry.kind === 'agent' && entry.id === id)
  const known = state.entries[at]
  // A late draft of a finished message.
  if (known?.kind === 'agent' && !known.isDraft) return state
  const entry: Entry = { kind: 'agent', id, text, isDraft: true }
  return at === -1 ? add(state, entry) : { ...state, entries: state.entries.with(at, entry) }
}

/** The finished form of a draft takes its place. */
function replaceDraft(state: Conversation, id: string | undefined, entry: Entry): Conversation {
  const at = id === undefined ? -1 : state.entries.findLastIndex((entry) => entry.kind === 'agent' && entry.id === id)
  return at === -1 ? add(state, entry) : { ...state, entries: state.entries.with(at, entry) }
}

function endDraft(state: Conversation, id: string): Conversation {
  const at = state.entries.findLastIndex((entry) => entry.kind === 'agent' && entry.id === id)
  return at === -1 ? state : { ...state, entries: state.entries.toSpliced(at, 1) }
}

function newestDraft({ entries }: Conversation): string | undefined {
  const draft = entries.findLast((entry) => entry.kind === 'agent' && entry.isDraft)
  return draft?.kind === 'agent' ? draft.id : undefined
}

type Activity = Extract<ChatEvent, { readonly type: 'activity' }>['activity']

function withActivity(state: Conversation, activity: Activity): Conversation {
  switch (activity.kind) {
    case 'turn-started':
      return { ...state, isTurnRunning: true }
    case 'turn-ended':
      return { ...closeTurn(state), isTurnRunning: false, isStopping: false }
    case 'tool-started': {
      const { callId = '', tool, label } = activity
      const entry = { kind: 'tool', callId, tool, label, summary: '', state: 'running' } as const
      return { ...add(state, entry), isTurnRunning: true }
    }
    case 'tool-ended': {
      const { callId = '', tool, ok, summary } = activity
      const at = state.entries.findIndex(
        (entry) => entry.kind === 'tool' && entry.state === 'running' && entry.callId === callId && entry.tool === tool,
      )
      const started = state.entries[at]
      const label = started?.kind === 'tool' ? started.label : ''
      const entry = { kind: 'tool', callId, tool, label, summary, state: ok ? 'done' : 'failed' } as const
      return started === undefined ? add(state, entry) : { ...state, entries: state.entries.with(at, entry) }
    }
  }
}

/** A stopped turn does not report the ends of its tools, and its draft stays as it is. */
function closeTurn(state: Conversation): Conversation {
  const isOpen = (entry: Entry) =>
    (entry.kind === 'tool' && entry.state === 'running') || (entry.kind === 'agent' && entry.isDraft)
  if (!state.entries.some(isOpen)) return state
  const entries = state.entries.map((entry): Entry => {
    if (entry.kind === 'tool' && isOpen(entry)) return { ...entry, state: 'failed' }
    return entry.kind === 'agent' && entry.isDraft ? { ...entry, isDraft: false } : entry
  })
  return { ...state, entries }
}

function withQuestion(
  state: Conversation,
  { id, text }: ChatMessage,
  buttons: NonNullable<ChatMessage['buttons']>,
): Conversation {
  const ids = buttons.map((button) => button.id)
  if (state.questions.some((question) => question.buttons.some((button) => ids.includes(button)))) return state
  const question: Question = {
    id,
    text,
    choices: buttons.filter(({ isText }) => isText !== true).map(({ id: button, label }) => ({ id: button, label })),
    takesText: buttons.some(({ isText }) => isText === true),
    buttons: ids,
  }
  // The question of a command is also the result of the command.
  const results = isWorking(state) ? [...state.expected.results, text].slice(-maxExpected) : state.expected.results
  const questions = [...state.questions, question]
  return { ...state, questions, expected: { ...state.expected, results }, isUnread: true }
}

function withAnswer(state: Conversation, { button, text, isTaken }: Extract<ConversationEvent, { type: 'answered' }>) {
  if (!isTaken) return add(state, { kind: 'error', text })
  return withoutQuestion(state, button, text)
}

/** Its result stays in the transcript. A question that was closed before has one already. */
function withoutQuestion(state: Conversation, button: string, result: string): Conversation {
  const question = state.questions.find(({ buttons }) => buttons.includes(button))
  if (question === undefined) return state
  const questions = state.questions.filter((each) => each !== question)
  const asked = add({ ...state, questions }, { kind: 'notice', text: question.text })
  return result === '' ? asked : add(asked, { kind: 'notice', text: `→ ${result}` })
}

/** What arrived while the history was read may be part of it. */
function withHistory(state: Conversation, history: readonly Entry[]): Conversation {
  const recent = history.slice(-maxRecent)
  const isKnown = (entry: Entry) =>
    'text' in entry && recent.some((other) => other.kind === entry.kind && 'text' in other && other.text === entry.text)
  const entries = [...history, ...state.entries.filter((entry) => !isKnown(entry))].slice(-maxEntries)
  return { ...state, entries, history: 'shown' }
}

/** The command that has replaced it stays, with its answer. */
function withNewHistory(state: Conversation, history: readonly Entry[]): Conversation {
  const command = state.entries.findLastIndex(({ kind }) => kind === 'person')
  return { ...state, entries: [...history, ...state.entries.slice(command)].slice(-maxEntries) }
}

function withPersonState(state: Conversation, text: string, to: 'sent' | 'failed'): Conversation {
  const at = state.entries.findLastIndex(
    (entry) => entry.kind === 'person' && entry.state === 'sending' && entry.text === text,
  )
  return at === -1 ? state : { ...state, entries: state.entries.with(at, { kind: 'person', text, state: to }) }
}

function hasRecent({ entries }: Conversation, text: string): boolean {
  return entries.slice(-maxRecent).some((entry) => 'text' in entry && entry.text === text)
}

function add(state: Conversation, entry: Entry): Conversation {
  return { ...state, entries: [...state.entries.slice(1 - maxEntries), entry] }
}

function without(list: readonly string[], text: string): readonly string[] {
  const at = list.indexOf(text)
  return at === -1 ? list : list.toSpliced(at, 1)
}

/** The result of a question, without emphasis. */
function lastParagraph(text: string): string {
  return (text.trimEnd().split('\n\n').at(-1) ?? '').replace(/^\*\*(.*?)\*\*|^\*(.*)\*$/s, '$1$2')
}
