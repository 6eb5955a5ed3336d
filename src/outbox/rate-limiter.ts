/**
 * Decides when a platform may be called. Replies, drafts, typing indicators and the adapters' own calls share one limit per
 * chat and one per account, both learned from the platform's responses. A chat has at most one call in flight; of the
 * calls that wait, the one with the highest priority goes first.
 */
import { onAbort } from '../lib/timers.ts'
import type { AlbumResult, SendResult } from '../message/outbound.ts'
import { accountKey, type Chat, chatKey } from './queries.ts'

/** From the highest priority to the lowest. A typing indicator is skipped instead of queued. */
export type CallPriority = 'final' | 'draft' | 'own' | 'typing'

const priorities: Readonly<Record<CallPriority, number>> = { final: 0, draft: 1, own: 2, typing: 3 }

/** The right to call the platform for one chat. */
export interface Permit {
  /** Evaluates a response received at `now`: a rate limit blocks the chat, or its whole account. */
  record(result: SendResult | AlbumResult, now: number): void
  /** Whether another call may follow under the same permit. */
  mayContinue(): boolean
  /** Ends the permit. May be called twice. */
  release(): void
}

export interface RateLimiter {
  /** A permit at once, or `undefined` when the call must wait. Needs no timer and no promise. */
  tryAcquire(chat: Chat, priority: CallPriority): Permit | undefined
  /** A permit when the call may be made, or `undefined` when the signal aborts first. Never rejects. */
  acquire(chat: Chat, priority: CallPriority, signal: AbortSignal): Promise<Permit | undefined>
  /** Whether `tryAcquire` would succeed for a reply. */
  isAvailable(chat: Chat): boolean
  /** How long the platform still blocks this chat, ms; 0 when no limit is known. */
  throttledMs(chat: Chat): number
}

interface LimiterState {
  readonly clock: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly accounts: Map<string, AccountState>
  lastSequence: number
}

/** A chat or an account that must not be called for a while. */
interface Throttled {
  /** ms since 1970; 0 when there was no limit. */
  throttledUntil: number
  /** Runs while a call waits for the end of the limit. */
  timer: AbortController | undefined
}

interface AccountState extends Throttled {
  readonly queues: Map<string, ChatQueue>
  inFlight: number
  /** Infinite, unless the whole account was limited recently. */
  maxInFlight: number
  /** How often the whole account was limited. The result of a call that began before the last limit proves nothing. */
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
  /** Increases: of two waiters with the same priority, the earlier one goes first. */
  readonly sequence: number
  readonly grant: (permit: Permit) => void
}

/** An account counts as recovered after this many successful concurrent calls. */
const maxConcurrency = 32
/** Limits the error when the system clock is changed. */
const maxSleepMs = 3_600_000

export function createRateLimiter({ clock, sleep }: Pick<LimiterState, 'clock' | 'sleep'>): RateLimiter {
  const limiter: LimiterState = { clock, sleep, accounts: new Map(), lastSequence: 0 }
  return {
    tryAcquire: (chat, priority) => tryAcquire(limiter, chat, priority),
    acquire: (chat, priority, signal) => acquire(limiter, chat, priority, signal),
    isAvailable(chat) {
      const account = limiter.accounts.get(accountKey(chat.platform, chat.account))
      if (account === undefined) return true
      const queue = account.queues.get(chatKey(chat))
      if (queue !== undefined) return queue.waiters.length === 0 && canCall(limiter, queue)
      return account.inFlight < account.maxInFlight && !isThrottled(limiter, account)
    },
    throttledMs(chat) {
      const account = limiter.accounts.get(accountKey(chat.platform, chat.account))
      const queue = account?.queues.get(chatKey(chat))
      return Math.max(0, Math.max(account?.throttledUntil ?? 0, queue?.throttledUntil ?? 0) - clock())
    },
  }
}

function tryAcquire(limiter: LimiterState, chat: Chat, priority: CallPriority): Permit | undefined {
  const queue = queueOf(limiter, chat)
  // A timer may be late: waiters that may call by now go first.
  if (queue.account.waitingCount > 0) dispatch(limiter, queue)
  const overtakes = (queue.waiters[0]?.priority ?? Number.POSITIVE_INFINITY) > priorities[priority]
  // After a limit of the account, its few calls are for what users wait for.
  const isUseful = priority !== 'typing' || !isRecovering(queue.account)
  if (isUseful && overtakes && canCall(limiter, queue)) return grantPermit(limiter, queue)
  removeIfIdle(limiter, queue)
  return undefined
}

function acquire(
  limiter: LimiterState,
  chat: Chat,
  priority: CallPriority,
  signal: AbortSignal,
): Promise<Permit | undefined> {
  if (signal.aborted) return Promise.resolve(undefined)
  return new Promise((resolve) => {
    const queue = queueOf(limiter, chat)
    const waiter: Waiter = {
      priority: priorities[priority],
      sequence: ++limiter.lastSequence,
      grant(permit) {
        stopListening()
        resolve(permit)
      },
    }
    const stopListening = onAbort(signal, () => {
      removeWaiter(queue, waiter)
      removeIfIdle(limiter, queue)
      resolve(undefined)
    })
    queue.waiters.push(waiter)
    queue.waiters.sort(byPriority)
    queue.account.waitingCount += 1
    dispatch(limiter, queue)
  })
}

function queueOf({ accounts }: LimiterState, chat: Chat): ChatQueue {
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
  let queue = account.queues.get(key)
  if (queue === undefined) {
    queue = { account, key, throttledUntil: 0, timer: undefined, inUse: false, waiters: [] }
    account.queues.set(key, queue)
  }
  return queue
}

function isThrottled({ clock }: LimiterState, { throttledUntil }: Throttled): boolean {
  return throttledUntil !== 0 && throttledUntil > clock()
}

function isRecovering({ maxInFlight }: AccountState): boolean {
  return maxInFlight !== Number.POSITIVE_INFINITY
}

function canCall(limiter: LimiterState, queue: ChatQueue): boolean {
  const { account } = queue
  if (queue.inUse || isThrottled(limiter, queue)) return false
  return account.inFlight < account.maxInFlight && !isThrottled(limiter, account)
}

/** An idle queue holds no information; the next call creates it again. */
function removeIfIdle(limiter: LimiterState, queue: ChatQueue): void {
  if (queue.inUse || queue.waiters.length > 0 || isThrottled(limiter, queue)) return
  queue.account.queues.delete(queue.key)
}

function grantPermit(limiter: LimiterState, queue: ChatQueue): Permit {
  const { account } = queue
  let limitCount = account.limitCount
  let released = false
  queue.inUse = true
  account.inFlight += 1
  return {
    record(result, now) {
      if (result.success || result.problem !== 'rate-limited') {
        if (isRecovering(account) && limitCount === account.limitCount) increaseConcurrency(limiter, account)
        return
      }
      const until = retryAt(result.retryAfterMs, now)
      if (result.scope !== 'account') {
        for (const other of account.queues.values()) removeIfIdle(limiter, other)
        queue.throttledUntil = Math.max(queue.throttledUntil, until)
        return
      }
      account.throttledUntil = Math.max(account.throttledUntil, until)
      account.maxInFlight = 1
      account.limitCount += 1
    },
    mayContinue() {
      if (released || isThrottled(limiter, queue) || isThrottled(limiter, account)) return false
      if (account.inFlight > account.maxInFlight) return false
      limitCount = account.limitCount
      return true
    },
    release() {
      if (released) return
      released = true
      queue.inUse = false
      account.inFlight -= 1
      dispatch(limiter, queue)
      removeIfIdle(limiter, queue)
    },
  }
}

/** Doubles the concurrency after a successful call, so that the end of a limit causes no burst. */
function increaseConcurrency(limiter: LimiterState, account: AccountState): void {
  account.maxInFlight = account.maxInFlight < maxConcurrency ? account.maxInFlight * 2 : Number.POSITIVE_INFINITY
  dispatchAccount(limiter, account)
}

/** Starts the calls that may start after the state of a chat has changed. */
function dispatch(limiter: LimiterState, queue: ChatQueue): void {
  if (isRecovering(queue.account)) dispatchAccount(limiter, queue.account)
  else dispatchQueue(limiter, queue)
}

/** Starts calls of all chats of an account, the highest priority first. */
function dispatchAccount(limiter: LimiterState, account: AccountState): void {
  if (account.waitingCount === 0 || account.inFlight >= account.maxInFlight) return
  if (isThrottled(limiter, account)) {
    startTimer(limiter, account, () => dispatchAccount(limiter, account))
    return
  }
  const queues = [...account.queues.values()].filter(({ waiters }) => waiters.length > 0)
  for (const queue of queues.sort(byFirstWaiter)) dispatchQueue(limiter, queue)
}

function dispatchQueue(limiter: LimiterState, queue: ChatQueue): void {
  const [first] = queue.waiters
  if (first === undefined || queue.inUse) return
  const { account } = queue
  if (isThrottled(limiter, queue)) startTimer(limiter, queue, () => dispatch(limiter, queue))
  else if (isThrottled(limiter, account)) startTimer(limiter, account, () => dispatchAccount(limiter, account))
  else if (account.inFlight < account.maxInFlight) {
    removeWaiter(queue, first)
    first.grant(grantPermit(limiter, queue))
  }
}

function removeWaiter(queue: ChatQueue, waiter: Waiter): void {
  const index = queue.waiters.indexOf(waiter)
  if (index === -1) return
  queue.waiters.splice(index, 1)
  queue.account.waitingCount -= 1
  if (queue.waiters.length === 0) cancelTimer(queue)
  if (queue.account.waitingCount === 0) cancelTimer(queue.account)
}

function byPriority(a: Waiter, b: Waiter): number {
  return a.priority - b.priority || a.sequence - b.sequence
}

function byFirstWaiter(a: ChatQueue, b: ChatQueue): number {
  const [first] = a.waiters
  const [second] = b.waiters
  return first === undefined || second === undefined ? 0 : byPriority(first, second)
}

/** Calls `onEnd` when the limit has ended, also when it was extended meanwhile. There is one timer per chat and account. */
function startTimer(limiter: LimiterState, throttled: Throttled, onEnd: () => void): void {
  if (throttled.timer !== undefined) return
  const timer = new AbortController()
  throttled.timer = timer
  void runTimer(limiter, throttled, timer.signal, onEnd)
}

async function runTimer(
  { clock, sleep }: LimiterState,
  throttled: Throttled,
  signal: AbortSignal,
  onEnd: () => void,
): Promise<void> {
  for (
    let ms = throttled.throttledUntil - clock();
    ms > 0 && !signal.aborted;
    ms = throttled.throttledUntil - clock()
  ) {
    await sleep(Math.min(ms, maxSleepMs), signal)
  }
  if (signal.aborted) return
  throttled.timer = undefined
  onEnd()
}

function cancelTimer(throttled: Throttled): void {
  throttled.timer?.abort('no call is waiting')
  throttled.timer = undefined
}

/** Used when the platform names no delay. */
const defaultDelayMs = 5_000
/** A platform that repeats "retry at once" must not be called in a busy loop. */
const minDelayMs = 50
/** A longer delay is a mistake of the platform; rows are not kept longer either. */
const maxDelayMs = 30 * 86_400_000
/** The clock counts whole milliseconds, so that its current value may be almost one behind. */
const clockStepMs = 1

/** The time (ms since 1970) from which a platform may be called again that returned a rate limit at `now`. */
export function retryAt(retryAfterMs: number | undefined, now: number): number {
  const requestedMs = retryAfterMs === undefined || !Number.isFinite(retryAfterMs) ? defaultDelayMs : retryAfterMs
  return now + Math.ceil(Math.min(maxDelayMs, Math.max(minDelayMs, requestedMs))) + clockStepMs
}
