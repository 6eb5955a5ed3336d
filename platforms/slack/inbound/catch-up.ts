/**
 * Fetches the messages that were written during a restart or an outage, and delays live events of a channel or thread until
 * its missed messages are stored. The cursor of a conversation therefore never passes a message that is not stored, and messages
 * are accepted in the order in which they were written.
 *
 * Delayed events are not acknowledged. When the process ends before they are stored, the history still contains them.
 */
import { backoffMs, messageOf, type PlatformAdapter, sleep } from '#sdk'
import type { SlackAccount } from '../account.ts'
import { reportSkipped } from '../outbound/skipped-notice.ts'
import {
  type CatchUpTarget,
  type Conversation,
  catchUpTargetsOf,
  conversationKeyOf,
  maxThreads,
} from './catch-up-targets.ts'
import { fetchMissedMessages, type MissedMessages } from './missed-messages.ts'
import type { JsonRecord } from './payload.ts'
import type { StoredMessages } from './stored-messages.ts'

export interface CatchUp {
  /** From now on events may be missed, so live events wait. Called when there is no connection. */
  hold(): void
  /** Fetches the missed messages. Called when the connection is open. */
  run(): void
  /** Fetches a conversation again, because a live message of this time could not be stored. */
  refetch(conversation: Conversation, since: number): void
  /** Resolves when the missed messages of the conversation are stored; `false` when the adapter stops. Never rejects. */
  ready(conversation: Conversation): Promise<boolean>
}

/** Calls of one method share a rate limit. */
const maxConcurrentJobs = 4
const minBackoffMs = 200
const maxBackoffMs = 10_000

/** The missed messages of one conversation. */
interface Job {
  readonly target: CatchUpTarget
  readonly finished: PromiseWithResolvers<void>
}

/** All jobs after one interruption of the connection. */
interface Round {
  /** Whether the jobs were chosen, or are being chosen. */
  isPlanning: boolean
  readonly ended: AbortController
  /** Resolves when the jobs are known. */
  readonly planned: PromiseWithResolvers<void>
  readonly jobs: Map<string, Job>
  /** Jobs that have not started. */
  readonly waiting: Job[]
  activeJobs: number
  /** Threads that started during the outage. */
  newThreads: number
}

interface CatchUpState {
  readonly account: SlackAccount
  readonly stored: StoredMessages
  /** Tells the people in a conversation that messages were skipped. */
  readonly send: PlatformAdapter['send']
  round: Round
}

export function createCatchUp(account: SlackAccount, stored: StoredMessages, send: PlatformAdapter['send']): CatchUp {
  const state: CatchUpState = { account, stored, send, round: createRound() }
  account.stopping.signal.addEventListener('abort', () => endRound(state.round), { once: true })
  return {
    hold: () => hold(state),
    run() {
      if (state.round.isPlanning) hold(state)
      void planRound(state, state.round)
    },
    refetch(conversation, since) {
      addJob(state, state.round, { ...conversation, since })
      startJobs(state, state.round)
    },
    ready: (conversation) => untilReady(state, conversation),
  }
}

function hold(state: CatchUpState): void {
  const before = state.round
  state.round = createRound()
  endRound(before)
}

function createRound(): Round {
  return {
    isPlanning: false,
    ended: new AbortController(),
    planned: Promise.withResolvers(),
    jobs: new Map(),
    waiting: [],
    activeJobs: 0,
    newThreads: 0,
  }
}

/** Whatever waits for this round waits for the next one instead. */
function endRound({ ended, planned, jobs }: Round): void {
  ended.abort()
  planned.resolve()
  for (const { finished } of jobs.values()) finished.resolve()
}

async function untilReady(state: CatchUpState, { channel, threadTs }: Conversation): Promise<boolean> {
  const { signal } = state.account.stopping
  while (!signal.aborted) {
    const { round } = state
    await round.planned.promise
    await finish(round, { channel })
    if (threadTs !== undefined) await finish(round, { channel, threadTs })
    if (state.round === round) return !signal.aborted
  }
  return false
}

/** Resolves when the job of the conversation has ended. The job precedes those that no live event waits for. */
async function finish({ jobs, waiting }: Round, conversation: Conversation): Promise<void> {
  const job = jobs.get(conversationKeyOf(conversation))
  if (job === undefined) return
  const index = waiting.indexOf(job)
  if (index > 0) waiting.unshift(...waiting.splice(index, 1))
  await job.finished.promise
}

/** Never rejects. */
async function planRound(state: CatchUpState, round: Round): Promise<void> {
  const { catchUp, log } = state.account.context
  const { signal } = round.ended
  round.isPlanning = true
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      const targets = catchUpTargetsOf(await catchUp.cursors())
      if (signal.aborted) return
      for (const target of targets) addJob(state, round, target)
      round.planned.resolve()
      startJobs(state, round)
      return
    } catch (error) {
      log.warn({ event: 'slack.cursors_failed', attempt, err: error }, 'cursors could not be read; trying again')
      await sleep(backoffMs(attempt, minBackoffMs, maxBackoffMs, Math.random), signal)
    }
  }
}

function addJob({ account }: CatchUpState, { jobs, waiting, ended }: Round, target: CatchUpTarget): void {
  if (account.stopping.signal.aborted || ended.signal.aborted) return
  const job = { target, finished: Promise.withResolvers<void>() }
  jobs.set(conversationKeyOf(target), job)
  waiting.push(job)
}

function startJobs(state: CatchUpState, round: Round): void {
  while (round.activeJobs < maxConcurrentJobs) {
    const job = round.waiting.shift()
    if (job === undefined) return
    round.activeJobs += 1
    void runJob(state, round, job).then(() => {
      round.activeJobs -= 1
      startJobs(state, round)
    })
  }
}

/** Never rejects. */
async function runJob(state: CatchUpState, round: Round, { target, finished }: Job): Promise<void> {
  const { log } = state.account.context
  const { channel, threadTs } = target
  const { signal } = round.ended
  try {
    const missed = await fetchMissedMessages(state.account, state.stored, target, signal)
    if (missed === undefined) return
    reportCounts(state, target, missed)
    const accepted = await ingestAll(state, channel, missed.messages, signal)
    if (accepted > 0) {
      log.info(
        { event: 'slack.caught_up', channel, thread: threadTs, messages: accepted },
        'missed messages were accepted',
      )
    }
    // A thread that started during the outage is a target of its own.
    for (const ts of missed.threads) addNewThread(state, round, { channel, threadTs: ts, since: Number(ts) })
  } catch (error) {
    log.error(
      { event: 'slack.catch_up_failed', err: error, channel },
      `missed messages could not be accepted: ${messageOf(error)}`,
    )
  } finally {
    finished.resolve()
  }
}

function addNewThread(state: CatchUpState, round: Round, thread: CatchUpTarget): void {
  if (round.jobs.has(conversationKeyOf(thread)) || round.newThreads >= maxThreads) return
  round.newThreads += 1
  addJob(state, round, thread)
}

function reportCounts(
  { account, send }: CatchUpState,
  { channel, threadTs }: CatchUpTarget,
  missed: MissedMessages,
): void {
  const { skipped, messages } = missed
  if (skipped === 0) return
  account.context.log.warn(
    { event: 'slack.missed_messages_skipped', channel, thread: threadTs, read: messages.length, skipped },
    'more messages were missed than catch_up.max; the oldest are skipped',
  )
  void reportSkipped(account, send, { channel, threadTs }, { read: messages.length, skipped })
}

/** Returns how many messages were new. A message that cannot be stored is tried again, because it precedes the others. */
async function ingestAll(
  { account, stored }: CatchUpState,
  channel: string,
  messages: readonly JsonRecord[],
  signal: AbortSignal,
): Promise<number> {
  let accepted = 0
  for (const message of messages) {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        if (await stored.accept(channel, message)) accepted += 1
        break
      } catch (error) {
        const pauseMs = backoffMs(attempt, minBackoffMs, maxBackoffMs, Math.random)
        account.context.log.warn(
          { event: 'slack.missed_message_not_stored', channel, attempt, pauseMs, reason: messageOf(error) },
          'missed message could not be stored; trying again',
        )
        await sleep(pauseMs, signal)
      }
    }
  }
  return accepted
}
