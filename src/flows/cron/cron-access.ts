/**
 * Opens scheduled jobs. Their code is loaded with the first job: a gateway without any looks once a minute whether there is a file.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { query, row } from '../../store/query.ts'
import type { Cron } from './cron.ts'
import type { CronAgent, CronCore, CronGateway } from './cron-gateway.ts'

export interface CronAccess {
  /** Rejects `store/...`. */
  open(): Promise<Cron>
  /** Opens it where there are jobs, now or later. Never rejects. */
  start(): Promise<void>
  problems(): readonly string[]
  stop(): Promise<void>
}

const lookMs = 60_000

const selectAny = query((db) => db.selectFrom('cron_jobs').select('id').limit(1))

export function createCronAccess(gateway: CronGateway, core: CronCore, agent: CronAgent): CronAccess {
  const { home, store, stopping, log } = gateway
  let opening: Promise<Cron> | undefined
  let opened: Cron | undefined
  let cancelLook: (() => void) | undefined
  let isTableEmpty = false

  function open(): Promise<Cron> {
    cancelLook?.()
    opening ??= load().catch((error: unknown) => {
      opening = undefined
      throw error
    })
    return opening
  }

  async function load(): Promise<Cron> {
    const { openCron } = await import('./cron.ts')
    opened = await openCron(gateway, core, agent, setTimer)
    return opened
  }

  async function hasJobs(): Promise<boolean> {
    if (existsSync(join(home.cron, 'jobs.json'))) return true
    // The process that holds the home adds jobs to the table with `open` alone.
    isTableEmpty ||= (await store.run(() => row(selectAny, {}))) === undefined
    return !isTableEmpty
  }

  async function start(): Promise<void> {
    try {
      if (opening !== undefined) return
      if (await hasJobs()) await open()
      else if (!stopping.aborted) cancelLook = setTimer(() => void start(), lookMs)
    } catch (error) {
      log.error({ event: 'cron.not_opened', err: error }, 'scheduled jobs do not run; trying again in a minute')
      if (!stopping.aborted) cancelLook = setTimer(() => void start(), lookMs)
    }
  }

  return {
    open,
    start,
    problems() {
      const problem = opened?.problem() ?? ''
      return problem === '' ? [] : [`cron/jobs.json is not used: ${problem}`]
    },
    async stop() {
      cancelLook?.()
      await (await opening)?.stop()
    },
  }
}

/** It keeps no process running. */
function setTimer(call: () => void, ms: number): () => void {
  const timer = setTimeout(call, ms).unref()
  return () => clearTimeout(timer)
}
