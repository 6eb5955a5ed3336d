/**
 * What adapters may cause besides messages. Loaded with the first platform whose events come from programs.
 */
import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  finishDeferred,
  listDeferred,
  pruneDeferred,
  readDeferred,
  storeDeferred,
} from '../../inbox/deferred-deliveries.ts'
import { ensureDirectory } from '../../lib/files.ts'
import { tokenAuthority } from '../../message/authority.ts'
import type { Target } from '../../message/source.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { PlatformAutomation } from '../../platforms/automation.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { CronAccess } from '../cron/cron-access.ts'
import type { CronAgent } from '../cron/cron-gateway.ts'
import type { DeliveryConfig } from '../delivery/config.ts'
import { prepareDelivery } from '../delivery/deliver.ts'
import { type Destinations, distinctTargets, resolveTargets } from '../delivery/resolve-target.ts'
import { runScript } from '../environments/run-script.ts'

interface AutomationGateway extends Destinations, Pick<Runtime, 'home'> {
  readonly settings: () => DeliveryConfig & {
    readonly http: { readonly host: string }
    readonly retention: { readonly days: number }
  }
}

/** What adapters may cause of the agent. */
export interface AutomationAgent extends Pick<CronAgent, 'openShell' | 'skills'> {
  readonly cron: Pick<CronAccess, 'open'>
}

const scriptTimeoutMs = 120_000
const dayMs = 86_400_000

export function createPlatformAutomation(
  gateway: AutomationGateway,
  outbox: Pick<Outbox, 'prepare' | 'withhold'>,
  { openShell, skills, cron }: AutomationAgent,
  platform: string,
): PlatformAutomation {
  const { settings, store, clock, home } = gateway
  let prunedAt = Number.NEGATIVE_INFINITY
  return {
    listensLocally: () => /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/.test(settings().http.host),
    async resolveTargets(names, signal) {
      const targets: Target[] = []
      for (const name of names) {
        const foundTargets = await resolveTargets(gateway, name, undefined, signal)
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
        return await runScript({ home, openShell, outbox }, { script, input: file, timeoutMs: scriptTimeoutMs }, signal)
      } finally {
        await rm(file, { force: true })
      }
    },
    async runJob(name, { text, deliveries }) {
      const { jobs } = await cron.open()
      const maker = { authority: tokenAuthority, origin: null }
      const job = await jobs.find(name, maker)
      if (!job.ok) return job
      if (!job.job.enabled) return 'paused'
      const started = await jobs.run(job.job.id, maker, { text, stored: () => finishDeferred(deliveries, clock()) })
      return started.ok ? 'started' : started
    },
    readSkills: skills.read,
    deliveries: {
      async store(delivery) {
        const now = clock()
        if (now - prunedAt > dayMs) {
          prunedAt = now
          await store.run(() => pruneDeferred(now - settings().retention.days * dayMs))
        }
        return await store.run(() => storeDeferred(platform, delivery, now))
      },
      open: () => store.run(() => listDeferred(platform)),
      read: (key) => store.run(() => readDeferred(key)),
      done: (keys) => store.run(() => finishDeferred(keys, clock())),
    },
  }
}
