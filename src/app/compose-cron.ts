/**
 * Composes scheduled jobs. Their code is loaded with the first job: a gateway without any looks once a minute whether there is one.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SelectableTool } from '../agent/toolsets/select-tools.ts'
import type { Cron } from '../flows/cron/cron.ts'
import type { AgentServices } from '../flows/tools/agent-services.ts'
import { systemRandom } from '../lib/ids.ts'
import { sleep } from '../lib/timers.ts'
import type { Authority } from '../message/authority.ts'
import { query, row } from '../store/query.ts'
import type { SkillRuntime } from './compose-skills.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'

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

export function composeCron(
  context: AppContext,
  { inbox, turnResults, outbox, sessionServices, events }: Core,
  {
    agentServices,
    skills,
    knownTools,
  }: {
    readonly agentServices: AgentServices
    readonly skills: SkillRuntime
    readonly knownTools: () => Promise<readonly SelectableTool[]>
  },
): CronAccess {
  const { options, settings, store, accountDirectory, platforms, lifecycle, clock, log, failpoint } = context
  const { stopping } = lifecycle
  let opening: Promise<Cron> | undefined
  let opened: Cron | undefined
  let cancelLook: (() => void) | undefined

  function open(): Promise<Cron> {
    cancelLook?.()
    opening ??= load().catch((error: unknown) => {
      opening = undefined
      throw error
    })
    return opening
  }

  async function load(): Promise<Cron> {
    const { openCron } = await import('../flows/cron/cron.ts')
    opened = await openCron({
      ...{ home: options.home, settings, store, accountDirectory, adapter: platforms.adapter },
      ...{ inbox, turnResults, outbox, stopping, clock, random: systemRandom, log, failpoint, setTimer },
      openShell: agentServices.environments.openShell,
      stopTurn: sessionServices.stopEvent,
      onFired: events.jobFired,
      usualProvider: () => agentServices.models.describe().provider,
      sleep,
      currentAuthority: (authority) => accountDirectory.lowerAuthority(authority, causedBy(authority)),
      hasLostAccess: (authority) => accountDirectory.isRevoked({ ...causedBy(authority), authority }),
      async toolsetProblem(names) {
        const { findUnknownEntries } = await import('../agent/toolsets/select-tools.ts')
        const [unknown] = findUnknownEntries(names, await knownTools(), settings().custom_toolsets)
        if (unknown === undefined) return ''
        const question = unknown.nearest === null ? '' : ` Did you mean "${unknown.nearest}"?`
        return `There is neither a toolset nor a tool "${unknown.name}".${question}`
      },
      async unknownSkills(names) {
        const { skills: all } = await (await skills.load()).list()
        return names.filter((name) => !all.some((skill) => skill.name === name))
      },
      readSkills: async (names) => (await skills.load()).expand(names.map((name) => `/${name}`).join(' ')),
    })
    return opened
  }

  async function hasJobs(): Promise<boolean> {
    return existsSync(join(options.home.cron, 'jobs.json')) || (await store.run(() => row(selectAny, {}))) !== undefined
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

/** The message of a job, as far as the rights of its person depend on it. */
function causedBy({ platform, account = 'default', chatId = '', ...person }: Authority) {
  return { source: { ...person, platform, account, chatId }, internal: true as const }
}

/** It keeps no process running. */
function setTimer(call: () => void, ms: number): () => void {
  const timer = setTimeout(call, ms).unref()
  return () => clearTimeout(timer)
}
