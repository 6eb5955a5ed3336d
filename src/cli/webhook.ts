/**
 * `hermes webhook`: the routes of `webhook_subscriptions.json`, which a running gateway reads again when it has changed.
 */
import { randomBytes } from 'node:crypto'
import {
  configuredRoutes,
  findRouteProblems,
  readSubscriptions,
  readWebhookRoutes,
  sendTestEvent,
  splitNames,
  subscriptionsFile,
  webhookSection,
} from '../flows/platform/webhook-routes.ts'
import { HermesError } from '../lib/errors.ts'
import { writeFileAtomic } from '../lib/files.ts'
import { asString, type JsonObject } from '../lib/json.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { CliContext } from './kit/context.ts'
import { findRunningDaemon } from './kit/daemon.ts'
import { createDisplay } from './kit/display.ts'
import { readSettings } from './kit/settings.ts'

export interface WebhookRequest {
  readonly events?: string
  readonly prompt?: string
  readonly description?: string
  readonly skills?: string
  readonly deliver?: string
  readonly deliverChatId?: string
  readonly deliverOnly?: boolean
  readonly cronJob?: string
  readonly script?: string
  readonly secret?: string
  readonly json?: boolean
}

/** Creates or replaces a route. Throws `cli/usage`. */
export async function webhookAdd(
  context: CliContext,
  name: string,
  { json, ...request }: WebhookRequest,
): Promise<void> {
  if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name))
    throw new HermesError('cli/usage', `${JSON.stringify(name)}: expected lower-case letters, digits, - and _`)
  const { deliverOnly = false, deliver = 'log' } = request
  if (deliverOnly && deliver === 'log') throw new HermesError('cli/usage', '--deliver-only needs --deliver')
  if (deliverOnly && request.cronJob !== undefined)
    throw new HermesError('cli/usage', '--deliver-only and --cron-job exclude each other')
  const settings = await readSettings(context)
  const section = webhookSection(settings)
  if (Object.hasOwn(configuredRoutes(section), name))
    throw new HermesError('cli/usage', `the route ${name} is in config.yaml; change it there`)
  if (request.cronJob !== undefined) await assertJobExists(context, request.cronJob)
  const subscriptions = readSubscriptions(context.home)
  const secret = request.secret ?? randomBytes(32).toString('base64url')
  const route = {
    description: request.description ?? '',
    events: splitNames(request.events),
    secret,
    prompt: request.prompt ?? '',
    skills: splitNames(request.skills),
    deliver,
    ...(request.deliverChatId === undefined ? {} : { deliver_extra: { chat_id: request.deliverChatId } }),
    ...(deliverOnly ? { deliver_only: true } : {}),
    cron_job: request.cronJob,
    script: request.script,
    created_at: new Date().toISOString(),
  }
  const [problem] = await findRouteProblems(settings, name, route)
  if (problem !== undefined) throw new HermesError('cli/usage', problem)
  writeFileAtomic(
    subscriptionsFile(context.home),
    `${JSON.stringify({ ...subscriptions, [name]: route }, null, 2)}\n`,
    0o600,
  )
  const url = `${(await daemonUrl(context)) ?? 'http://127.0.0.1:8642'}/webhooks/${name}`
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json({ name, url, secret })
  display.line(`added: ${name}`)
  display.line(`  URL:    ${url}`)
  display.line(`  Secret: ${secret}`)
  if (section['enabled'] !== true)
    display.line('Webhooks are off: set platforms.webhook.enabled and restart the gateway.')
}

/** Lists all routes, those of config.yaml first. Secrets are not shown. */
export async function webhookList(context: CliContext, { json }: Pick<WebhookRequest, 'json'>): Promise<void> {
  const settings = await readSettings(context)
  const listed = []
  for (const [name, { source, route }] of readWebhookRoutes(context.home, settings))
    listed.push({ name, source, route, problems: await findRouteProblems(settings, name, route) })
  const display = createDisplay(context.output, context.environment)
  if (json)
    return display.json(
      listed.map(({ name, source, route: { secret: _secret, ...rest }, problems }) => ({
        name,
        source,
        ...rest,
        problems,
      })),
    )
  if (listed.length === 0) display.line('There are no routes. `hermes webhook add <name>` makes one.')
  for (const { name, source, route, problems } of listed)
    display.line(
      toSingleLine([describe(name, source, route), ...problems.map((problem) => `NOT USABLE: ${problem}`)].join(' · ')),
    )
}

/** Throws `cli/usage` when there is no such route in the file. */
export async function webhookRemove(context: CliContext, name: string): Promise<void> {
  const { [name]: removed, ...rest } = readSubscriptions(context.home)
  if (removed === undefined)
    throw new HermesError('cli/usage', `there is no route ${JSON.stringify(name)} in webhook_subscriptions.json`)
  writeFileAtomic(subscriptionsFile(context.home), `${JSON.stringify(rest, null, 2)}\n`, 0o600)
  createDisplay(context.output, context.environment).line(`removed: ${name}`)
}

/** Sends a signed event to the running gateway. Exit code 1 when it was not accepted. Throws `cli/no-daemon`. */
export async function webhookTest(
  context: CliContext,
  name: string,
  { payload }: { readonly payload?: string | undefined },
): Promise<void> {
  const settings = await readSettings(context)
  const route = readWebhookRoutes(context.home, settings).get(name)?.route
  if (route === undefined) throw new HermesError('cli/usage', `there is no route ${JSON.stringify(name)}`)
  const url = await daemonUrl(context)
  if (url === undefined) throw new HermesError('cli/no-daemon')
  const { status, text } = await sendTestEvent(url, name, route, payload)
  const display = createDisplay(context.output, context.environment)
  display.line(toSingleLine(`${status} ${text}`))
  if (status < 300) return
  context.exitCode = 1
  for (const problem of await findRouteProblems(settings, name, route)) display.line(toSingleLine(problem))
  display.line(`The log of the gateway in ${context.home.logs} has the reason.`)
}

/** Throws `cli/not-found`. */
async function assertJobExists(context: CliContext, wanted: string): Promise<void> {
  const { askDaemon } = await import('./shared/cron-request.ts')
  const jobs =
    (await askDaemon(context, { action: 'list' })) ??
    (await (await import('./shared/cron-stored.ts')).listStoredJobs(context))
  if (jobs.some(({ id, name }) => id === wanted || name.toLowerCase() === wanted.toLowerCase())) return
  throw new HermesError('cli/not-found', `There is no scheduled job ${JSON.stringify(wanted)}.`, {
    hint: '`hermes cron list` shows the jobs, and `hermes cron create` makes one.',
  })
}

async function daemonUrl(context: CliContext): Promise<string | undefined> {
  const { token } = await readSettings(context)
  return (await findRunningDaemon({ home: context.home, token }))?.url
}

function describe(name: string, source: string, route: JsonObject): string {
  const events =
    Array.isArray(route['events']) && route['events'].length > 0 ? route['events'].join(', ') : 'all events'
  const job = asString(route['cron_job'])
  const to = job === '' ? `to ${[route['deliver'] ?? 'log'].flat().join(', ') || 'log'}` : `runs the job ${job}`
  return [name, events, to, source, asString(route['description'])].filter((part) => part !== '').join(' · ')
}
