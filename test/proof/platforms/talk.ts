/**
 * The messages of the users on all platforms, each with its number, its time and the delay of its answer.
 */
import type { SentMessage } from '../../crash/chat-server.ts'
import { answeredToken, type Said, textOf, tokenOf } from '../tally.ts'
import { allChats, type Stage } from './stage.ts'

export interface Asked extends Said {
  readonly platform: string
  /** Monotonic clock, ms. */
  readonly at: number
  /** Whether no other message of its chat was pending. */
  readonly alone: boolean
  /** From the message to its final answer, ms. */
  tookMs: number | undefined
  /** Resolves at the answer, or when the message became a dead letter. */
  readonly answered: Promise<void>
}

export type Kind = Exclude<Said['kind'], 'command' | 'effect'>

export interface Talk {
  /** All messages, oldest first. */
  readonly asked: readonly Asked[]
  ask(stage: Stage, chat: string, kind: Kind): Asked
  /** Two messages of which the second arrives first. */
  askReordered(stage: Stage, chat: string): readonly [Asked, Asked]
  /** These messages became dead letters, and their users were notified. They are not pending any longer. */
  giveUp(texts: readonly string[]): void
  /** Messages without an answer. */
  waiting(platform?: string): readonly Asked[]
  close(): void
}

/** The interval at which the chats are read. */
const lookMs = 4
/** The number of newest messages that are read; sometimes all are read. */
const newest = 8
const looksPerFull = 200

export function createTalk(stages: readonly Stage[]): Talk {
  const asked: Asked[] = []
  /** Messages with an answer: they do not change any more. */
  const read = new Set<string>()
  const open = new Map<string, { readonly one: Asked; readonly resolve: () => void }>()
  const places = stages.flatMap((stage) =>
    allChats(stage.chats).map((chat) => ({ stage, chat, waiting: 0, numbers: 0 })),
  )
  const placeOf = (chat: string) => {
    const place = places.find((one) => one.chat === chat)
    if (place === undefined) throw new Error(`there is no chat ${chat}`)
    return place
  }
  let looks = 0
  const timer = setInterval(look, lookMs)

  function look(): void {
    looks += 1
    const last = looks % looksPerFull === 0 ? undefined : newest
    for (const { stage, chat, waiting } of places) {
      if (waiting > 0) for (const message of stage.shown(chat, last)) take(message)
    }
  }

  function take({ id, text, draft }: SentMessage): void {
    const token = draft || read.has(id) ? undefined : answeredToken(text)
    if (token === undefined) return
    read.add(id)
    const found = open.get(token)
    if (found === undefined) return
    open.delete(token)
    placeOf(found.one.chat).waiting -= 1
    found.one.tookMs = performance.now() - found.one.at
    found.resolve()
  }

  /** Assigns the next number of the chat. The caller sends the message. */
  function note(stage: Stage, chat: string, kind: Kind): Asked {
    const place = placeOf(chat)
    place.numbers += 1
    const { promise: answered, resolve } = Promise.withResolvers<void>()
    const { platform } = stage
    const one: Asked = {
      platform,
      chat,
      kind,
      number: place.numbers,
      at: performance.now(),
      alone: place.waiting === 0,
      tookMs: undefined,
      answered,
    }
    place.waiting += 1
    asked.push(one)
    open.set(tokenOf(one), { one, resolve })
    return one
  }

  return {
    asked,
    ask(stage, chat, kind) {
      const one = note(stage, chat, kind)
      stage.say(chat, textOf(one))
      return one
    },
    askReordered(stage, chat) {
      const first = note(stage, chat, 'plain')
      const second = note(stage, chat, 'plain')
      stage.sayReordered(chat, textOf(first), textOf(second))
      return [first, second]
    },
    giveUp(texts) {
      for (const [token, { one, resolve }] of open) {
        if (!texts.includes(textOf(one))) continue
        open.delete(token)
        placeOf(one.chat).waiting -= 1
        resolve()
      }
    },
    waiting: (platform) =>
      [...open.values()].flatMap(({ one }) => (platform === undefined || one.platform === platform ? one : [])),
    close: () => clearInterval(timer),
  }
}
