/**
 * Receives the events of other services (contract hermes.md §5). A route decides what an event leads to: a turn of the agent, a
 * message to a chat, or a run of a scheduled job. An event is on disk before its sender is answered.
 */
import { type DiagnosticResult, definePlatform, type PlatformAdapter, type PlatformContext } from '#sdk'
import { createDeferred, type Deferred, type GroupWork, type SetTimer } from './deferred.ts'
import { parseDelivery } from './delivery.ts'
import { createReceive } from './receive.ts'
import { createRoutes } from './routes.ts'
import { applyScript } from './script.ts'
import type { Webhooks } from './webhooks.ts'
import { runJob, sendText, startTurn, type Work, type WorkResult } from './work.ts'

export default definePlatform({ createAdapter: (context) => createWebhooks(context), diagnose })

export function createWebhooks(context: PlatformContext, setTimer: SetTimer = startTimer): PlatformAdapter {
  let deferred: Deferred | undefined

  return {
    idempotentSends: true,

    async connect() {
      const automation = await context.gateway.automation()
      const routes = createRoutes(context, automation.listensLocally)
      const webhooks: Webhooks = { context, automation, routes }
      const groupWork: GroupWork = {
        waitOf: async (group) => (isCombined(group) ? (await routes.find(routeOf(group)))?.coalesce : undefined),
        work: (body, keys, signal) => workOn(webhooks, body, keys, signal),
      }
      deferred = createDeferred(webhooks, groupWork, setTimer)
      const handle = createReceive(webhooks, deferred)
      context.route({ method: 'POST', path: '/webhooks/*', access: 'own', handle })
      const problems = await routes.problems()
      if (problems.length > 0) context.connection.health('degraded', problems.slice(0, 5).join('; '))
      await deferred.recover()
    },

    async disconnect() {
      await deferred?.stop()
      deferred = undefined
    },

    async send() {
      return { success: false, problem: 'rejected', error: 'a webhook takes no messages; name a chat as `deliver`' }
    },
  }
}

/** `retry`: why it is tried again; '' when it is done. */
async function workOn(
  webhooks: Webhooks,
  body: string,
  keys: readonly [string, ...string[]],
  signal: AbortSignal,
): Promise<{ readonly retry: string }> {
  const { automation, routes } = webhooks
  const { log } = webhooks.context
  const stored = parseDelivery(body)
  const [key, ...superseded] = keys
  const route = await routes.find(stored.route)
  if (route === undefined) {
    log.warn({ event: 'webhook.route_gone', key }, 'an event is dropped, because its route does not exist any more')
    return { retry: '' }
  }
  let delivery = stored
  if (route.script !== '') {
    const decision = await applyScript(automation, route.script, stored.payload, signal)
    if (decision.kind === 'ignore') {
      const level = decision.reason === '' ? 'info' : 'warn'
      log[level]({ event: 'webhook.ignored', key, reason: decision.reason }, 'the script of the route ignores an event')
      return { retry: '' }
    }
    delivery = { ...stored, payload: decision.payload }
  }
  const result = await perform(webhooks, { route, delivery, keys: [key], superseded: superseded.length }, signal)
  if (result.kind === 'dropped')
    log.warn({ event: 'webhook.ignored', key, reason: result.reason }, 'an event is ignored')
  return { retry: result.kind === 'failed' ? result.reason : '' }
}

async function perform({ context, automation }: Webhooks, work: Work, signal: AbortSignal): Promise<WorkResult> {
  if (work.route.deliverOnly) return await sendText(automation, work, signal)
  if (work.route.cronJob !== '') return await runJob(automation, work)
  return await startTurn(context, automation, work, signal)
}

/** Groups of events that are combined have a line break behind the name of the route. */
function isCombined(group: string): boolean {
  return group.includes('\n')
}

function routeOf(group: string): string {
  return group.slice(0, group.indexOf('\n'))
}

/** It keeps no process running. */
function startTimer(call: () => void, ms: number): () => void {
  const timer = setTimeout(call, ms).unref()
  return () => clearTimeout(timer)
}

async function diagnose({
  options,
}: {
  readonly options: Readonly<Record<string, unknown>>
}): Promise<readonly DiagnosticResult[]> {
  const silent = { warn: () => undefined }
  const routes = createRoutes({ options, home: '', log: silent }, () => true)
  const problems = await routes.problems()
  return problems.map((text) => ({ state: 'problem', text, advice: 'Correct the route in platforms.webhook.routes.' }))
}
