/**
 * What people write on the stages and when it is answered: every message with its number, its moment and its delay.
 */
import type { SentMessage } from '../../crash/chat-server.ts'
import { answeredToken, type Said, textOf, tokenOf } from '../tally.ts'
import { allChats, type Stage } from './stage.ts'

export interface Asked extends Said {
  readonly platform: string
  /** ms of a clock that only goes forward. */
  readonly at: number
  /** Nothing else of its chat was waiting for an answer. */
  readonly alone: boolean
  /** From the moment it was written to the moment its final answer stood there, ms. */
  tookMs: number | undefined
  /** Resolves then, or when it was given up. */
  readonly answered: Promise<void>
}

export type Kind = Exclude<Said['kind'], 'command' | 'effect'>

export interface Talk {
  /** Everything that was written, oldest first. */
  readonly asked: readonly Asked[]
  ask(stage: Stage, chat: string, kind: Kind): Asked
  /** Two messages of which the second that was written arrives first. */
  askReordered(stage: Stage, chat: string): readonly [Asked, Asked]
  /** These texts will not be answered, and their writers were told so: nobody waits for them any more. */
  giveUp(texts: readonly string[]): void
  /** Messages without an answer. */
  waiting(platform?: string): readonly Asked[]
  close(): void
}

/** How often the chats are looked at. */
const lookMs = 4
/** Of a chat's newest messages; now and then all of them. */
const newest = 8
const looksPerFull = 200

export function createTalk(stages: readonly Stage[]): Talk {
  const asked: Asked[] = []
  /** Messages with an answer: they will not change any more. */
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

  /** Takes the next number of the chat; it is on the speaker to say it. */
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
