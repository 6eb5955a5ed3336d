/**
 * Jobs in the database of a home without a running gateway, under the lock of the home. A gateway that starts finds them there.
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { providedTools } from '../../app/provided-tools.ts'
import type { JobMaker, Jobs } from '../../cron/contract.ts'
import { type Job, timeZoneOf } from '../../cron/job.ts'
import { type KnownNames, unknownToolsetProblem } from '../../flows/cron/check-request.ts'
import { jobActionSchema, runJobAction } from '../../flows/cron/job-actions.ts'
import { openStoredJobs } from '../../flows/cron/stored-jobs.ts'
import { knownTools } from '../../flows/tools/known-tools.ts'
import { HermesError } from '../../lib/errors.ts'
import { ensureDirectory } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { silentLog } from '../../lib/log.ts'
import { readShape } from '../../lib/read-shape.ts'
import { tokenAuthority } from '../../message/authority.ts'
import { platformAccounts } from '../../platforms/accounts.ts'
import { createSqliteStore } from '../../store/sqlite/store.ts'
import type { CliContext } from '../kit/context.ts'
import { lockHomeForCommand } from '../kit/home-lock.ts'
import { readSettings, type Settings } from '../kit/settings.ts'
import type { CronRequest } from './cron-request.ts'
import { openSkills } from './open-skills.ts'

/** A person who can run this command is the owner of the machine. */
const owner: JobMaker = { authority: tokenAuthority, origin: null }

/** Throws `cli/usage` when it cannot be done, `home/locked` and `store/...`. */
export async function changeStoredJobs(context: CliContext, request: CronRequest): Promise<readonly Job[]> {
  return await withStoredJobs(context, async (jobs) => {
    const read = readShape(jobActionSchema, request, 'the request')
    if (!read.ok) throw new HermesError('cli/usage', read.problem)
    const result = await runJobAction(jobs, read.value, owner)
    if (!result.ok) throw new HermesError('cli/usage', result.problem)
    return result.jobs
  })
}

/** Nothing is created in a home without jobs. Throws as `changeStoredJobs`. */
export async function listStoredJobs(context: CliContext): Promise<readonly Job[]> {
  const { home } = context
  if (!existsSync(home.databaseFile) && !existsSync(join(home.cron, 'jobs.json'))) return []
  return await withStoredJobs(context, (jobs) => jobs.list(owner))
}

async function withStoredJobs<Result>(context: CliContext, work: (jobs: Jobs) => Promise<Result>): Promise<Result> {
  const { home } = context
  const settings = await readSettings(context)
  ensureDirectory(home.root)
  const lock = lockHomeForCommand(context.home)
  try {
    const store = createSqliteStore({ path: home.databaseFile })
    try {
      const runtime = { home, store, clock: Date.now, log: silentLog, settings: () => scheduleSettings(settings) }
      const names: KnownNames = {
        accounts: () => accountsOf(settings),
        toolsetProblem: async (toolsets) => await toolsetProblem(toolsets, settings, context.home),
        // The owner may name every chat.
        targetProblem: async () => '',
        skills: () => openSkills(context),
      }
      // Nothing runs.
      const { jobs, file } = openStoredJobs({ ...runtime, changed: () => undefined }, names, async () => undefined)
      await file.read()
      const result = await work(jobs)
      await file.write()
      if (file.problem() !== '')
        context.errors.write(`hermes: ${join(home.cron, 'jobs.json')} is not used: ${file.problem()}\n`)
      return result
    } finally {
      await store.close()
    }
  } finally {
    lock.release()
  }
}

function scheduleSettings({ config }: Settings) {
  const { timezone, cron } = config.current()
  return { timeZone: timeZoneOf({ timezone }), bareDuration: cron.bare_duration }
}

function accountsOf({ config, catalogue }: Settings) {
  const { platforms, gateway, roles } = config.current()
  return platformAccounts(catalogue.platforms, { platforms, gateway, roles })
}

/** Plugins are not loaded: they could have effects. */
async function toolsetProblem(names: readonly string[], { config }: Settings, home: HomeLayout): Promise<string> {
  const tools = [...knownTools([], []), ...providedTools(home)]
  const problem = await unknownToolsetProblem(names, tools, config.current().custom_toolsets)
  return problem === '' ? '' : `${problem} Those of plugins are known while the gateway runs.`
}
