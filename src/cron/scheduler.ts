/**
 * Starts the runs of jobs at their times, with one timer for all of them. It holds no job in memory.
 */
import { lazy } from '../lib/cache.ts'
import { isHermesError, isTransientError } from '../lib/errors.ts'
import type { Runtime } from '../store/runtime.ts'
import type { ClaimedRun } from './due.ts'
import { findNextTime, listDueJobs } from './job-store.ts'

interface SchedulerRuntime extends Pick<Runtime, 'store' | 'clock' | 'log' | 'failpoint'> {
  /** `cron.catch_up_missed`, and the time zone of expressions. */
  readonly settings: () => { readonly catchUp: boolean; readonly timeZone: string }
  /** Calls once after `ms`; returns a function that cancels it. Tests control it. */
  readonly setTimer: (call: () => void, ms: number) => () => void
}

/** The clock of the machine and the file may be changed, so both are looked at again after this at the latest. */
const maxWaitMs = 60_000
const batchSize = 100
/** A clock that is set back by less than this is being corrected. */
const maxClockStepMs = 120_000
const retryMs = 5_000

/**
 * @param readFile takes over what was changed in `jobs.json` by hand
 * @param begin begins a claimed run; returns at once, and what it throws later is its own
 */
export function createScheduler(
  { store, clock, settings, setTimer, log, failpoint }: SchedulerRuntime,
  readFile: () => Promise<unknown>,
  begin: (claimed: Exclude<ClaimedRun, { kind: 'none' }>) => void,
) {
  let cancelTimer: (() => void) | undefined
  let working: Promise<void> | undefined
  let isAgain = false
  let isStopped = true
  let lastLook = 0
  /** The ids of jobs whose records could not be read. */
  const unreadable = new Set<string>()
  const loadRules = lazy(() => import('./due.ts'))

  /** Claims everything that is due. Returns when to look again, ms from now. Rejects `store/...`. */
  async function claimDue(): Promise<number> {
    await readFile()
    await followClock()
    const claimedRuns: Exclude<ClaimedRun, { kind: 'none' }>[] = []
    const skipped = new Set<string>()
    // What becomes due meanwhile is the next look's, so that this one ends.
    const now = clock()
    try {
      let hasMore = true
      while (hasMore && !isStopped) hasMore = await claimBatch(claimedRuns, now, skipped)
    } finally {
      // The work of the first runs would delay the others.
      for (const claimed of claimedRuns) begin(claimed)
    }
    // The time of a skipped job is in the past.
    const next = await store.run(() => findNextTime(skipped.size === 0 ? 0 : now))
    return next === undefined ? maxWaitMs : Math.min(maxWaitMs, Math.max(0, next - clock()))
  }

  /**
   * Adds what it claims, and the ids of jobs that cannot be read, which hold up no others. Resolves with whether there may be more.
   * When it rejects, nothing is being claimed any more.
   */
  async function claimBatch(
    claimedRuns: Exclude<ClaimedRun, { kind: 'none' }>[],
    now: number,
    skipped: Set<string>,
  ): Promise<boolean> {
    const dueJobs = await store.run(() => listDueJobs(now, batchSize + skipped.size))
    const due = dueJobs.filter((id) => !skipped.has(id))
    if (due.length === 0) return false
    const { claimRun } = await loadRules()
    const claims = await Promise.allSettled(
      due.map(async (id) => {
        failpoint?.('cron:due')
        const claimed = await store.run(() => claimRun(id, { now: clock(), ...settings() }))
        failpoint?.('cron:claimed')
        unreadable.delete(id)
        if (claimed.kind !== 'none') claimedRuns.push(claimed)
      }),
    )
    for (const [index, claim] of claims.entries()) {
      if (claim.status === 'fulfilled') continue
      if (isHermesError(claim.reason)) throw claim.reason
      skip(due[index] ?? '', claim.reason, skipped)
    }
    return true
  }

  function skip(job: string, error: unknown, skipped: Set<string>): void {
    skipped.add(job)
    if (unreadable.has(job)) return
    unreadable.add(job)
    log.error({ event: 'cron.unreadable', job, err: error }, 'the record of a scheduled job cannot be read')
  }

  async function followClock(): Promise<void> {
    const now = clock()
    const isSetBack = now < lastLook - maxClockStepMs
    lastLook = now
    if (!isSetBack) return
    const { reanchorJobs } = await import('./reanchor.ts')
    const moved = await reanchorJobs(store, now, settings().timeZone)
    log.warn({ event: 'cron.clock_set_back', moved }, 'the clock was set back; scheduled jobs follow it')
  }

  async function work(): Promise<void> {
    let wait = retryMs
    try {
      do {
        isAgain = false
        wait = await claimDue()
      } while (isAgain && !isStopped)
    } catch (error) {
      const level = isTransientError(error) ? 'warn' : 'error'
      log[level]({ event: 'cron.not_started', err: error }, 'scheduled jobs could not be started; trying again')
    }
    working = undefined
    if (isStopped) return
    if (isAgain) return look()
    cancelTimer = setTimer(look, wait)
  }

  function look(): void {
    cancelTimer?.()
    cancelTimer = undefined
    if (isStopped) return
    if (working !== undefined) isAgain = true
    else working = work()
  }

  return {
    /** Starts what is due, and the timer. */
    start() {
      isStopped = false
      look()
    },
    /** A job was created or changed: its time may be the next one. */
    changed: look,
    /** Resolves when nothing is being claimed any more. Runs that have begun go on. */
    async stop() {
      isStopped = true
      cancelTimer?.()
      cancelTimer = undefined
      await working
    },
  }
}
