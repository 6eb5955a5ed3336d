/**
 * When a platform may be called: one budget per chat and per account over everything that is called, learnt from what
 * the platform answers. A chat has one call at a time; of those that wait, the most important goes first.
 */
import type { SendResult } from '../message/outbound.ts'
import type { Chat } from './queries.ts'
import { retryAt } from './retry-after.ts'
import { accountKey, chatKey } from './sender.ts'
import { createWakeTimer, type Throttled } from './wake-timer.ts'

/** From the most important down: answers, growing answers, calls of the adapters' own. Typing is left out, never queued. */
export type CallPriority = 'final' | 'draft' | 'own' | 'typing'

const priorities: Readonly<Record<CallPriority, number>> = { final: 0, draft: 1, own: 2, typing: 3 }

/** The right to call for one chat. */
export interface Permit {
  /** Takes note of an answer heard at `now`: a limit holds back the chat, or its whole account. */
  record(result: SendResult, now: number): void
  /** Whether the next call may follow in the same slot. */
  mayContinue(): boolean
  /** No call follows. May be called twice. */
  release(): void
}

export interface RateLimiter {
  /** A slot at once; undefined when the call must wait its turn. Costs no timer and no promise. */
  tryAcquire(chat: Chat, rank: CallPriority): Permit | undefined
  /** A slot when it is this call's turn; undefined when the signal aborts first. Never rejects. */
  acquire(chat: Chat, rank: CallPriority, signal: AbortSignal): Promise<Permit | undefined>
  /** Whether `take` would succeed for an answer. */
  isAvailable(chat: Chat): boolean
  /** How long the platform still wants this chat to wait, ms; 0 when nothing is known. */
  throttledMs(chat: Chat): number
}

export interface RateLimiterDeps {
  readonly clock: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

interface AccountState extends Throttled {
  readonly queues: Map<string, ChatQueue>
  /** Calls in flight, and how many there may be. The whole account was limited lately while that is not infinite. */
  inFlight: number
  maxInFlight: number
  /** How often the account as a whole was limited; a call begun before the last time says nothing about the time after. */
  limitCount: number
  waitingCount: number
}

/** The calls of one chat. */
interface ChatQueue extends Throttled {
  readonly account: AccountState
  readonly key: string
  inUse: boolean
  readonly waiters: Waiter[]
}

interface Waiter {
  readonly priority: number
  /** Grows: of two of one rank, the one that came first goes first. */
  readonly sequence: number
  readonly grant: (slot: Permit) => void
}

/** With so many calls side by side that went well an account counts as recovered. */
const maxConcurrency = 32

export function createRateLimiter({ clock, sleep: pause }: RateLimiterDeps): RateLimiter {
  const accounts = new Map<string, AccountState>()
  const wakeTimer = createWakeTimer({ clock, sleep: pause })
  let lastSequence = 0

  function queueOf(chat: Chat): ChatQueue {
    const name = accountKey(chat.platform, chat.account)
    let account = accounts.get(name)
    if (account === undefined) {
      account = {
        throttledUntil: 0,
        timer: undefined,
        queues: new Map(),
        inFlight: 0,
        maxInFlight: Number.POSITIVE_INFINITY,
        limitCount: 0,
        waitingCount: 0,
      }
      accounts.set(name, account)
    }
    const key = chatKey(chat)
    let line = account.queues.get(key)
    if (line === undefined) {
      line = { account, key, throttledUntil: 0, timer: undefined, inUse: false, waiters: [] }
      account.queues.set(key, line)
    }
    return line
  }

  const isThrottled = ({ throttledUntil }: Throttled) => throttledUntil !== 0 && throttledUntil > clock()
  const isRecovering = ({ maxInFlight }: AccountState) => maxInFlight !== Number.POSITIVE_INFINITY
  const canCall = (line: ChatQueue) =>
    !line.inUse && !isThrottled(line) && line.account.inFlight < line.account.maxInFlight && !isThrottled(line.account)

  /** Nobody needs it: it is made anew for the next call. */
  function removeIfIdle(line: ChatQueue): void {
    if (!line.inUse && line.waiters.length === 0 && !isThrottled(line)) line.account.queues.delete(line.key)
  }

  function grantPermit(line: ChatQueue): Permit {
    const { account } = line
    let limits = account.limitCount
    let free = false
    line.inUse = true
    account.inFlight += 1
    return {
      record(result, now) {
        if (result.success || result.problem !== 'rate-limited') {
          if (isRecovering(account) && limits === account.limitCount) increaseLimit(account)
          return
        }
        const until = retryAt(result.retryAfterMs, now)
        if (result.scope !== 'account') {
          for (const other of account.queues.values()) removeIfIdle(other)
          line.throttledUntil = Math.max(line.throttledUntil, until)
          return
        }
        account.throttledUntil = Math.max(account.throttledUntil, until)
        account.maxInFlight = 1
        account.limitCount += 1
      },
      mayContinue() {
        if (free || isThrottled(line) || isThrottled(account) || account.inFlight > account.maxInFlight) return false
        limits = account.limitCount
        return true
      },
      release() {
        if (free) return
        free = true
        line.inUse = false
        account.inFlight -= 1
        dispatch(line)
        removeIfIdle(line)
      },
    }
  }

  /** A call after the limit has passed: now twice as many may go side by side, no crowd at the moment it ends. */
  function increaseLimit(account: AccountState): void {
    account.maxInFlight = account.maxInFlight < maxConcurrency ? account.maxInFlight * 2 : Number.POSITIVE_INFINITY
    dispatchAccount(account)
  }

  /** Starts what may start now, after something has changed for a chat. */
  function dispatch(line: ChatQueue): void {
    if (isRecovering(line.account)) dispatchAccount(line.account)
    else dispatchQueue(line)
  }

  /** The most important call of all chats first. */
  function dispatchAccount(account: AccountState): void {
    if (account.waitingCount === 0 || account.inFlight >= account.maxInFlight) return
    if (isThrottled(account)) {
      wakeTimer.set(account, () => dispatchAccount(account))
      return
    }
    const lines = [...account.queues.values()].filter(({ waiters }) => waiters.length > 0)
    for (const line of lines.sort(byFirstWaiter)) dispatchQueue(line)
  }

  function dispatchQueue(line: ChatQueue): void {
    const [first] = line.waiters
    if (first === undefined || line.inUse) return
    const { account } = line
    if (isThrottled(line)) wakeTimer.set(line, () => dispatch(line))
    else if (isThrottled(account)) wakeTimer.set(account, () => dispatchAccount(account))
    else if (account.inFlight < account.maxInFlight) {
      removeWaiter(line, first)
      first.grant(grantPermit(line))
    }
  }

  function removeWaiter(line: ChatQueue, waiter: Waiter): void {
    const at = line.waiters.indexOf(waiter)
    if (at === -1) return
    line.waiters.splice(at, 1)
    line.account.waitingCount -= 1
    if (line.waiters.length === 0) wakeTimer.cancel(line)
    if (line.account.waitingCount === 0) wakeTimer.cancel(line.account)
  }

  /** Those who wait although they need not any more go first: a timer may be a little late. */
  function dispatchOverdue(line: ChatQueue): void {
    if (line.account.waitingCount > 0) dispatch(line)
  }

  return {
    tryAcquire(chat, rank) {
      const line = queueOf(chat)
      dispatchOverdue(line)
      const overtakes = (line.waiters[0]?.priority ?? Number.POSITIVE_INFINITY) > priorities[rank]
      // After a limit of the account the few calls it allows are for what people wait for.
      const wanted = rank !== 'typing' || !isRecovering(line.account)
      if (wanted && overtakes && canCall(line)) return grantPermit(line)
      removeIfIdle(line)
      return undefined
    },
    acquire(chat, rank, signal) {
      if (signal.aborted) return Promise.resolve(undefined)
      return new Promise((resolve) => {
        const line = queueOf(chat)
        const onAbort = () => {
          removeWaiter(line, waiter)
          removeIfIdle(line)
          resolve(undefined)
        }
        const waiter: Waiter = {
          priority: priorities[rank],
          sequence: ++lastSequence,
          grant(slot) {
            signal.removeEventListener('abort', onAbort)
            resolve(slot)
          },
        }
        signal.addEventListener('abort', onAbort, { once: true })
        line.waiters.push(waiter)
        line.waiters.sort(byPriority)
        line.account.waitingCount += 1
        dispatch(line)
      })
    },
    isAvailable(chat) {
      const account = accounts.get(accountKey(chat.platform, chat.account))
      if (account === undefined) return true
      const line = account.queues.get(chatKey(chat))
      if (line !== undefined) return line.waiters.length === 0 && canCall(line)
      return account.inFlight < account.maxInFlight && !isThrottled(account)
    },
    throttledMs(chat) {
      const account = accounts.get(accountKey(chat.platform, chat.account))
      const line = account?.queues.get(chatKey(chat))
      return Math.max(0, Math.max(account?.throttledUntil ?? 0, line?.throttledUntil ?? 0) - clock())
    },
  }
}

function byPriority(one: Waiter, other: Waiter): number {
  return one.priority - other.priority || one.sequence - other.sequence
}

function byFirstWaiter(one: ChatQueue, other: ChatQueue): number {
  const [first] = one.waiters
  const [second] = other.waiters
  return first === undefined || second === undefined ? 0 : byPriority(first, second)
}
