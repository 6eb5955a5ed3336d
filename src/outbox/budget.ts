/**
 * When a platform may be called: one budget per chat and per account over everything that is called, learnt from what
 * the platform answers. A chat has one call at a time; of those that wait, the most important goes first.
 */
import type { SendResult } from '../message/outbound.ts'
import { createAlarm, type Held } from './alarm.ts'
import type { Chat } from './queries.ts'
import { limitEnd } from './rate-limit.ts'
import { accountKey, chatKey } from './sender.ts'

/** From the most important down: answers, growing answers, calls of the adapters' own. Typing is left out, never queued. */
export type Rank = 'final' | 'draft' | 'own' | 'typing'

const order: Readonly<Record<Rank, number>> = { final: 0, draft: 1, own: 2, typing: 3 }

/** The right to call for one chat. */
export interface Slot {
  /** Takes note of an answer heard at `now`: a limit holds back the chat, or its whole account. */
  heard(result: SendResult, now: number): void
  /** Whether the next call may follow in the same slot. */
  goesOn(): boolean
  /** No call follows. May be called twice. */
  free(): void
}

export interface Budget {
  /** A slot at once; undefined when the call must wait its turn. Costs no timer and no promise. */
  take(chat: Chat, rank: Rank): Slot | undefined
  /** A slot when it is this call's turn; undefined when the signal aborts first. Never rejects. */
  wait(chat: Chat, rank: Rank, signal: AbortSignal): Promise<Slot | undefined>
  /** Whether `take` would succeed for an answer. */
  isFree(chat: Chat): boolean
  /** How long the platform still wants this chat to wait, ms; 0 when nothing is known. */
  heldMs(chat: Chat): number
}

export interface BudgetDeps {
  readonly clock: () => number
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>
}

interface Account extends Held {
  readonly lines: Map<string, Line>
  /** Calls in flight, and how many there may be. The whole account was limited lately while that is not infinite. */
  inFlight: number
  width: number
  /** How often the account as a whole was limited; a call begun before the last time says nothing about the time after. */
  limits: number
  waiting: number
}

/** The calls of one chat. */
interface Line extends Held {
  readonly account: Account
  readonly key: string
  busy: boolean
  readonly waiting: Waiter[]
}

interface Waiter {
  readonly rank: number
  /** Grows: of two of one rank, the one that came first goes first. */
  readonly place: number
  readonly go: (slot: Slot) => void
}

/** With so many calls side by side that went well an account counts as recovered. */
const widest = 32

export function createBudget({ clock, pause }: BudgetDeps): Budget {
  const accounts = new Map<string, Account>()
  const alarm = createAlarm({ clock, pause })
  let places = 0

  function lineOf(chat: Chat): Line {
    const name = accountKey(chat.platform, chat.account)
    let account = accounts.get(name)
    if (account === undefined) {
      account = {
        until: 0,
        alarm: undefined,
        lines: new Map(),
        inFlight: 0,
        width: Number.POSITIVE_INFINITY,
        limits: 0,
        waiting: 0,
      }
      accounts.set(name, account)
    }
    const key = chatKey(chat)
    let line = account.lines.get(key)
    if (line === undefined) {
      line = { account, key, until: 0, alarm: undefined, busy: false, waiting: [] }
      account.lines.set(key, line)
    }
    return line
  }

  const isHeld = ({ until }: Held) => until !== 0 && until > clock()
  const isNarrow = ({ width }: Account) => width !== Number.POSITIVE_INFINITY
  const isOpen = (line: Line) =>
    !line.busy && !isHeld(line) && line.account.inFlight < line.account.width && !isHeld(line.account)

  /** Nobody needs it: it is made anew for the next call. */
  function forget(line: Line): void {
    if (!line.busy && line.waiting.length === 0 && !isHeld(line)) line.account.lines.delete(line.key)
  }

  function begin(line: Line): Slot {
    const { account } = line
    let limits = account.limits
    let free = false
    line.busy = true
    account.inFlight += 1
    return {
      heard(result, now) {
        if (result.success || result.problem !== 'rate-limited') {
          if (isNarrow(account) && limits === account.limits) widen(account)
          return
        }
        const until = limitEnd(result.retryAfterMs, now)
        if (result.scope !== 'account') {
          for (const other of account.lines.values()) forget(other)
          line.until = Math.max(line.until, until)
          return
        }
        account.until = Math.max(account.until, until)
        account.width = 1
        account.limits += 1
      },
      goesOn() {
        if (free || isHeld(line) || isHeld(account) || account.inFlight > account.width) return false
        limits = account.limits
        return true
      },
      free() {
        if (free) return
        free = true
        line.busy = false
        account.inFlight -= 1
        goOn(line)
        forget(line)
      },
    }
  }

  /** A call after the limit has passed: now twice as many may go side by side, no crowd at the moment it ends. */
  function widen(account: Account): void {
    account.width = account.width < widest ? account.width * 2 : Number.POSITIVE_INFINITY
    goOnAll(account)
  }

  /** Starts what may start now, after something has changed for a chat. */
  function goOn(line: Line): void {
    if (isNarrow(line.account)) goOnAll(line.account)
    else goOnLine(line)
  }

  /** The most important call of all chats first. */
  function goOnAll(account: Account): void {
    if (account.waiting === 0 || account.inFlight >= account.width) return
    if (isHeld(account)) {
      alarm.set(account, () => goOnAll(account))
      return
    }
    const lines = [...account.lines.values()].filter(({ waiting }) => waiting.length > 0)
    for (const line of lines.sort(byFirst)) goOnLine(line)
  }

  function goOnLine(line: Line): void {
    const [first] = line.waiting
    if (first === undefined || line.busy) return
    const { account } = line
    if (isHeld(line)) alarm.set(line, () => goOn(line))
    else if (isHeld(account)) alarm.set(account, () => goOnAll(account))
    else if (account.inFlight < account.width) {
      leave(line, first)
      first.go(begin(line))
    }
  }

  function leave(line: Line, waiter: Waiter): void {
    const at = line.waiting.indexOf(waiter)
    if (at === -1) return
    line.waiting.splice(at, 1)
    line.account.waiting -= 1
    if (line.waiting.length === 0) alarm.end(line)
    if (line.account.waiting === 0) alarm.end(line.account)
  }

  /** Those who wait although they need not any more go first: a timer may be a little late. */
  function letGo(line: Line): void {
    if (line.account.waiting > 0) goOn(line)
  }

  return {
    take(chat, rank) {
      const line = lineOf(chat)
      letGo(line)
      const overtakes = (line.waiting[0]?.rank ?? Number.POSITIVE_INFINITY) > order[rank]
      // After a limit of the account the few calls it allows are for what people wait for.
      const wanted = rank !== 'typing' || !isNarrow(line.account)
      if (wanted && overtakes && isOpen(line)) return begin(line)
      forget(line)
      return undefined
    },
    wait(chat, rank, signal) {
      if (signal.aborted) return Promise.resolve(undefined)
      return new Promise((resolve) => {
        const line = lineOf(chat)
        const called = () => {
          leave(line, waiter)
          forget(line)
          resolve(undefined)
        }
        const waiter: Waiter = {
          rank: order[rank],
          place: ++places,
          go(slot) {
            signal.removeEventListener('abort', called)
            resolve(slot)
          },
        }
        signal.addEventListener('abort', called, { once: true })
        line.waiting.push(waiter)
        line.waiting.sort(byRank)
        line.account.waiting += 1
        goOn(line)
      })
    },
    isFree(chat) {
      const account = accounts.get(accountKey(chat.platform, chat.account))
      if (account === undefined) return true
      const line = account.lines.get(chatKey(chat))
      if (line !== undefined) return line.waiting.length === 0 && isOpen(line)
      return account.inFlight < account.width && !isHeld(account)
    },
    heldMs(chat) {
      const account = accounts.get(accountKey(chat.platform, chat.account))
      const line = account?.lines.get(chatKey(chat))
      return Math.max(0, Math.max(account?.until ?? 0, line?.until ?? 0) - clock())
    },
  }
}

function byRank(one: Waiter, other: Waiter): number {
  return one.rank - other.rank || one.place - other.place
}

function byFirst(one: Line, other: Line): number {
  const [first] = one.waiting
  const [second] = other.waiting
  return first === undefined || second === undefined ? 0 : byRank(first, second)
}
