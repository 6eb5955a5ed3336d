/**
 * Compares the messages of users with the contents of their chats and counts broken promises. Pure functions.
 */
import type { SentMessage } from '../crash/chat-server.ts'

export interface UserMessage {
  readonly chat: string
  /** Increases within the chat. */
  readonly number: number
  readonly kind: 'plain' | 'wordy' | 'long' | 'effect' | 'command'
}

export interface DeliveryCounts {
  readonly messageCount: number
  readonly answered: number
  /** Dead letters after three crashes, about which the user was notified. */
  readonly deadLetters: number
  readonly unanswered: readonly string[]
  /** Answers that arrived more than once without a label. */
  readonly unlabelled: readonly string[]
  /** Repeated answers with a label. */
  readonly labelled: number
  readonly effectsTwice: readonly string[]
  /** Answers of the agent that precede the answer to an earlier message of their chat. */
  readonly inversions: readonly string[]
  /** Drafts whose message id was lost with the process; they stay unfinished. */
  readonly unfinishedDrafts: number
}

/** The token in a message, which its answer repeats. */
export function tokenOf({ chat, number }: UserMessage): string {
  return `${chat}n${number}`
}

export function textOf(written: UserMessage): string {
  if (written.kind === 'command') return '/whoami'
  return `${written.kind} ${tokenOf(written)}`
}

const label = 'May be a duplicate'

/** The token that an answer of the agent repeats; undefined for any other message. */
export function answeredToken(text: string): string | undefined {
  return /the answer to \w+ (\w+)\./.exec(text)?.[1]
}

export function isCommandAnswer(text: string): boolean {
  return text.includes('Session key')
}

/** The number of the dead letter in the notice of the gateway. */
export function deadLetterNumber(text: string): string | undefined {
  return /It has the (number \d+)/.exec(text)?.[1]
}

/** `deadLetterTexts`: the texts of dead letters; `effects`: the tokens that tools have written, in order. */
export function countDeliveries(
  written: readonly UserMessage[],
  messages: readonly SentMessage[],
  deadLetterTexts: readonly string[],
  effects: readonly string[],
): DeliveryCounts {
  const finals = messages.filter(({ draft }) => !draft)
  const fromAgent = finals.flatMap((message) => {
    const token = answeredToken(message.text)
    return token === undefined ? [] : [{ token, chat: message.chat, labelled: message.text.includes(label) }]
  })
  const times = new Map<string, number>()
  for (const { token, labelled } of fromAgent) if (!labelled) times.set(token, (times.get(token) ?? 0) + 1)
  const answers = new Set(fromAgent.map(({ token }) => token))
  const commands = commandCounts(written, finals)
  const unanswered = written.filter(
    (one) => one.kind !== 'command' && !answers.has(tokenOf(one)) && !deadLetterTexts.includes(textOf(one)),
  )
  return {
    messageCount: written.length,
    answered: answers.size + commands.answered,
    deadLetters: deadLetterTexts.length,
    unanswered: [...unanswered.map(textOf), ...commands.missing],
    unlabelled: [...[...times].filter(([, count]) => count > 1).map(([token]) => token), ...commands.duplicates],
    labelled: fromAgent.filter(({ labelled }) => labelled).length + commands.labelled,
    effectsTwice: effects.filter((token, index) => effects.indexOf(token) !== index),
    inversions: inversionsIn(fromAgent),
    unfinishedDrafts: messages.length - finals.length,
  }
}

/** Answers to commands do not refer to their message, so each chat is counted as a whole. */
function commandCounts(written: readonly UserMessage[], finals: readonly SentMessage[]) {
  const counts = { answered: 0, labelled: 0, missing: [] as string[], duplicates: [] as string[] }
  for (const chat of new Set(written.map((one) => one.chat))) {
    const expected = written.filter((one) => one.chat === chat && one.kind === 'command').length
    const shown = finals.filter((message) => message.chat === chat && isCommandAnswer(message.text))
    const plain = shown.filter(({ text }) => !text.includes(label)).length
    counts.answered += Math.min(expected, shown.length)
    counts.labelled += shown.length - plain
    for (let missing = shown.length; missing < expected; missing++) counts.missing.push(`/whoami in ${chat}`)
    for (let duplicates = expected; duplicates < plain; duplicates++) counts.duplicates.push(`/whoami in ${chat}`)
  }
  return counts
}

function inversionsIn(answers: readonly { readonly token: string; readonly chat: string }[]): string[] {
  const newest = new Map<string, number>()
  return answers.flatMap(({ token, chat }) => {
    const number = Number(token.split('n').at(-1))
    const before = newest.get(chat) ?? 0
    newest.set(chat, Math.max(before, number))
    return number < before ? [`${token} after ${before}`] : []
  })
}

/** Whether every promise was kept. */
export function keepsPromises(counts: DeliveryCounts): boolean {
  const { unanswered, unlabelled, effectsTwice, inversions } = counts
  return [unanswered, unlabelled, effectsTwice, inversions].every((broken) => broken.length === 0)
}
