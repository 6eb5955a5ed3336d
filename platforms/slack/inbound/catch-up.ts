/**
 * Fetches the messages that were written during a restart or an outage, and delays live events of a channel or thread until
 * its missed messages are stored. The cursor of a place therefore never passes a message that is not stored, and messages
 * are accepted in the order in which they were written.
 *
 * Delayed events are not acknowledged. When the process ends before they are stored, the history still contains them.
 */
import { backoffMs, messageOf } from '#sdk'
import { type CatchUpTarget, catchUpTargetsOf, maxThreads, type Place, placeKeyOf } from './catch-up-targets.ts'
import { fetchMissedMessages, type MissedMessages, type MissedMessagesDeps } from './missed-messages.ts'
import type { JsonRecord } from './payload.ts'

export interface CatchUpDeps extends MissedMessagesDeps {
  /** The cursors of channels and threads; the key is `channel` or `channel:thread_ts`. */
  cursors(): Promise<ReadonlyMap<string, string>>
  /** Accepts a message from the history of a channel. Resolves to whether it is new, rejects while it cannot be stored. */
  ingestStored(channel: string, message: JsonRecord): Promise<boolean>
  /** Tells the people in a place that messages were skipped. Never rejects. */
  reportSkipped(place: Place, counts: { readonly read: number; readonly skipped: number }): Promise<void>
  /** Aborts when the adapter stops. */
  readonly signal: AbortSignal
}

export interface CatchUp {
  /** From now on events may be missed, so live events wait. Called when there is no connection. */
  hold(): void
  /** Fetches the missed messages. Called when the connection is open. */
  run(): void
  /** Fetches a place again, because a live message of this time could not be stored. */
  refetch(place: Place, since: number): void
  /** Resolves when the missed messages of the place are stored; `false` when the adapter stops. Never rejects. */
  ready(place: Place): Promise<boolean>
}

/** Calls of one method share a rate limit. */
const maxConcurrentJobs = 4
const minBackoffMs = 200
const maxBackoffMs = 10_000

/** The missed messages of one place. */
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
  readonly deps: CatchUpDeps
  round: Round
}

export function createCatchUp(deps: CatchUpDeps): CatchUp {
  const state: CatchUpState = { deps, round: createRound() }
  deps.signal.addEventListener('abort', () => endRound(state.round), { once: true })
  return {
    hold: () => hold(state),
    run() {
      if (state.round.isPlanning) hold(state)
      void planRound(deps, state.round)
    },
    refetch(place, since) {
      addJob(deps, state.round, { ...place, since })
      startJobs(deps, state.round)
    },
    ready: (place) => untilReady(state, place),
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

async function untilReady(state: CatchUpState, { channel, threadTs }: Place): Promise<boolean> {
  const { signal } = state.deps
  while (!signal.aborted) {
    const { round } = state
    await round.planned.promise
    await finish(round, { channel })
    if (threadTs !== undefined) await finish(round, { channel, threadTs })
    if (state.round === round) return !signal.aborted
  }
  return false
}

/** Resolves when the job of the place has ended. The job precedes those that no live event waits for. */
async function finish({ jobs, waiting }: Round, place: Place): Promise<void> {
  const job = jobs.get(placeKeyOf(place))
  if (job === undefined) return
  const index = waiting.indexOf(job)
  if (index > 0) waiting.unshift(...waiting.splice(index, 1))
  await job.finished.promise
}

/** Never rejects. */
async function planRound(deps: CatchUpDeps, round: Round): Promise<void> {
  const { log, random, sleep } = deps
  const { signal } = round.ended
  round.isPlanning = true
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      const targets = catchUpTargetsOf(await deps.cursors())
      if (signal.aborted) return
      for (const target of targets) addJob(deps, round, target)
      round.planned.resolve()
      startJobs(deps, round)
      return
    } catch (error) {
      log.warn({ event: 'slack.cursors_failed', attempt, err: error }, 'cursors could not be read; trying again')
      await sleep(backoffMs(attempt, minBackoffMs, maxBackoffMs, random), signal)
    }
  }
}

function addJob({ signal }: CatchUpDeps, { jobs, waiting, ended }: Round, target: CatchUpTarget): void {
  if (signal.aborted || ended.signal.aborted) return
  const job = { target, finished: Promise.withResolvers<void>() }
  jobs.set(placeKeyOf(target), job)
  waiting.push(job)
}

function startJobs(deps: CatchUpDeps, round: Round): void {
  while (round.activeJobs < maxConcurrentJobs) {
    const job = round.waiting.shift()
    if (job === undefined) return
    round.activeJobs += 1
    void runJob(deps, round, job).then(() => {
      round.activeJobs -= 1
      startJobs(deps, round)
    })
  }
}

/** Never rejects. */
async function runJob(deps: CatchUpDeps, round: Round, { target, finished }: Job): Promise<void> {
  const { channel, threadTs } = target
  const { signal } = round.ended
  try {
    const missed = await fetchMissedMessages(deps, target, signal)
    if (missed === undefined) return
    reportCounts(deps, target, missed)
    const accepted = await ingestAll(deps, channel, missed.messages, signal)
    if (accepted > 0) {
      deps.log.info(
        { event: 'slack.caught_up', channel, thread: threadTs, messages: accepted },
        'missed messages were accepted',
      )
    }
    // A thread that started during the outage is a target of its own.
    for (const ts of missed.threads) addNewThread(deps, round, { channel, threadTs: ts, since: Number(ts) })
  } catch (error) {
    deps.log.error(
      { event: 'slack.catch_up_failed', err: error, channel },
      `missed messages could not be accepted: ${messageOf(error)}`,
    )
  } finally {
    finished.resolve()
  }
}

function addNewThread(deps: CatchUpDeps, round: Round, thread: CatchUpTarget): void {
  if (round.jobs.has(placeKeyOf(thread)) || round.newThreads >= maxThreads) return
  round.newThreads += 1
  addJob(deps, round, thread)
}

function reportCounts(deps: CatchUpDeps, { channel, threadTs }: CatchUpTarget, missed: MissedMessages): void {
  const { skipped, messages } = missed
  if (skipped === 0) return
  deps.log.warn(
    { event: 'slack.missed_messages_skipped', channel, thread: threadTs, read: messages.length, skipped },
    'more messages were missed than catch_up.max; the oldest are skipped',
  )
  void deps.reportSkipped({ channel, threadTs }, { read: messages.length, skipped })
}

/** Returns how many messages were new. A message that cannot be stored is tried again, because it precedes the others. */
async function ingestAll(
  deps: CatchUpDeps,
  channel: string,
  messages: readonly JsonRecord[],
  signal: AbortSignal,
): Promise<number> {
  let accepted = 0
  for (const message of messages) {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        if (await deps.ingestStored(channel, message)) accepted += 1
        break
      } catch (error) {
        const pauseMs = backoffMs(attempt, minBackoffMs, maxBackoffMs, deps.random)
        deps.log.warn(
          { event: 'slack.missed_message_not_stored', channel, attempt, pauseMs, reason: messageOf(error) },
          'missed message could not be stored; trying again',
        )
        await deps.sleep(pauseMs, signal)
      }
    }
  }
  return accepted
}
