/**
 * Compares the messages of users with the contents of their chats and counts broken promises. Pure functions.
 */
import type { SentMessage } from '../crash/chat-server.ts'

export interface Said {
  readonly chat: string
  /** Increases within the chat. */
  readonly number: number
  readonly kind: 'plain' | 'wordy' | 'long' | 'effect' | 'command'
}

export interface Tally {
  readonly said: number
  readonly answered: number
  /** Dead letters after three crashes, about which the user was notified. */
  readonly setAside: number
  readonly unanswered: readonly string[]
  /** Answers that arrived more than once without a label. */
  readonly unlabelled: readonly string[]
  /** Repeated answers with a label. */
  readonly labelled: number
  readonly effectsTwice: readonly string[]
  /** Answers of the agent that precede the answer to an earlier message of their chat. */
  readonly inversions: readonly string[]
  /** Drafts whose message id was lost with the process; they stay unfinished. */
  readonly leftDrafts: number
}

/** The token in a message, which its answer repeats. */
export function tokenOf({ chat, number }: Said): string {
  return `${chat}n${number}`
}

export function textOf(said: Said): string {
  if (said.kind === 'command') return '/whoami'
  return `${said.kind} ${tokenOf(said)}`
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
export function givenUpNumber(text: string): string | undefined {
  return /It has the (number \d+)/.exec(text)?.[1]
}

/** `deadLetterTexts`: the texts of dead letters; `effects`: the tokens that tools have written, in order. */
export function tallyOf(
  said: readonly Said[],
  messages: readonly SentMessage[],
  givenUp: readonly string[],
  effects: readonly string[],
): Tally {
  const finals = messages.filter(({ draft }) => !draft)
  const fromAgent = finals.flatMap((message) => {
    const token = answeredToken(message.text)
    return token === undefined ? [] : [{ token, chat: message.chat, labelled: message.text.includes(label) }]
  })
  const times = new Map<string, number>()
  for (const { token, labelled } of fromAgent) if (!labelled) times.set(token, (times.get(token) ?? 0) + 1)
  const answers = new Set(fromAgent.map(({ token }) => token))
  const commands = commandCounts(said, finals)
  const unanswered = said.filter(
    (one) => one.kind !== 'command' && !answers.has(tokenOf(one)) && !givenUp.includes(textOf(one)),
  )
  return {
    said: said.length,
    answered: answers.size + commands.answered,
    setAside: givenUp.length,
    unanswered: [...unanswered.map(textOf), ...commands.missing],
    unlabelled: [...[...times].filter(([, count]) => count > 1).map(([token]) => token), ...commands.doubled],
    labelled: fromAgent.filter(({ labelled }) => labelled).length + commands.labelled,
    effectsTwice: effects.filter((token, index) => effects.indexOf(token) !== index),
    inversions: inversionsIn(fromAgent),
    leftDrafts: messages.length - finals.length,
  }
}

/** Answers to commands do not refer to their message, so each chat is counted as a whole. */
function commandCounts(said: readonly Said[], finals: readonly SentMessage[]) {
  const counts = { answered: 0, labelled: 0, missing: [] as string[], doubled: [] as string[] }
  for (const chat of new Set(said.map((one) => one.chat))) {
    const asked = said.filter((one) => one.chat === chat && one.kind === 'command').length
    const shown = finals.filter((message) => message.chat === chat && isCommandAnswer(message.text))
    const plain = shown.filter(({ text }) => !text.includes(label)).length
    counts.answered += Math.min(asked, shown.length)
    counts.labelled += shown.length - plain
    for (let missing = shown.length; missing < asked; missing++) counts.missing.push(`/whoami in ${chat}`)
    for (let doubled = asked; doubled < plain; doubled++) counts.doubled.push(`/whoami in ${chat}`)
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
export function isKept(tally: Tally): boolean {
  const { unanswered, unlabelled, effectsTwice, inversions } = tally
  return [unanswered, unlabelled, effectsTwice, inversions].every((broken) => broken.length === 0)
}
