/**
 * What adapters may cause besides messages. Loaded with the first platform whose events come from programs.
 */
import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Environment } from '../../agent/environments/environment.ts'
import {
  finishDeferred,
  listDeferred,
  pruneDeferred,
  readDeferred,
  storeDeferred,
} from '../../inbox/deferred-deliveries.ts'
import { ensureDirectory } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { tokenAuthority } from '../../message/authority.ts'
import type { Target } from '../../message/source.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { PlatformAutomation } from '../../platforms/automation.ts'
import type { Cron } from '../cron/cron.ts'
import { prepareDelivery } from '../delivery/deliver.ts'
import type { ResolveTargetDeps } from '../delivery/resolve-target.ts'
import { distinctTargets, resolveTargets } from '../delivery/resolve-targets.ts'
import { runScript } from '../environments/run-script.ts'

export interface PlatformAutomationDeps extends ResolveTargetDeps {
  readonly home: HomeLayout
  readonly outbox: Pick<Outbox, 'prepare' | 'withhold'>
  readonly clock: () => number
  openShell(): Promise<{ readonly environment: Environment }>
  openCron(): Promise<Pick<Cron, 'jobs'>>
  readSkills(names: readonly string[]): Promise<string>
  /** `http.host`. */
  host(): string
  /** `sessions.retention.days`. */
  retentionDays(): number
}

const scriptTimeoutMs = 120_000
const dayMs = 86_400_000

export function createPlatformAutomation(deps: PlatformAutomationDeps, platform: string): PlatformAutomation {
  const { store, outbox, clock, home } = deps
  let prunedAt = Number.NEGATIVE_INFINITY
  return {
    listensLocally: () => /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/.test(deps.host()),
    async resolveTargets(names, signal) {
      const targets: Target[] = []
      for (const name of names) {
        const foundTargets = await resolveTargets(deps, name, undefined, signal)
        if ('problem' in foundTargets) return { problem: `${name}: ${foundTargets.problem}` }
        targets.push(...foundTargets.targets)
      }
      return { targets: distinctTargets(targets) }
    },
    async send(target, { key, text }) {
      // A notice: strangers have written what is in it.
      await store.commit(prepareDelivery(outbox, target, { key, text, kind: 'notice' }), clock)
    },
    async runScript(script, input, signal) {
      const folder = join(home.root, 'cache')
      ensureDirectory(folder)
      const file = join(folder, `input-${randomUUID()}`)
      try {
        await writeFile(file, input, { mode: 0o600 })
        const request = { script, input: file }
        const scripts = { directory: join(home.root, 'scripts'), timeoutMs: () => scriptTimeoutMs }
        return await runScript({ ...scripts, openShell: deps.openShell, redact: outbox.withhold }, request, signal)
      } finally {
        await rm(file, { force: true })
      }
    },
    async runJob(name, { text, deliveries }) {
      const { jobs } = await deps.openCron()
      const maker = { authority: tokenAuthority, origin: null }
      const job = await jobs.find(name, maker)
      if (!job.ok) return job
      if (!job.job.enabled) return 'paused'
      const started = await jobs.run(job.job.id, maker, { text, stored: () => finishDeferred(deliveries, clock()) })
      return started.ok ? 'started' : started
    },
    readSkills: deps.readSkills,
    deliveries: {
      async store(delivery) {
        const now = clock()
        if (now - prunedAt > dayMs) {
          prunedAt = now
          await store.run(() => pruneDeferred(now - deps.retentionDays() * dayMs))
        }
        return await store.run(() => storeDeferred(platform, delivery, now))
      },
      open: () => store.run(() => listDeferred(platform)),
      read: (key) => store.run(() => readDeferred(key)),
      done: (keys) => store.run(() => finishDeferred(keys, clock())),
    },
  }
}
